/** Graphs and elements; the graph of a running process: live properties and branches. */
import type { IncomingMessage } from "node:http";
import { Type } from "typebox";
import {
  DeletedGraph,
  ElementListing,
  ElementRecord,
  ElementsQuery,
  GraphListing,
  GraphName,
  GraphRecord,
  GraphVersion,
  GraphVersionListing,
  GraphVersionQuery,
  LiveProperties,
  LivePropertiesSet,
  NamedQuery,
  ProcessGraph,
  ProcessGraphEdgeQuery,
  ProcessGraphQuery,
  ProcessUpgrade,
  TryBody,
  UpgradeBody,
  ValidateBody,
  Validation,
  VersionText,
} from "../../schemas/api/graphs.ts";
import { BranchListing, BranchRecord, NewBranch } from "../../schemas/api/outputs.ts";
import { StartedProcess } from "../../schemas/api/processes.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { SeenEdge } from "../../schemas/runner.ts";
import type { GraphLibrary } from "../graphs/library.ts";
import { expectInside } from "../graphs/live-properties.ts";
import type { OwnGraphs } from "../graphs/own-graphs.ts";
import {
  showElement,
  showElements,
  showFaults,
  showGraph,
  showInstalled,
  showOwn,
  showVersion,
} from "../graphs/records.ts";
import { describeState } from "../outputs/describe-output.ts";
import { SERVICE_SLOTS } from "../processes/commands.ts";
import type { BranchState, Processes } from "../processes/processes.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { graphNotFound } from "../store/graphs.ts";
import { invalidCursor, type Page, type PageRequest } from "../store/page.ts";
import type { User } from "../user.ts";
import { checkBy } from "../validation.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok } from "./endpoint.ts";
import type { Forwarder } from "./forward.ts";
import { type BodyLimits, expectSize, parseJson, readBytes } from "./input.ts";
import { expectProcess, START_ERRORS, startHere } from "./processes.ts";

const define = defineEndpoints("Graphs");

/** The file name in the positions of a graph that was sent as text. */
const UNNAMED = "graph.yaml";

interface GraphDeps {
  readonly library: GraphLibrary;
  readonly own: OwnGraphs;
  readonly config: Pick<Config, "http">;
}

