/** Processes: running detection jobs. */
import { type Static, Type } from "typebox";
import { SourceLink } from "../runner.ts";
import { OUTPUT_TYPES, OutputProgress } from "./outputs.ts";
import { jsonObject, listing, listQuery, orNull, Timestamp, timeRange, Uuid } from "./records.ts";

/** `waiting`: only of a process that was started with `wait`. */
export const PROCESS_STATES = ["starting", "waiting", "running", "paused", "stopping", "finished", "failed"] as const;

export const DEFAULT_GRAPH = "detect";

export const StartQuery = Type.Object({
  source_uuid: Type.Optional(Type.String({ ...Uuid, description: "Required, unless there is a `recording_uuid`." })),
  recording_uuid: Type.Optional(
    Type.String({
      ...Uuid,
      description:
        "Extension: run on recorded video instead, which becomes a video of yours, as if it had been uploaded: a recording (`GET /sources/recordings`), the recordings of a process, by its UUID, or a rendered clip (`GET /clips`).",
    }),
  ),
  index: Type.Optional(
    Type.Integer({
      ...{ minimum: 0, maximum: 999_999_999 },
      description: "With `recording_uuid`: which of its parts. Required if there are several.",
    }),
  ),
  graph: Type.Optional(
    Type.String({
      ...{ minLength: 1, maxLength: 80, default: DEFAULT_GRAPH },
      description:
        "One of `GET /graphs`. Of an own graph also a version: `NAME@VERSION`; default: the current one. The process keeps the version that it is started with.",
    }),
  ),
});

/** A year. */
const MAX_WAIT_SECONDS = 31_536_000;

export const StartBody = Type.Object(
  {
    params: Type.Optional(
      jsonObject("Parameters of the graph; `GET /graphs/{name}` returns their schema. The source is not a parameter."),
    ),
    paused: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Of a file that is played once: the process is `paused` when it has started. Nothing is sent, counted or stored until `POST /process/{process_uuid}/resume`: connect sockets, outputs, alerts and webhooks before, and they get everything from the first frame on.",
      }),
    ),
    node_labels: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9_.-]{1,64}$" }), Type.String({ maxLength: 128 }), {
        description: "Where several nodes form one service: run only on a node with these labels (`cluster.labels`).",
        maxProperties: 16,
      }),
    ),
    wait: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Of a live source: answer at once, also while it is offline. The process is `waiting` until the first frame of the source has been decoded.",
      }),
    ),
    wait_seconds: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: MAX_WAIT_SECONDS,
        description:
          "With `wait`: the process fails (`source_not_live`) if no frame arrives within this time, counted each time that it begins to wait. Default: it waits for ever.",
      }),
    ),
    keep: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "With `wait`: wait again when the source is lost for some seconds, instead of failing after `reconnect.give_up_seconds`.",
      }),
    ),
  },
  { title: "StartProcess" },
);
export type StartBody = Static<typeof StartBody>;

export const StartedProcess = Type.Object(
  {
    process_uuid: Uuid,
    feed_url: Type.String({ description: "Processed frames over HTTP. Contains the key." }),
    detection_data_url: Type.String({ description: "Websocket with detections. Contains the key." }),
    telemetry_url: Type.String({
      description:
        "Where telemetry is received: the URL of the websocket with the key, `mqtt://host:port/topic`, `static`, or `Not configured`.",
    }),
  },
  { title: "StartedProcess" },
);
export type StartedProcess = Static<typeof StartedProcess>;

export const ProcessUrls = Type.Object(
  {
    process_uuid: Uuid,
    feed_url: Type.String({ description: "Processed frames over HTTP." }),
    events_url: Type.String({ description: "Server-sent events." }),
    detection_data_url: Type.String({ description: "Websocket with detections." }),
    drone_data_url: Type.String({ description: "Websocket with telemetry." }),
    expires_at: Timestamp,
  },
  { title: "ProcessUrls" },
);

export const FramesLost = orNull(Type.Integer({ minimum: 0 }), {
  description:
    "For a file: frames that were not processed because of crashes. Null for a live source, whose frames are not counted while its runner restarts.",
});

/** Why a runner crashed. */
export const ProcessCrash = Type.Object({
  at: Timestamp,
  node: orNull(Type.String(), {
    description: "The node of the graph that failed, if known.",
  }),
  detail: Type.String({ description: "The exception, or how the runner exited." }),
  trace: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "Stack trace of the element, innermost first: `at process (elements/x/x.ts:12:7)`. Only with an operator key.",
    }),
  ),
});

const LastError = orNull(ProcessCrash, {
  description:
    "The reason of the last crash of its runner, also after recovery. A process that crashes too often changes to `failed`, with `error`.",
});

const Restarting = Type.Boolean({
  description: "Its runner crashed and is being restarted: no frames are processed. `last_error` has the reason.",
});

