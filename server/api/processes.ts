/** Processes: started on a source, paused, resumed, stopped; outputs attached to them. */
import type { Static } from "typebox";
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
import type { RecordedPart, RecordedSources } from "../clips/recorded-source.ts";
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
import { expectMinutes } from "../store/users.ts";
import type { User } from "../user.ts";
import type { ApiCall } from "./context.ts";
import {
  type Answer,
  type AnyEndpoint,
  defineEndpoints,
  deleted,
  type JsonAnswer,
  listing,
  ok,
  rangeOf,
} from "./endpoint.ts";
import type { Forwarder } from "./forward.ts";
import { describeFiles, orElsewhere } from "./recordings.ts";

interface ProcessDeps {
  readonly sql: Sql;
  readonly processes: Processes & LiveProcesses;
  readonly hub: OutputHub;
  readonly recordings: Pick<ProcessRecordings, "list">;
  /** Recorded video as a source. */
  readonly recorded: Pick<RecordedSources, "register" | "isShared">;
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

/** Processes of a listing whose files are looked up at once. */
const READ_AT_ONCE = 50;

/** Of recorded video that becomes a source. */
const RECORDED_ERRORS: readonly ErrorCode[] = [
  ...([
    "recording_not_found",
    "recording_unavailable",
    "clip_failed",
    "clip_not_found",
    "unlimited_key_needed",
  ] as const),
  ...(["video_invalid", "video_too_large", "storage_limit_reached", "sources_limit_reached"] as const),
];

export function processEndpoints(deps: ProcessDeps): readonly AnyEndpoint[] {
  const { sql, processes, hub, recordings, recorded, forwarder } = deps;
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
        "Answers when the first frame of the source has been decoded. If no frame arrives within `runners.start_seconds` of the service (5 seconds by default) it answers 400; if this machine is too busy to start the process now, 503 with `Retry-After`. Where several nodes form one service, the process starts on one that has room; if none has, 503 `capacity_exhausted`. A start that fails, or whose client disconnects before the answer, leaves no process. With `wait`, it answers at once, and the process waits for its source: it counts towards the process limit, uses no minutes and no runner, and keeps what is attached to it; see the state `waiting`. With `recording_uuid`, recorded video is copied within the service and registered as a video (a second start uses the same one); it counts towards the limits of uploads, and is kept when the recording is removed.",
      sources: "named",
      query: StartQuery,
      body: StartBody,
      isBodyOptional: true,
      answers: {
        201: { description: "The process runs, or is paused or waits as requested.", schema: StartedProcess },
      },
      errors: [...START_ERRORS, ...RECORDED_ERRORS],
      async handle(call) {
        const { user, query, body, startedMs, signal } = call;
        const { sourceUuid: named, part } = readInput(query);
        const chosen = await chooseGraph(sql, user.uuid, query.graph ?? DEFAULT_GRAPH);
        // Parsed from JSON, so every value is JSON.
        const params = (body.params ?? {}) as JsonRecord;
        const labels = body.node_labels ?? {};
        const [wait, isPaused] = [readWait(body), body.paused ?? false];
        const run = (sourceUuid: string, requestedMs: number): Promise<Answer> => {
          const { span } = call;
          const order = { user, sourceUuid, ...chosen, params, labels, wait, isPaused, requestedMs, signal, span };
          const start = () => startHere(processes, order, call);
          if (forwarder === undefined) return start();
          // Another node may have passed it on because the recording is here: that says nothing about the process.
          const ofRecording = { isChosenHere: true, isOnlyHere: !recorded.isShared };
          const target = startPath(sourceUuid, query.graph);
          return forwarder.place(call, order, start, { target, ...(part !== null && ofRecording) });
        };
        if (part === null) return run(named, startedMs);
        expectUnlimited(user);
        await expectMinutes(sql, user.uuid);
        // The time limit of the start counts from when its video is there.
        return orElsewhere(call, forwarder, async () =>
          run(await recorded.register(user, part, signal), performance.now()),
        );
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
        for (let first = 0; first < rows.length; first += READ_AT_ONCE) {
          const some = rows.slice(first, first + READ_AT_ONCE);
          const described = some.map((row) => describe(row, views.get(row.uuid) ?? null, user, publicUrl));
          records.push(...(await Promise.all(described)));
        }
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

type Input =
  | { readonly sourceUuid: string; readonly part: null }
  | { readonly sourceUuid: null; readonly part: RecordedPart };

/** A source, or recorded video. Throws `invalid_input`. */
function readInput({ source_uuid: sourceUuid, recording_uuid: uuid, index }: Static<typeof StartQuery>): Input {
  const fail = (path: string, message: string): never => {
    throw invalidInput([{ path, message }]);
  };
  if (uuid === undefined) {
    if (index !== undefined) return fail("index", "requires `recording_uuid`");
    return sourceUuid === undefined
      ? fail("source_uuid", "is missing; expected the UUID of a source, or `recording_uuid`")
      : { sourceUuid, part: null };
  }
  if (sourceUuid !== undefined) return fail("recording_uuid", "is given with `source_uuid`; expected one of them");
  return { sourceUuid: null, part: { uuid, index: index ?? null } };
}

/** The video would be a source that such a key cannot use. */
function expectUnlimited({ key }: User): void {
  if (key.sourceUuids === null) return;
  throw new ServiceError("unlimited_key_needed", {
    detail: "This key is limited to some sources; recorded video becomes another source.",
  });
}

/** For the node that a start is passed on to: recorded video is a source by then. */
const startPath = (sourceUuid: string, graph: string | undefined): string =>
  `/start?${new URLSearchParams({ source_uuid: sourceUuid, ...(graph !== undefined && { graph }) })}`;

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
