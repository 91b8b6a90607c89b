/** Processes: started on a source, paused, resumed, stopped; outputs attached to them. */
import { OutputRecord } from "../../schemas/api/outputs.ts";
import {
  DEFAULT_GRAPH,
  ProcessListing,
  ProcessQuery,
  ProcessRecord,
  StartBody,
  StartedProcess,
  StartQuery,
  StoppedProcesses,
} from "../../schemas/api/processes.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { ErrorCode } from "../../schemas/errors.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { chooseGraph } from "../graphs/own-graphs.ts";
import type { ProcessRecordings } from "../media/recordings/recording-files.ts";
import { describeOutput, findState, type OutputHub } from "../outputs/describe-output.ts";
import type { Processes, StartOrder } from "../processes/processes.ts";
import { describeProcess, type LiveProcess, type LiveProcesses } from "../processes/view.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import { brokerUrl, type TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { Sql } from "../store/client.ts";
import { findOutput } from "../store/outputs.ts";
import { findProcess, listProcesses, type ProcessView, type WaitSetting } from "../store/processes.ts";
import type { User } from "../user.ts";
import type { ApiCall } from "./context.ts";
import { type AnyEndpoint, defineEndpoints, deleted, type JsonAnswer, listing, ok, rangeOf } from "./endpoint.ts";
import type { Forwarder } from "./forward.ts";
import { describeFiles } from "./recordings.ts";

interface ProcessDeps {
  readonly sql: Sql;
  readonly processes: Processes & LiveProcesses;
  readonly hub: OutputHub;
  readonly recordings: Pick<ProcessRecordings, "list">;
  /** Where other nodes share the database: a process starts on any of them. */
  readonly forwarder?: Forwarder | undefined;
}

const define = defineEndpoints("Process");
const defineOutput = defineEndpoints("Outputs");

export const START_ERRORS: readonly ErrorCode[] = [
  ...(["source_not_live", "processes_limit_reached", "usage_limit_reached"] as const),
  ...(["source_not_found", "source_file_missing", "graph_not_found", "address_refused"] as const),
  ...(["storage_unavailable", "disk_full"] as const),
  ...(["wrong_state", "pipeline_failed", "capacity_exhausted", "node_unavailable"] as const),
];