export function graphEndpoints({ library, own, config }: GraphDeps): readonly AnyEndpoint[] {
  const limits = { bytes: config.http.body_bytes, seconds: config.http.request_seconds };
  const show = async (user: User, name: string, version: number | null, signal: AbortSignal) => {
    const row = await own.find(user, name, version);
    if (row === null && version !== null) throw graphNotFound(name, version);
    if (row === null) return ok(showGraph(await library.describe(name), null));
    return ok(showGraph(await own.describe(user, row, signal), row));
  };
  return [
    define("GET", "/graphs", "listGraphs", {
      summary: "List the graphs: installed ones and your own",
      sources: "none",
      description: "An own graph is listed with its current version, as compiled when it was stored.",
      query: NamedQuery,
      answers: { 200: { description: "By name.", schema: GraphListing } },
      async handle({ user, query }) {
        const mine = (await own.list(user)).map(showOwn);
        const others = (await library.list()).filter(({ name }) => !mine.some((graph) => graph.name === name));
        const all = [...others.map(showInstalled), ...mine].sort((a, b) => (a.name < b.name ? -1 : 1));
        return listing("graphs", pageByName(all, query));
      },
    }),
    define("GET", "/graphs/{name}", "getGraph", {
      summary: "Get a graph: its params, its YAML and the compiled pipeline",
      sources: "none",
      params: Type.Object({ name: GraphName }),
      answers: { 200: { description: "The graph.", schema: GraphRecord } },
      errors: ["graph_not_found"],
      handle: ({ user, params, signal }) => show(user, params.name, null, signal),
    }),
    define("PUT", "/graphs/{name}", "storeGraph", {
      summary: "Store a graph of your own",
      description:
        'The graph as YAML, or as JSON: `{"yaml": "…"}`; its `graph` is the name in the path. Requires a key with the flag `graph_author`. It can use elements whose `can_try` is true (`GET /elements/{name}`); slots with other elements are left out. A graph with faults is rejected with all of them, each with its line and column. Every new text is a new version, and becomes the current one; versions never change. Names of installed graphs cannot be used. The operator limits the number of graphs and versions, and the size of a text.',
      params: Type.Object({ name: GraphName }),
      rawBody: { mediaType: "application/yaml", schema: Type.String() },
      answers: {
        200: { description: "This text is stored already; its version is the current one.", schema: GraphVersion },
        201: { description: "The new version.", schema: GraphVersion },
      },
      errors: [
        ...(["graph_author_needed", "graph_name_taken", "graphs_limit_reached"] as const),
        ...([
          "malformed_json",
          "body_too_large",
          "media_type_unsupported",
          "invalid_input",
          "request_timeout",
        ] as const),
      ],
      async handle(call) {
        expectAuthor(call.user);
        const text = await readYamlBody(call, limits);
        const { row, isNew } = await own.store(call.user, call.params.name, text, call.signal);
        return { status: isNew ? 201 : 200, body: showVersion(row) };
      },
    }),
    define("DELETE", "/graphs/{name}", "deleteGraph", {
      summary: "Delete a graph of your own, with all its versions",
      params: Type.Object({ name: GraphName }),
      answers: { 200: { description: "Deleted.", schema: DeletedGraph } },
      errors: ["graph_author_needed", "graph_not_found", "graph_in_use"],
      async handle({ user, params: { name } }) {
        expectAuthor(user);
        await own.delete(user, name);
        return ok({ deleted: true, name });
      },
    }),
    define("GET", "/graphs/{name}/versions", "listGraphVersions", {
      summary: "List the versions of a graph of your own",
      sources: "none",
      params: Type.Object({ name: GraphName }),
      query: GraphVersionQuery,
      answers: { 200: { description: "Newest first.", schema: GraphVersionListing } },
      errors: ["graph_not_found"],
      handle: async ({ user, params, query }) =>
        listing("versions", await own.listVersions(user, params.name, query), showVersion),
    }),
    define("GET", "/graphs/{name}/versions/{version}", "getGraphVersion", {
      summary: "Get one version of a graph of your own",
      sources: "none",
      params: Type.Object({ name: GraphName, version: VersionText }),
      answers: { 200: { description: "The graph, compiled now.", schema: GraphRecord } },
      errors: ["graph_not_found"],
      handle: ({ user, params, signal }) => show(user, params.name, Number(params.version), signal),
    }),
    define("POST", "/graphs/validate", "validateGraph", {
      summary: "Validate a graph",
      scope: "read",
      sources: "none",
      description: 'The graph as YAML, or as JSON: `{"yaml": "…"}`. It is neither run nor stored.',
      rawBody: { mediaType: "application/yaml", schema: Type.String() },
      answers: { 200: { description: "All faults, with line and column.", schema: Validation } },
      errors: ["malformed_json", "body_too_large", "media_type_unsupported", "invalid_input", "request_timeout"],
      async handle(call) {
        const owner = { userUuid: call.user.uuid, signal: call.signal };
        const faults = await library.validate(await readYamlBody(call, limits), owner);
        return ok({ valid: faults.length === 0, faults: showFaults(faults, UNNAMED) });
      },
    }),
    define("GET", "/elements", "listElements", {
      summary: "List the elements that graphs can use",
      sources: "none",
      query: ElementsQuery,
      answers: {
        200: { description: "Windhover's elements first, then GStreamer's by plugin.", schema: ElementListing },
      },
      handle: ({ query }) => listing("elements", pageByName(showElements(library, query.find), query)),
    }),
    define("GET", "/elements/{name}", "getElement", {
      summary: "Get everything about one element, as printed by `windhover inspect`",
      sources: "none",
      params: Type.Object({ name: Type.String({ minLength: 1, maxLength: 128 }) }),
      answers: { 200: { description: "The element.", schema: ElementRecord } },
      errors: ["element_not_found"],
      handle: ({ params }) => ok(showElement(library, params.name)),
    }),
  ];
}

interface NamedRequest extends PageRequest {
  readonly origin?: "installed" | "own" | undefined;
}

/** Pages of records that are identified by name, in the order of the list, or with `-name` from its end. */
export function pageByName<T extends { readonly name: string; readonly origin?: string }>(
  list: readonly T[],
  { limit, cursor, sort, origin: wanted }: NamedRequest,
): Page<T> {
  const some = wanted === undefined ? list : list.filter(({ origin }) => origin === wanted);
  const all = sort === "-name" ? some.toReversed() : some;
  const after = cursor === undefined ? null : Buffer.from(cursor, "base64url").toString("utf8");
  const start = after === null ? 0 : all.findIndex(({ name }) => name === after) + 1;
  if (after !== null && start === 0) throw invalidCursor();
  const rows = all.slice(start, limit === undefined ? undefined : start + limit);
  const last = rows.at(-1);
  const isMore = last !== undefined && start + rows.length < all.length;
  return { rows, nextCursor: isMore ? Buffer.from(last.name).toString("base64url") : null };
}

/** Throws `graph_author_needed`. */
export function expectAuthor({ isGraphAuthor }: User): void {
  if (isGraphAuthor) return;
  throw new ServiceError("graph_author_needed", {
    detail:
      "This key does not have the flag `graph_author`; ask the operator for a key that has it (`windhover keys create NAME --graph-author`).",
  });
}

