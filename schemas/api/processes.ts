/** Running detection jobs. */
import { type Static, Type } from "typebox";
import { OUTPUT_TYPES, OutputProgress } from "./outputs.ts";
import { listing, PageQuery, Timestamp, Uuid } from "./records.ts";

export const PROCESS_STATES = ["starting", "running", "paused", "stopping", "finished", "failed"] as const;

export const StartQuery = Type.Object({
  source_uuid: Uuid,
  graph: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, default: "detect", description: "One of `GET /graphs`." }),
  ),
});

export const StartBody = Type.Object(
  {
    params: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "Of the graph; `GET /graphs/{name}` has their schema. The source is no param.",
      }),
    ),
  },
  { title: "StartProcess" },
);

export const StartedProcess = Type.Object(
  {
    process_uuid: Uuid,
    feed_url: Type.String({ description: "Processed frames over HTTP. Carries the key." }),
    detection_data_url: Type.String({ description: "The websocket of detections. Carries the key." }),
    telemetry_url: Type.String({
      description:
        "Where telemetry comes in: the websocket's address with the key, `mqtt://host:port/topic`, `static`, or `Not configured`.",
    }),
  },
  { title: "StartedProcess" },
);
export type StartedProcess = Static<typeof StartedProcess>;

/** Of stats. */
export const FramesLost = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
  description:
    "Of a file: frames that were never processed because of crashes. Null of a live source: what it shows while its runner is restarted is not counted.",
});

/** Why a runner crashed. */
export const ProcessCrash = Type.Object({
  at: Timestamp,
  node: Type.Union([Type.String(), Type.Null()], {
    description: "The node of the graph that failed, where it is known.",
  }),
  detail: Type.String({ description: "What it threw, or how the runner ended." }),
  trace: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "Where in the sources an element threw, innermost first: `at process (elements/x/x.ts:12:7)`. For keys of operators only.",
    }),
  ),
});

const LastError = Type.Union([ProcessCrash, Type.Null()], {
  description:
    "Why its runner crashed last, also after it has recovered. A process that crashes too often has `failed`, with `error`.",
});

const Restarting = Type.Boolean({
  description: "Its runner has crashed and is being restarted: nothing flows, and `last_error` says why.",
});

const Stats = Type.Object(
  {
    fps_in: Type.Number(),
    fps_processed: Type.Number({ description: "Frames that were looked at." }),
    fps_out: Type.Number(),
    frames_dropped: Type.Integer({ description: "Since its runner was started." }),
    latency_ms: Type.Object({ p50: Type.Number(), p95: Type.Number() }),
    inference_ms: Type.Number(),
    restarts: Type.Integer({ description: "After crashes; `last_error` says why." }),
    frames_lost: FramesLost,
  },
  {
    description:
      "Of the last second in which it ran. Rates are 0 while it does not run; the last numbers of one that has ended are kept for a while.",
  },
);

export const TELEMETRY_STATES = ["connecting", "waiting", "receiving", "stale", "static"] as const;

export const TelemetryInfo = Type.Object({
  state: Type.Enum([...TELEMETRY_STATES], {
    description:
      "`connecting`: the broker is away; `waiting`: nothing has come yet; `stale`: nothing has come for too long to be used.",
  }),
  age_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], { description: "Since the last message came in." }),
  detail: Type.Union([Type.String(), Type.Null()], {
    description: "Why there is none, or why it is of no use: what is missing, and what to do.",
  }),
  geolocation: Type.Enum(["full", "reduced", "none"], {
    description: "`reduced`: angles and estimated distances, no places.",
  }),
  offset_ms: Type.Union([Type.Number(), Type.Null()], {
    description: "Added to the times of messages to get the time of the video; set, or estimated.",
  }),
  messages_received: Type.Integer({ minimum: 0, description: "All that came in, used or not." }),
  messages_refused: Type.Integer({ minimum: 0, description: "They could not be read." }),
});
export type TelemetryInfo = Static<typeof TelemetryInfo>;

export const ProcessRecord = Type.Object(
  {
    uuid: Uuid,
    process_uuid: Uuid,
    state: Type.Enum([...PROCESS_STATES]),
    reconnecting: Type.Boolean({ description: "A live source dropped and is tried again." }),
    restarting: Restarting,
    source_uuid: Uuid,
    source_url: Type.String({ description: "Credentials are shown as `***`. Of files: the name." }),
    graph: Type.String(),
    params: Type.Record(Type.String(), Type.Unknown()),
    started_at: Type.Union([Timestamp, Type.Null()]),
    finished_at: Type.Union([Timestamp, Type.Null()]),
    error: Type.Union([Type.Object({ code: Type.String(), detail: Type.String() }), Type.Null()], {
      description: "Why it failed, or stopped without being asked to.",
    }),
    last_error: LastError,
    outputs: Type.Array(Uuid),
    output_states: Type.Array(
      Type.Object({ output_uuid: Uuid, type: Type.Enum([...OUTPUT_TYPES]), ...OutputProgress }),
      { description: "How the outputs get on, while it is active." },
    ),
    recording: Type.Union(
      [
        Type.Object({
          is_recording: Type.Boolean(),
          status_detail: Type.Union([Type.String(), Type.Null()], { description: "Why it is not recorded." }),
          frames_dropped: Type.Integer({
            minimum: 0,
            description: "Since its runner was started: they came faster than they could be encoded.",
          }),
        }),
        Type.Null(),
      ],
      { description: "How its recording gets on, while it is active. Null where the key has no process recording." },
    ),
    recordings: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        written_at: Timestamp,
        size_bytes: Type.Integer({ minimum: 0 }),
        download_url: Type.String({ description: "For a while, without a key." }),
      }),
      {
        description:
          "The processed video, of keys with process recording: files, in their order, as far as they are kept.",
      },
    ),
    alerts: Type.Array(Uuid),
    telemetry: Type.Union([TelemetryInfo, Type.Null()], { description: "Null: the source has none." }),
    stats: Stats,
  },
  { title: "Process" },
);
export type ProcessRecord = Static<typeof ProcessRecord>;

export const ProcessQuery = Type.Object({
  ...PageQuery.properties,
  state: Type.Optional(
    Type.Enum(["active", "all"], { default: "active", description: "`all`: those that have ended too." }),
  ),
});

export const ProcessListing = listing({ processes: Type.Array(ProcessRecord) });

export const StoppedProcesses = Type.Object({ stopped: Type.Array(Uuid) }, { title: "StoppedProcesses" });
