/** Shadows: a variant of a graph beside a running process. */
import { SHADOW_SECONDS, ShadowBody, ShadowRecord } from "../../schemas/api/shadows.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Processes } from "../processes/processes.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";

const define = defineEndpoints("Graphs");

export const shadowEndpoints = (
  processes: Pick<Processes, "startShadow" | "readShadow" | "stopShadow">,
): readonly AnyEndpoint[] => [
  define("POST", "/process/{process_uuid}/shadow", "startShadow", {
    summary: "Run a variant of the graph beside a running process",
    description:
      "Shows how another graph, version or param would behave on the live source, without touching the process. The shadow is a second runner on the same source, at a low priority. It has no outputs, alerts, webhooks, recordings, reports or stored detections: its detections are only compared with those of the process, frame by frame. Its graph may use elements whose `can_try` is true (`GET /elements/{name}`). It counts as a process of the key, uses its minutes, and ends after `seconds` or `frames`, or with the process. A process has one shadow at a time. Files that loop cannot have one: the second runner would be at another position.",
    body: ShadowBody,
    answers: { 201: { description: "It starts; `GET` shows the comparison.", schema: ShadowRecord } },
    errors: [
      ...(["process_not_found", "wrong_state", "graph_not_found", "graph_lacks", "invalid_input"] as const),
      ...(["source_not_live", "processes_limit_reached", "usage_limit_reached", "rate_limited"] as const),
    ],
    async handle({ user, params: { process_uuid: uuid }, body }) {
      const { graph = null, params = {}, seconds = SHADOW_SECONDS, frames = null } = body;
      const order = { graph, params: params as JsonRecord, seconds, frames };
      return { status: 201, body: await processes.startShadow(user, uuid, order) };
    },
  }),
  define("GET", "/process/{process_uuid}/shadow", "getShadow", {
    summary: "Get the shadow of a process, with the comparison so far",
    answers: { 200: { description: "The current one, or the last.", schema: ShadowRecord } },
    errors: ["process_not_found", "wrong_state", "shadow_not_found"],
    handle: async ({ user, params }) => ok(await processes.readShadow(user, params.process_uuid)),
  }),
  define("DELETE", "/process/{process_uuid}/shadow", "stopShadow", {
    summary: "End the shadow of a process",
    answers: { 200: { description: "It has ended, with the comparison until then.", schema: ShadowRecord } },
    errors: ["process_not_found", "wrong_state", "shadow_not_found"],
    handle: async ({ user, params }) => ok(await processes.stopShadow(user, params.process_uuid)),
  }),
];