const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain"];
const checkValidateBody = checkBy(ValidateBody);

/** A graph as YAML, or as JSON that contains the YAML. */
async function readYamlBody(
  call: { readonly raw: IncomingMessage; letContinue(): void },
  limits: BodyLimits,
): Promise<string> {
  const [type = ""] = (call.raw.headers["content-type"] ?? "application/yaml").split(";");
  const mediaType = type.trim().toLowerCase();
  const isYaml = YAML_TYPES.includes(mediaType);
  if (!isYaml && mediaType !== "application/json")
    throw new ServiceError("media_type_unsupported", {
      detail: `The body is declared as "${mediaType}"; expected application/yaml, or application/json with the graph as \`yaml\`.`,
    });
  expectSize(call.raw, limits);
  call.letContinue();
  const bytes = await readBytes(call.raw, limits);
  if (isYaml) return bytes.toString("utf8");
  const body = parseJson(bytes);
  const errors = checkValidateBody(body);
  if (errors.length === 0) return (body as { yaml: string }).yaml;
  throw invalidInput(errors);
}

interface ProcessGraphDeps {
  readonly library: Pick<GraphLibrary, "elements" | "registry">;
  readonly processes: Pick<Processes, "describe" | "seeEdge" | "setProperties" | "start">;
  readonly forwarder?: Forwarder | undefined;
}

/** The graph name of a process that was started with `POST /graphs/try`. */
const TRIED = "try";
/** Maximum run time of a graph started with `POST /graphs/try`. */
const TRY_SECONDS = 60;

const TEXT = "text/plain; charset=utf-8";
const DOT = "text/vnd.graphviz; charset=utf-8";

export function processGraphEndpoints({ library, processes, forwarder }: ProcessGraphDeps): readonly AnyEndpoint[] {
  return [
    define("POST", "/graphs/try", "tryGraph", {
      summary: "Run your own graph for a minute",
      description: `Requires a key with the flag \`graph_author\`. The graph can use elements whose \`can_try\` is true (\`GET /elements/{name}\`); slots with other elements are left out. The process ends after ${TRY_SECONDS} seconds.`,
      body: TryBody,
      answers: { 201: { description: "The process runs.", schema: StartedProcess } },
      errors: ["graph_author_needed", ...START_ERRORS],
      async handle(call) {
        const { user, body, startedMs, signal } = call;
        expectAuthor(user);
        const { yaml, source_uuid: sourceUuid } = body;
        const order = {
          ...{ user, sourceUuid, graph: TRIED, graphText: yaml, requestedMs: startedMs, signal },
          forSeconds: TRY_SECONDS,
          params: (body.params ?? {}) as JsonRecord,
        };
        const start = () => startHere(processes, order, call);
        return forwarder === undefined ? start() : forwarder.place(call, order, start);
      },
    }),
    define("GET", "/process/{process_uuid}/graph", "getProcessGraph", {
      summary: "Get the running graph of a process",
      query: ProcessGraphQuery,
      answers: {
        200: {
          description: "With its counters; the other formats are text.",
          schema: ProcessGraph,
          others: { "text/plain": {}, "text/vnd.graphviz": {} },
        },
      },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params, query: { format = "json" } }) {
        const described = await processes.describe(user, params.process_uuid, format);
        if (format === "json") return ok(described);
        return new Response(String(described), { headers: { "Content-Type": format === "dot" ? DOT : TEXT } });
      },
    }),
    define("GET", "/process/{process_uuid}/graph/edge", "getProcessGraphEdge", {
      summary: "See the next frame between two nodes of a running graph",
      description:
        "Answers with the next buffer that passes the edge: a picture if it is raw video, as it is there, and the metadata of the frame. Of encoded video it answers only the caps. The stream neither waits nor loses a frame, and nothing is measured while no one asks. Requests for one edge within a fifth of a second get the same frame.",
      query: ProcessGraphEdgeQuery,
      answers: { 200: { description: "Without a frame if none has passed within two seconds.", schema: SeenEdge } },
      errors: ["process_not_found", "wrong_state", "graph_lacks", "rate_limited", "pipeline_failed"],
      handle: async ({ user, params, query: { from, to } }) =>
        ok(await processes.seeEdge(user, params.process_uuid, from, to)),
    }),
    define("PATCH", "/process/{process_uuid}/graph", "setProcessGraph", {
      summary: "Set live properties and params of a running graph",
      description:
        'Values by node and property: `{"detect": {"confidence": 0.5}}`. `{"params": {"confidence": 0.5}}` sets params of the graph, and every property that uses them (in a graph with a node named `params` it addresses that node). The latest change of a property wins, also after a restart. All values are set or none; a property that is not mutable while PLAYING is rejected with 422 and the reason. `live_params` of `GET` lists the params that can be set.',
      body: LiveProperties,
      answers: { 200: { description: "The values that were set.", schema: LivePropertiesSet } },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid }, body }) {
        const set = body as Readonly<Record<string, JsonRecord>>;
        const graph = (await processes.describe(user, uuid, "json")) as ProcessGraph;
        const { nodes, params: values } = splitParams(graph, set);
        expectInside(graph, nodes, library);
        await processes.setProperties(user, uuid, nodes, values);
        return ok({ uuid, process_uuid: uuid, set });
      },
    }),
  ];
}

