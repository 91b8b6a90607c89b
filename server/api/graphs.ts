/** Graphs, the elements they are made of, and the graph of a running process. */
import { Type } from "typebox";
import {
  ElementListing,
  ElementRecord,
  ElementsQuery,
  GraphListing,
  GraphName,
  GraphRecord,
  Validation,
} from "../../schemas/api/graphs.ts";
import { PageQuery } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import { showElement, showElements } from "../graphs/elements.ts";
import type { GraphLibrary } from "../graphs/library.ts";
import { readYamlBody } from "../graphs/read-yaml-body.ts";
import { showFaults, showGraph, showSummary } from "../graphs/records.ts";
import { pageByName } from "../store/page.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

export interface GraphNeeds {
  readonly library: GraphLibrary;
  readonly config: Pick<Config, "http">;
}

/** The name that a text without a file goes by in positions. */
const OWN_TEXT = "graph.yaml";

const named = (nextCursor: string | null) => (nextCursor === null ? {} : { next_cursor: nextCursor });

export function graphEndpoints({ library, config }: GraphNeeds): readonly AnyEndpoint[] {
  const limits = { bytes: config.http.body_bytes, seconds: config.http.request_seconds };
  return [
    defineEndpoint({
      method: "GET",
      path: "/graphs",
      tag: "Graphs",
      id: "listGraphs",
      summary: "The graphs that are installed",
      access: "key",
      query: PageQuery,
      answers: { 200: { description: "By name.", schema: GraphListing } },
      errors: [],
      async handle({ query }) {
        const { rows, nextCursor } = pageByName(await library.list(), query);
        return { status: 200, body: { graphs: rows.map(showSummary), ...named(nextCursor) } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/graphs/{name}",
      tag: "Graphs",
      id: "getGraph",
      summary: "One graph: its params, its text and what it compiles to",
      access: "key",
      params: Type.Object({ name: GraphName }),
      answers: { 200: { description: "The graph.", schema: GraphRecord } },
      errors: ["graph_not_found"],
      async handle({ params }) {
        return { status: 200, body: showGraph(await library.describe(params.name)) };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/graphs/validate",
      tag: "Graphs",
      id: "validateGraph",
      summary: "What is wrong with a graph",
      description: 'The graph as YAML, or as JSON: `{"yaml": "…"}`. Nothing is run and nothing is kept.',
      access: "key",
      rawBody: { mediaType: "application/yaml", schema: Type.String() },
      answers: { 200: { description: "All faults, with line and column.", schema: Validation } },
      errors: ["malformed_json", "body_too_large", "media_type_unsupported", "invalid_input", "request_timeout"],
      async handle(call) {
        const owner = { userUuid: call.user.uuid, signal: call.signal };
        const faults = await library.validate(await readYamlBody(call, limits), owner);
        return { status: 200, body: { valid: faults.length === 0, faults: showFaults(faults, OWN_TEXT) } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/elements",
      tag: "Graphs",
      id: "listElements",
      summary: "The elements that graphs are made of",
      access: "key",
      query: ElementsQuery,
      answers: { 200: { description: "Our own first, then GStreamer's by plugin.", schema: ElementListing } },
      errors: [],
      handle({ query }) {
        const { rows, nextCursor } = pageByName(showElements(library, query.find), query);
        return { status: 200, body: { elements: rows, ...named(nextCursor) } };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/elements/{name}",
      tag: "Graphs",
      id: "getElement",
      summary: "Everything about one element, as `windhover inspect` prints it",
      access: "key",
      params: Type.Object({ name: Type.String({ minLength: 1, maxLength: 128 }) }),
      answers: { 200: { description: "The element.", schema: ElementRecord } },
      errors: ["element_not_found"],
      handle({ params }) {
        return { status: 200, body: showElement(library, params.name) };
      },
    }),
  ];
}