export function processEndpoints({ sql, processes, hub, recordings, forwarder }: ProcessDeps): readonly AnyEndpoint[] {
  const describe = async (
    row: ProcessView,
    live: LiveProcess | null,
    user: User,
    publicUrl: string,
  ): Promise<ProcessRecord> => {
    const files = user.hasRecording ? await recordings.list(row.uuid) : [];
    const described = describeFiles(files, row.uuid, hub.signer, publicUrl);
    return describeProcess(row, live, described, user.isOperator);
  };
  const read = async (user: User, uuid: string, publicUrl: string): Promise<JsonAnswer> => {
    const row = await expectProcess(sql, user, uuid);
    const live = (await processes.views([uuid])).get(uuid) ?? null;
    return ok(await describe(row, live, user, publicUrl));
  };
  return [
    define("POST", "/start", "startProcess", {
      summary: "Start a process on a source",
      description:
        "Answers when the first frame of the source has been decoded. If no frame arrives within 5 seconds it answers 400; if this machine is too busy to start the process now, 503 with `Retry-After`. Where several nodes form one service, the process starts on one that has room; if none has, 503 `capacity_exhausted`. A start that fails, or whose client disconnects before the answer, leaves no process. With `wait`, it answers at once, and the process waits for its source: it counts towards the process limit, uses no minutes and no runner, and keeps what is attached to it; see the state `waiting`.",
      query: StartQuery,
      body: StartBody,
      isBodyOptional: true,
      answers: {
        201: { description: "The process runs, or is paused or waits as requested.", schema: StartedProcess },
      },
      errors: START_ERRORS,
      async handle(call) {
        const { user, query, body, startedMs, signal } = call;
        const { source_uuid: sourceUuid } = query;
        const chosen = await chooseGraph(sql, user.uuid, query.graph ?? DEFAULT_GRAPH);
        // Parsed from JSON, so every value is JSON.
        const params = (body.params ?? {}) as JsonRecord;
        const labels = body.node_labels ?? {};
        const [wait, isPaused] = [readWait(body), body.paused ?? false];
        const order = { user, sourceUuid, ...chosen, params, labels, wait, isPaused, requestedMs: startedMs, signal };
        const start = () => startHere(processes, order, call);
        return forwarder === undefined ? start() : forwarder.place(call, order, start);
      },
    }),
    define("GET", "/processes", "listProcesses", {
      summary: "List your processes",
      sources: "listed",
      description: "Active processes, unless `state` says otherwise.",
      query: ProcessQuery,
      answers: { 200: { description: "Newest first.", schema: ProcessListing } },
      async handle({ user, query, publicUrl }) {
        const { source_uuid: sourceUuid, state = "active", ...rest } = query;
        const request = { ...rest, state, sourceUuid, created: rangeOf(query) };
        const { rows, nextCursor } = await listProcesses(sql, user.uuid, request);
        const views = await processes.views(rows.map(({ uuid }) => uuid));
        const records: ProcessRecord[] = [];
        for (const row of rows) records.push(await describe(row, views.get(row.uuid) ?? null, user, publicUrl));
        return listing("processes", { rows: records, nextCursor });
      },
    }),
    define("GET", "/process/{process_uuid}", "readProcess", {
      summary: "Get a process",
      answers: { 200: { description: "The process.", schema: ProcessRecord } },
      errors: ["process_not_found"],
      handle: ({ user, params, publicUrl }) => read(user, params.process_uuid, publicUrl),
    }),
    define("POST", "/process/{process_uuid}/pause", "pauseProcess", {
      summary: "Pause a process",
      description:
        "Sockets and outputs stay open, but no data flows. Paused time uses no minutes; the process still counts towards the process limit.",
      answers: { 200: { description: "The paused process.", schema: ProcessRecord } },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid }, publicUrl }) {
        await processes.pause(user, uuid);
        return read(user, uuid, publicUrl);
      },
    }),
    define("POST", "/process/{process_uuid}/resume", "resumeProcess", {
      summary: "Resume a paused process",
      description: "A file continues where it was paused, a live source with its current frame.",
      answers: { 200: { description: "The running process.", schema: ProcessRecord } },
      errors: ["process_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid }, publicUrl }) {
        await processes.resume(user, uuid);
        return read(user, uuid, publicUrl);
      },
    }),
    ...withDeprecated(
      define("DELETE", "/process/{process_uuid}", "stopProcess", {
        summary: "Stop a process",
        description:
          "Answers when the process has stopped; at once for one that has already ended. A process on another machine is stopped there.",
        answers: { 200: { description: "Stopped.", schema: Deleted } },
        errors: ["process_not_found", "wrong_state"],
        async handle({ user, params: { process_uuid: uuid } }) {
          await processes.stop(user, uuid);
          return deleted(uuid);
        },
      }),
      "/process/{process_uuid}/stop",
    ),
    ...withDeprecated(
      define("DELETE", "/processes", "stopProcesses", {
        summary: "Stop all your processes",
        description: "Answers when all of them have stopped.",
        answers: { 200: { description: "Stopped.", schema: StoppedProcesses } },
        handle: async ({ user }) => ok({ stopped: await processes.stopAll(user) }),
      }),
      "/process/stop_all",
    ),
    defineOutput("POST", "/process/{process_uuid}/{output_uuid}", "attachOutput", {
      summary: "Attach an output to a process",
      description:
        "An output is attached to one active process at a time. Attaching it to the same process again changes nothing.",
      answers: { 200: { description: "The attached output.", schema: OutputRecord } },
      errors: [
        ...(["process_not_found", "output_not_found", "wrong_state", "output_in_use", "path_in_use"] as const),
        ...(["outputs_limit_reached", "graph_lacks", "pipeline_failed", "address_refused"] as const),
      ],
      async handle({ user, params: { process_uuid: uuid, output_uuid: outputUuid }, publicUrl }) {
        await processes.attach(user, uuid, outputUuid);
        const output = await findOutput(sql, user.uuid, outputUuid);
        const { attachedTo } = output;
        const views = await processes.views(attachedTo === null ? [] : [attachedTo]);
        return ok(describeOutput(output, user.username, publicUrl, hub, findState(views, output)));
      },
    }),
    defineOutput("DELETE", "/process/{process_uuid}/{output_uuid}", "detachOutput", {
      summary: "Detach an output from a process",
      description: "The output stays registered.",
      answers: { 200: { description: "Detached.", schema: Deleted } },
      errors: ["process_not_found", "output_not_found", "wrong_state", "pipeline_failed"],
      async handle({ user, params: { process_uuid: uuid, output_uuid: outputUuid } }) {
        await processes.detach(user, uuid, outputUuid);
        return deleted(outputUuid);
      },
    }),
  ];
}