/** Upgrades of running processes. */
export function processUpgradeEndpoints(processes: Pick<Processes, "upgrade">, sql: Sql): readonly AnyEndpoint[] {
  return [
    define("POST", "/process/{process_uuid}/graph", "upgradeProcessGraph", {
      summary: "Change a running process to another version of its graph",
      description:
        "For a process of a graph of your own. Answers with the differences, each labelled: `live` (a property is set without interruption), `branch` (a branch is attached or detached), `relaunch` (the pipeline is restarted; a file continues at its position, track ids continue). With `dry_run` nothing is changed. Otherwise it answers when the version runs. If it does not, the process continues with the version before, and the answer has the reason. Roll back with the previous version. Params that were given keep their values, others get the defaults of the version. Values set with `PATCH` stay where the version has the same node and property. A version without a slot that an output or branch uses is rejected.",
      body: UpgradeBody,
      answers: {
        200: { description: "What has changed, or would.", schema: ProcessUpgrade },
      },
      errors: ["process_not_found", "graph_not_found", "wrong_state", "graph_lacks", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid }, body }) {
        const { graph } = await expectProcess(sql, user, uuid);
        const { version, dry_run: isDryRun = false } = body;
        const answer = await processes.upgrade(user, uuid, { version, isDryRun });
        const { previousVersion: previous_version, changes, params } = answer;
        return ok({ uuid, process_uuid: uuid, graph, version, previous_version, dry_run: isDryRun, changes, params });
      },
    }),
  ];
}

/** A node named `params` takes precedence over the params of the graph. */
function splitParams({ segments }: ProcessGraph, { params, ...nodes }: Readonly<Record<string, JsonRecord>>) {
  const isNode = segments.some((segment) => segment.nodes.some(({ step }) => step === "params"));
  if (params === undefined) return { nodes, params: {} };
  return isNode ? { nodes: { ...nodes, params }, params: {} } : { nodes, params };
}

/** Branches: slots of the graph that are attached to a running process, besides those that outputs use. */
export function branchEndpoints(
  processes: Pick<Processes, "attachBranch" | "detachBranch" | "listBranches">,
): readonly AnyEndpoint[] {
  return [
    define("GET", "/process/{process_uuid}/branches", "listBranches", {
      summary: "List the attached branches of a process, and the slots that can be attached",
      answers: { 200: { description: "The branches of an active process.", schema: BranchListing } },
      errors: ["process_not_found", "wrong_state"],
      async handle({ user, params: { process_uuid: uuid } }) {
        const { branches, slots } = await processes.listBranches(user, uuid);
        return ok({ branches: branches.map((branch) => describeBranch(uuid, branch)), slots });
      },
    }),
    define("POST", "/process/{process_uuid}/branches", "attachBranch", {
      summary: "Attach a slot of the graph to a running process",
      description: `A slot can be attached several times, each time with its own params. Branches count as active outputs of the key. They are attached again when the process is started again. Slots that the service attaches itself (${SERVICE_SLOTS.map((slot) => `\`${slot}\``).join(", ")}) are rejected, as are params that name a resource on the server.`,
      body: NewBranch,
      answers: { 201: { description: "Attached.", schema: BranchRecord } },
      errors: ["process_not_found", "wrong_state", "graph_lacks", "outputs_limit_reached", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid }, body }) {
        const { slot, params = {} } = body;
        const branch = await processes.attachBranch(user, uuid, { slot, params: params as JsonRecord });
        return { status: 201, body: describeBranch(uuid, branch) };
      },
    }),
    define("DELETE", "/process/{process_uuid}/branches/{branch_uuid}", "detachBranch", {
      summary: "Detach a branch from a process",
      description: "Answers when the branch has ended and its files are complete.",
      answers: { 200: { description: "Detached.", schema: Deleted } },
      errors: ["process_not_found", "branch_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid, branch_uuid: branchUuid } }) {
        await processes.detachBranch(user, uuid, branchUuid);
        return deleted(branchUuid);
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
