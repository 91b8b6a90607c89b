/** The graph of a running process, and graphs that are tried. */
import { LiveProperties, LivePropertiesSet, ProcessGraph, ProcessGraphQuery } from "../../schemas/api/graphs.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { GraphLibrary } from "../graphs/library.ts";
import { expectInside } from "../graphs/live-properties.ts";
import type { Processes } from "../processes/processes.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

export interface ProcessGraphNeeds {
  readonly library: Pick<GraphLibrary, "elements" | "registry">;
  readonly processes: Pick<Processes, "describe" | "setProperties">;
}

const TEXT = "text/plain; charset=utf-8";
const DOT = "text/vnd.graphviz; charset=utf-8";

export function processGraphEndpoints({ library, processes }: ProcessGraphNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/process/{process_uuid}/graph",
      tag: "Graphs",
      id: "getProcessGraph",
      summary: "The graph of a process as it runs",
      access: "key",
      query: ProcessGraphQuery,
      answers: {
        200: {
          description: "With what went through it; as text in the other formats.",
          schema: ProcessGraph,
          otherTypes: ["text/plain", "text/vnd.graphviz"],
        },
      },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params, query: { format = "json" } }) {
        const described = await processes.describe(user, params.process_uuid ?? "", format);
        if (format === "json") return { status: 200, body: described };
        return new Response(String(described), { headers: { "Content-Type": format === "dot" ? DOT : TEXT } });
      },
    }),
    defineEndpoint({
      method: "PATCH",
      path: "/process/{process_uuid}/graph",
      tag: "Graphs",
      id: "setProcessGraph",
      summary: "Set live properties of a running graph",
      description: 'Values by property, by node: `{"detect": {"confidence": 0.5}}`. All of them or none.',
      access: "key",
      body: LiveProperties,
      answers: { 200: { description: "What was set.", schema: LivePropertiesSet } },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params, body }) {
        const uuid = params.process_uuid ?? "";
        const set = body as Readonly<Record<string, JsonRecord>>;
        expectInside((await processes.describe(user, uuid, "json")) as ProcessGraph, set, library);
        await processes.setProperties(user, uuid, set);
        return { status: 200, body: { uuid, process_uuid: uuid, set } };
      },
    }),
  ];
}