/** Null: the source must be live. Throws `invalid_input`. */
function readWait({ wait = false, wait_seconds: seconds, keep = false }: StartBody): WaitSetting | null {
  if (wait) return { seconds: seconds ?? null, keep };
  const faults = [
    ...(seconds === undefined ? [] : [{ path: "/wait_seconds", message: "requires `wait: true`" }]),
    ...(keep ? [{ path: "/keep", message: "requires `wait: true`" }] : []),
  ];
  if (faults.length > 0) throw invalidInput(faults);
  return null;
}

export async function startHere(
  processes: Pick<Processes, "start">,
  order: StartOrder,
  { publicUrl, credential }: Pick<ApiCall, "publicUrl" | "credential">,
): Promise<JsonAnswer> {
  const { uuid, telemetry, times = {} } = await processes.start(order);
  const apiKey = credential === null || credential.isSession ? "" : credential.key;
  const timing = Object.entries(times).map(([part, ms]) => `${part};dur=${ms}`);
  return {
    status: 201,
    body: describeStarted(uuid, telemetry, { publicUrl, apiKey }),
    headers: { "server-timing": timing.join(", ") },
  };
}

/** The endpoint, and the deprecated `POST` that does the same. */
const withDeprecated = (endpoint: AnyEndpoint, path: string): readonly AnyEndpoint[] => [
  endpoint,
  {
    ...endpoint,
    method: "POST",
    path,
    id: `${endpoint.id}Old`,
    description: `Use \`${endpoint.method} ${endpoint.path}\`.`,
    isDeprecated: true,
  },
];

interface PublicAddress {
  /** Scheme, host and port for clients. */
  readonly publicUrl: string;
  readonly apiKey: string;
}

/** The URLs of a started process. */
export function describeStarted(
  uuid: string,
  telemetry: TelemetrySetting | null,
  address: PublicAddress,
): StartedProcess {
  const { publicUrl, apiKey } = address;
  const url = (base: string, path: string): string =>
    `${base}/process/${uuid}/${path}?api_key=${encodeURIComponent(apiKey)}`;
  // http becomes ws, https becomes wss.
  const sockets = publicUrl.replace(/^http/, "ws");
  return {
    process_uuid: uuid,
    feed_url: url(publicUrl, "feed"),
    detection_data_url: url(sockets, "detection_data"),
    telemetry_url: telemetry?.type === "websocket" ? url(sockets, "telemetry") : describeTelemetry(telemetry),
  };
}

function describeTelemetry(telemetry: TelemetrySetting | null): string {
  if (telemetry === null) return "Not configured";
  const broker = brokerUrl(telemetry);
  return broker === null ? telemetry.type : maskCredentials(`${broker}/${telemetry.parameters.topic}`);
}

/** A process of another user is reported as not found. */
export async function expectProcess(sql: Sql, user: User, uuid: string): Promise<ProcessView> {
  const process = await findProcess(sql, user.uuid, uuid);
  if (process === null) throw processNotFound(uuid);
  return process;
}

export const processNotFound = (uuid: string): ServiceError =>
  new ServiceError("process_not_found", {
    detail: `process ${uuid} does not exist; GET /processes?state=all lists your processes`,
  });
