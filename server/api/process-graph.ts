/** The graph of a running process, and graphs that are tried. */

import {
  LiveProperties,
  LivePropertiesSet,
  ProcessGraph,
  ProcessGraphQuery,
  TryBody,
} from "../../schemas/api/graphs.ts";
import { BranchListing, BranchRecord, NewBranch } from "../../schemas/api/outputs.ts";
import { StartedProcess } from "../../schemas/api/processes.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { GraphLibrary } from "../graphs/library.ts";
import { expectInside } from "../graphs/live-properties.ts";
import { describeState } from "../outputs/describe-output.ts";
import type { BranchState, Processes } from "../processes/processes.ts";
import { describeStarted } from "../processes/view.ts";
import { ServiceError } from "../service-error.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { START_ERRORS } from "./processes.ts";

export interface ProcessGraphNeeds {
  readonly library: Pick<GraphLibrary, "elements" | "registry">;
  readonly processes: Pick<Processes, "describe" | "setProperties" | "start">;
  readonly config: Pick<Config, "graphs">;
}

/** Nodes had their names first: where one is named `params`, it is meant. */
function splitParams({ segments }: ProcessGraph, { params, ...nodes }: Readonly<Record<string, JsonRecord>>) {
  const isNode = segments.some((segment) => segment.nodes.some(({ step }) => step === "params"));
  if (params === undefined) return { nodes, params: {} };
  return isNode ? { nodes: { ...nodes, params }, params: {} } : { nodes, params };
}

/** What a process shows as its graph when the graph is nobody's but its author's. */
const TRIED = "try";

const TEXT = "text/plain; charset=utf-8";
const DOT = "text/vnd.graphviz; charset=utf-8";

export function processGraphEndpoints({ library, processes, config }: ProcessGraphNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/graphs/try",
      tag: "Graphs",
      id: "tryGraph",
      summary: "Run a graph of your own for a minute",
      description: `Needs a key with the flag \`graph_author\`. It may use elements whose \`can_try\` is true (\`GET /elements/{name}\`); slots with others are left out of it. It ends by itself after ${config.graphs.try_seconds} seconds.`,
      access: "key",
      body: TryBody,
      answers: { 201: { description: "It runs.", schema: StartedProcess } },
      errors: ["graph_author_needed", ...START_ERRORS],
      async handle({ user, body, publicUrl, headers, startedMs, signal }) {
        if (!user.isGraphAuthor)
          throw new ServiceError("graph_author_needed", {
            detail: "This key has no flag `graph_author`: who runs the service can make one that has.",
          });
        const { yaml, source_uuid: sourceUuid } = body;
        const { uuid, telemetry } = await processes.start({
          ...{ user, sourceUuid, graph: TRIED, graphText: yaml, requestedMs: startedMs, signal },
          forSeconds: config.graphs.try_seconds,
          params: (body.params ?? {}) as JsonRecord,
        });
        const apiKey = headers.get("api_key") ?? "";
        return { status: 201, body: describeStarted(uuid, telemetry, { publicUrl, apiKey }) };
      },
    }),
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
      summary: "Set live properties and params of a running graph",
      description:
        'Values by property, by node: `{"detect": {"confidence": 0.5}}`. `{"params": {"confidence": 0.5}}` sets params of the graph, and with them every property that takes their values (in a graph that has a node named `params`, it is that node). Of two changes of one property the later holds, also after a restart. All of them or none; what cannot change while it runs is answered with 422 and the reason. `live_params` of `GET` lists the params that can.',
      access: "key",
      body: LiveProperties,
      answers: { 200: { description: "What was set.", schema: LivePropertiesSet } },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params, body }) {
        const uuid = params.process_uuid ?? "";
        const set = body as Readonly<Record<string, JsonRecord>>;
        const graph = (await processes.describe(user, uuid, "json")) as ProcessGraph;
        const { nodes, params: values } = splitParams(graph, set);
        expectInside(graph, nodes, library);
        await processes.setProperties(user, uuid, nodes, values);
        return { status: 200, body: { uuid, process_uuid: uuid, set } };
      },
    }),
  ];
}

/** Slots that a graph has beyond those that outputs use: attached to a running process, and detached. */

interface BranchNeeds {
  readonly processes: Pick<Processes, "attachBranch" | "detachBranch" | "listBranches">;
}

const tag = "Graphs";
const access = "key";

export function branchEndpoints({ processes }: BranchNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/process/{process_uuid}/branches",
      tag,
      id: "listBranches",
      summary: "Lists the attached branches of a process, and the slots that can be attached",
      access,
      answers: { 200: { description: "Of a process that is active.", schema: BranchListing } },
      errors: ["process_not_found", "wrong_state"],
      async handle({ user, params: { process_uuid: uuid = "" } }) {
        const { branches, slots } = await processes.listBranches(user, uuid);
        return { status: 200, body: { branches: branches.map((branch) => describeBranch(uuid, branch)), slots } };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/process/{process_uuid}/branches",
      tag,
      id: "attachBranch",
      summary: "Attaches a slot of the graph to a running process",
      description:
        "Any number of times, each with its own params. Branches count as active outputs of the key. They are attached again whenever the process is started again. Slots that the service attaches itself (`feed`, `view`, `recording`, and `rtsp`, `rtmp`, `cot` for outputs) are not for this, and params that name something on the server cannot be set.",
      access,
      body: NewBranch,
      answers: { 201: { description: "It is attached.", schema: BranchRecord } },
      errors: ["process_not_found", "wrong_state", "graph_lacks", "outputs_limit_reached", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid = "" }, body }) {
        const { slot, params = {} } = body;
        const branch = await processes.attachBranch(user, uuid, { slot, params: params as JsonRecord });
        return { status: 201, body: describeBranch(uuid, branch) };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/process/{process_uuid}/branches/{branch_uuid}",
      tag,
      id: "detachBranch",
      summary: "Detaches a branch from a process",
      description: "Answers when it is gone: what it writes is complete.",
      access,
      answers: { 200: { description: "It is detached.", schema: Deleted } },
      errors: ["process_not_found", "branch_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid = "", branch_uuid: branchUuid = "" } }) {
        await processes.detachBranch(user, uuid, branchUuid);
        return { status: 200, body: { deleted: true, uuid: branchUuid } };
      },
    }),
  ];
}

const describeBranch = (processUuid: string, branch: BranchState): BranchRecord => ({
  uuid: branch.uuid,
  branch_uuid: branch.uuid,
  process_uuid: processUuid,
  slot: branch.slot,
  params: hideSecrets(branch.params),
  attached_at: branch.attachedAt.toISOString(),
  ...describeState(branch),
});

const hideSecrets = (params: JsonRecord): JsonRecord =>
  JSON.parse(JSON.stringify(params, (_, value) => (typeof value === "string" ? maskCredentials(value) : value)));