const Stats = Type.Object(
  {
    fps_in: Type.Number(),
    fps_processed: Type.Number({ description: "Frames on which inference ran." }),
    fps_out: Type.Number(),
    frames_dropped: Type.Integer({ description: "Since the start of its runner." }),
    latency_ms: Type.Object({ p50: Type.Number(), p95: Type.Number() }),
    inference_ms: Type.Number(),
    restarts: Type.Integer({ description: "Restarts after crashes; `last_error` has the reason." }),
    frames_lost: FramesLost,
    link: orNull(SourceLink, {
      description: "Extension: the connection to an SRT source. Null: not connected, or of another protocol.",
    }),
  },
  {
    description:
      "For the last second in which it ran. Rates are 0 while it does not run; the last values of an ended process are kept for a limited time.",
  },
);

const TELEMETRY_STATES = ["connecting", "waiting", "receiving", "stale", "static"] as const;

export const TelemetryInfo = Type.Object({
  state: Type.Enum([...TELEMETRY_STATES], {
    description:
      "`connecting`: the broker is unreachable; `waiting`: no message received yet; `stale`: the last message is too old to be used.",
  }),
  age_ms: orNull(Type.Number({ minimum: 0 }), { description: "Time since the last message was received." }),
  detail: orNull(Type.String(), {
    description:
      "Why there is no usable telemetry, or level ground is assumed although there is terrain data: what is missing, and what to do.",
  }),
  geolocation: Type.Enum(["full", "reduced", "none"], {
    description: "`reduced`: angles and estimated distances, no coordinates.",
  }),
  offset_ms: orNull(Type.Number(), {
    description: "Added to the timestamps of messages to get video time; configured or estimated.",
  }),
  messages_received: Type.Integer({ minimum: 0, description: "All received messages, used or not." }),
  messages_refused: Type.Integer({ minimum: 0, description: "Messages that could not be read." }),
});
export type TelemetryInfo = Static<typeof TelemetryInfo>;

export const ProcessRecord = Type.Object(
  {
    uuid: Uuid,
    process_uuid: Uuid,
    state: Type.Enum([...PROCESS_STATES]),
    reconnecting: Type.Boolean({ description: "The live source was lost and Windhover reconnects." }),
    restarting: Restarting,
    source_uuid: Uuid,
    source_url: Type.String({ description: "Credentials are shown as `***`. For files: the name." }),
    graph: Type.String(),
    graph_version: orNull(Type.Integer({ minimum: 1 }), {
      description: "Of an own graph: the version that it runs. Null for other graphs.",
    }),
    params: jsonObject(),
    started_at: orNull(Timestamp),
    finished_at: orNull(Timestamp),
    error: orNull(Type.Object({ code: Type.String(), detail: Type.String() }), {
      description: "Why it failed or stopped on its own.",
    }),
    last_error: LastError,
    outputs: Type.Array(Uuid),
    output_states: Type.Array(
      Type.Object({ output_uuid: Uuid, type: Type.Enum([...OUTPUT_TYPES]), ...OutputProgress }),
      { description: "Status of the outputs, while it is active." },
    ),
    recording: Type.Union(
      [
        Type.Object({
          is_recording: Type.Boolean(),
          status_detail: orNull(Type.String(), { description: "Why it is not being recorded." }),
          frames_dropped: Type.Integer({
            minimum: 0,
            description: "Frames that arrived faster than they could be encoded, since the start of its runner.",
          }),
        }),
        Type.Null(),
      ],
      { description: "Status of its recording, while it is active. Null if the key has no process recording." },
    ),
    recordings: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        started_at: orNull(Timestamp, { description: "Null: not known." }),
        duration_seconds: orNull(Type.Number({ minimum: 0 }), {
          description: "Of its video, as far as it is written. Null: not known.",
        }),
        written_at: Timestamp,
        size_bytes: Type.Integer({ minimum: 0 }),
        download_url: Type.String({ description: "Works without a key, for a limited time." }),
      }),
      {
        description:
          "Files of the processed video in order, as far as they are retained. For keys with process recording.",
      },
    ),
    alerts: Type.Array(Uuid),
    telemetry: orNull(TelemetryInfo, { description: "Null: the source has no telemetry." }),
    stats: Stats,
  },
  { title: "Process" },
);
export type ProcessRecord = Static<typeof ProcessRecord>;

export const ProcessQuery = listQuery(["created_at", "finished_at"], {
  state: Type.Optional(
    Type.Enum(["active", "all", ...PROCESS_STATES], {
      default: "active",
      description: "`active`: those that have not ended; `all`: with ended ones; or one state.",
    }),
  ),
  source_uuid: Type.Optional(Uuid),
  graph: Type.Optional(Type.String({ minLength: 1, maxLength: 80, description: "Name of the graph." })),
  ...timeRange("Processes that were started"),
});

export const ProcessListing = listing({ processes: Type.Array(ProcessRecord) });

export const StoppedProcesses = Type.Object({ stopped: Type.Array(Uuid) }, { title: "StoppedProcesses" });
