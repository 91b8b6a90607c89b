/**
 * IPC messages between the server and a runner, as JSON over the channel of `fork`. Both sides validate every message; a
 * runner of another version is rejected at its first message. Frames use a separate socket, `PICTURES`.
 */
import { type Static, Type } from "typebox";
import { Metric } from "./graph-tests.ts";

export const RUNNER_PROTOCOL = 8;
/** The runner's file descriptor for frames, in the format of schemas/picture-stream.ts. */
export const PICTURES = 4;

const Properties = Type.Record(Type.String(), Type.Unknown());

/** A fault detaches the branch and is reported as `attachment` with status `failed`; otherwise a fault ends the run. */
const isExpendable = Type.Optional(Type.Boolean());
/** It sends to the outside: detached while the lease of the node has ended. */
const isExternal = Type.Optional(Type.Boolean());

/** What nodes keep for the next runner: a text that only they read. */
const KeptState = Type.String({ maxLength: 65_536 });
/** Nodes that may keep a state; others are ignored. */
export const MAX_KEEPERS = 16;

/** Paths: the card names the weights, which are beside it. */
const ModelFiles = Type.Object({ card: Type.String(), weights: Type.String() });
export type ModelFiles = Static<typeof ModelFiles>;

export const RunnerJob = Type.Object({
  uuid: Type.String(),
  /** Name of an installed graph. */
  graph: Type.String(),
  /** Text of a graph that is not installed; the server has checked it against the allow-list. */
  graphText: Type.Union([Type.String(), Type.Null()]),
  params: Properties,
  /** A file path or a stream URL with credentials; its host is a resolved IP address where possible. */
  sourceUri: Type.String(),
  /** The allowed addresses of the host, if it stays a name: the runner connects to no other. */
  sourceAddresses: Type.Optional(Type.Array(Type.String())),
  /** The source is a file that starts again at its end, like a camera that never stops. */
  sourceLoops: Type.Optional(Type.Boolean()),
  /** Name of the source in messages. Default: the URL without credentials, or the file name. */
  sourceLabel: Type.Optional(Type.String()),
  /** Start position in a file: earlier frames are not output. */
  positionNs: Type.String({ pattern: "^\\d{1,18}$" }),
  /**
   * Unix time of PTS 0 of the file, by the first start of the process, so that times are continuous after a restart.
   * Default: now minus the position.
   */
  epochMs: Type.Optional(Type.Number({ minimum: 0 })),
  firstTrackId: Type.Integer({ minimum: 1 }),
  /** States of nodes, as of `kept` of the runner before. */
  kept: Type.Optional(Type.Record(Type.String(), KeptState)),
  /** Properties by node that apply from the first frame on; `set` changes them later. */
  live: Type.Optional(Type.Record(Type.String(), Properties)),
  /** Models that the client has uploaded, by name, instead of installed ones. */
  models: Type.Optional(Type.Record(Type.String(), ModelFiles)),
  /** Metadata of the stream (KLV) is telemetry. */
  sourceMetadata: Type.Optional(Type.Boolean()),
  /** Messages that elements have before the first frame, as of `deliver`. */
  deliver: Type.Optional(Type.Array(Type.Object({ channel: Type.String(), message: Properties }))),
  /** Slots to attach before the first frame. */
  attach: Type.Array(
    Type.Object({ id: Type.String(), slot: Type.String(), params: Properties, isExpendable, isExternal }),
  ),
  /** End of the lease by the monotonic clock of the machine; `lease` extends it. Default: it never ends. */
  leaseUntilMs: Type.Optional(Type.Number()),
  /** The operator's terrain files. */
  terrainFolder: Type.Optional(Type.String()),
  /** A test of the graph: run at pace `fast`. Messages of sinks are counted instead of sent, and `tested` has the numbers. */
  test: Type.Optional(
    Type.Object({
      /** Only the first frames; null: all. */
      frames: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
      metrics: Type.Array(Metric),
      /** Of alerts, by what their events name. */
      aliases: Type.Record(Type.String(), Type.String()),
    }),
  ),
  /** Of the trace that its start belongs to (W3C Trace Context): the runner then reports its `spans`. */
  traceparent: Type.Optional(Type.String({ pattern: "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$" })),
  /** For live sources: how long to reconnect after a loss. */
  giveUpSeconds: Type.Number({ minimum: 0 }),
});
export type RunnerJob = Static<typeof RunnerJob>;

const request = <T extends string, P extends Parameters<typeof Type.Object>[0]>(type: T, properties: P) =>
  Type.Object({ type: Type.Literal(type), id: Type.Integer({ minimum: 1 }), ...properties });

/**
 * From the server. Each request with an `id` is answered by one `reply`, in order; `stop` aborts earlier requests. `start`
 * is answered when the graph is PLAYING, before `flowing`; `stop` when everything is closed. Kinds of errors: `source`,
 * `graph`, `pipeline`, `wrong_state`, `graph_lacks`, `invalid`, `stopped`, `busy`, `failed`.
 */
export const RunnerRequest = Type.Union([
  request("start", { job: RunnerJob }),
  request("pause", {}),
  request("resume", {}),
  /** Sends EOS, drains, closes, exits with 0. */
  request("stop", {}),
  /** `attachment` identifies it in `detach` and in events. */
  request("attach", { attachment: Type.String(), slot: Type.String(), params: Properties, isExpendable, isExternal }),
  request("detach", { attachment: Type.String() }),
  /**
   * Properties by node, and parameters of the graph with all properties that use them; atomic. The
   * result is `SetResult`.
   */
  request("set", { nodes: Type.Record(Type.String(), Properties), params: Type.Optional(Properties) }),
  /**
   * Another text of the graph, with all its parameters and live values: those that clients have set, and those that the
   * service supplies. Applied while PLAYING, all or nothing; nothing happens in a dry run, or if a relaunch is needed. The
   * result is `ChangeResult`.
   */
  request("change", {
    graphText: Type.String(),
    params: Properties,
    live: Type.Record(Type.String(), Properties),
    supplied: Type.Record(Type.String(), Properties),
    isDryRun: Type.Boolean(),
  }),
  /** The running graph. */
  request("describe", {
    format: Type.Enum(["json", "dot", "mermaid", "launch"]),
  }),
  /** The next frame on an edge: between two nodes, or two steps. The result is `SeenEdge`. Not in order: it waits for a frame. */
  request("edge", { from: Type.String(), to: Type.String() }),
  /** A message for elements, such as telemetry. The result is the number of elements that listen to the channel. */
  request("deliver", { channel: Type.String(), message: Properties }),
  /** A question to an element. The result is its answer; null: no element answers on the channel. */
  request("ask", { channel: Type.String(), message: Properties }),
  /** No reply. The node owns the process until then, by the monotonic clock of the machine. */
  Type.Object({ type: Type.Literal("lease"), untilMs: Type.Number() }),
]);
export type RunnerRequest = Static<typeof RunnerRequest>;

/** Properties that were set by node and now follow a parameter that was set later. */
export const SetResult = Type.Object({
  replaced: Type.Array(Type.Object({ node: Type.String(), property: Type.String() })),
});
export type SetResult = Static<typeof SetResult>;

/** What passes from one node of a running graph to the next. */
export const SeenEdge = Type.Object(
  {
    from: Type.String({ description: "Name of the node." }),
    to: Type.String({ description: "Name of the node." }),
    frame: Type.Union(
      [
        Type.Object({
          caps: Type.String({ description: "The format of the stream, as GStreamer writes it." }),
          pts_ms: Type.Union([Type.Number(), Type.Null()]),
          bytes: Type.Integer({ minimum: 0 }),
          keyframe: Type.Boolean(),
          picture: Type.Union([Type.String(), Type.Null()], {
            description: "JPEG in base64, for raw video. Larger frames are shrunk.",
          }),
          metadata: Type.Record(Type.String(), Type.Unknown(), {
            description: "What elements have written to the frame: detections, tracks, telemetry.",
          }),
        }),
        Type.Null(),
      ],
      { description: "Null if nothing has passed in time." },
    ),
    detail: Type.Union([Type.String(), Type.Null()], {
      description: "Why the frame, its picture or its metadata is missing.",
    }),
  },
  { title: "ProcessGraphEdge" },
);
export type SeenEdge = Static<typeof SeenEdge>;

/** One difference between two graphs, with how it takes effect. */
export const GraphChange = Type.Union(
  [
    Type.Object(
      {
        label: Type.Literal("live"),
        node: Type.String(),
        property: Type.String(),
        from: Type.Optional(Type.Unknown({ description: "Absent: its default." })),
        to: Type.Optional(Type.Unknown({ description: "Absent: its default." })),
      },
      { description: "A property is set while PLAYING, without interruption." },
    ),
    Type.Object(
      { label: Type.Literal("branch"), action: Type.Enum(["attach", "detach"]), segment: Type.String() },
      { description: "A branch is attached or detached; the rest of the graph is not interrupted." },
    ),
    Type.Object(
      { label: Type.Literal("relaunch"), reason: Type.String() },
      { description: "The pipeline is restarted." },
    ),
  ],
  { title: "GraphChange" },
);
export type GraphChange = Static<typeof GraphChange>;

/** `live`: values set by clients that stay. */
export const ChangeResult = Type.Object({
  changes: Type.Array(GraphChange),
  live: Type.Record(Type.String(), Properties),
});
export type ChangeResult = Static<typeof ChangeResult>;

/** Why it does not run. `source`: the source is missing or was lost; `graph`: the graph does not compile. */
export const RunnerFailure = Type.Object({
  kind: Type.Enum(["source", "graph", "pipeline"]),
  detail: Type.String(),
  /** Name of the node that failed, if known. */
  node: Type.Optional(Type.String()),
  /** Stack trace of a handler's exception, innermost first. */
  trace: Type.Optional(Type.Array(Type.String())),
});
export type RunnerFailure = Static<typeof RunnerFailure>;

/** Of the connection to an SRT source, since it was opened. */
export const SourceLink = Type.Object({
  round_trip_ms: Type.Number({ minimum: 0 }),
  packets_received: Type.Integer({ minimum: 0 }),
  packets_lost: Type.Integer({ minimum: 0, description: "Found missing. SRT requests them again." }),
  latency_ms: Type.Number({
    minimum: 0,
    description: "The receive buffer, as negotiated: packets that arrive later are lost for good.",
  }),
});
export type SourceLink = Static<typeof SourceLink>;

export const RunnerStats = Type.Object({
  fps_in: Type.Number(),
  fps_processed: Type.Number(),
  fps_out: Type.Number(),
  frames_dropped: Type.Integer(),
  latency_ms: Type.Object({ p50: Type.Number(), p95: Type.Number() }),
  inference_ms: Type.Number(),
  /** Resident memory of the runner. */
  rss_bytes: Type.Integer(),
  loop_delay_ms: Type.Number(),
  /** Absent: the protocol of the source does not measure it, or there is no connection. */
  link: Type.Optional(SourceLink),
});
export type RunnerStats = Static<typeof RunnerStats>;

/**
 * From the runner. The state `running` is sent with `flowing`; after `finished` or `failed` it answers open requests and
 * exits with 0. An exit without one of these is a crash. Messages that the server does not read in time are dropped, oldest
 * first, except `state`, `flowing` and `reconnecting`.
 */
export const RunnerMessage = Type.Union([
  /** The first frame of the source has been decoded: it is live. */
  Type.Object({ type: Type.Literal("flowing") }),
  Type.Object({
    type: Type.Literal("state"),
    state: Type.Enum(["starting", "running", "paused", "stopping", "finished", "failed"]),
    failure: Type.Union([RunnerFailure, Type.Null()]),
  }),
  Type.Object({ type: Type.Literal("reconnecting"), reconnecting: Type.Boolean(), detail: Type.String() }),
  /** Messages of sinks, in order: `detection_data` of `detections`; `print` of `print`, as `{line}`. */
  Type.Object({ type: Type.Literal("message"), channel: Type.String(), message: Properties }),
  /** Once per second while it runs, and once before the end. */
  Type.Object({
    type: Type.Literal("progress"),
    positionNs: Type.String({ pattern: "^\\d+$" }),
    /** Processor time that the runner has used, all threads together. */
    cpuMs: Type.Optional(Type.Number({ minimum: 0 })),
    nextTrackId: Type.Integer({ minimum: 1 }),
    /** Time in the state `running` since the start of this runner. */
    runningMs: Type.Number({ minimum: 0 }),
    /** Messages dropped because they were not read in time, since the start of this runner. */
    messagesLost: Type.Integer({ minimum: 0 }),
    /** For a resumed file: frames between the requested and the actual position. */
    framesLost: Type.Optional(Type.Integer({ minimum: 0 })),
    /** For a file: frames after the position, by its length and rate. */
    framesLeft: Type.Optional(Type.Integer({ minimum: 0 })),
    stats: RunnerStats,
  }),
  /** Status of an attached slot with an output: on every change, and its counters once per second. */
  Type.Object({
    type: Type.Literal("attachment"),
    attachment: Type.String(),
    status: Type.Enum(["starting", "live", "retrying", "failed"]),
    /** Why it is not live. */
    detail: Type.Union([Type.String(), Type.Null()]),
    framesSent: Type.Integer({ minimum: 0 }),
    /** Dropped on its branch because the encoder or the network is too slow. */
    framesDropped: Type.Integer({ minimum: 0 }),
  }),
  /** Of a test, before its end: the numbers in the order of its metrics, and errors that elements logged. */
  Type.Object({
    type: Type.Literal("tested"),
    found: Type.Array(Type.Number()),
    errors: Type.Integer({ minimum: 0 }),
    lastError: Type.Union([Type.String(), Type.Null()]),
  }),
  /** Of a job with `traceparent`: steps of its start, in Unix milliseconds. */
  Type.Object({
    type: Type.Literal("spans"),
    spans: Type.Array(Type.Object({ name: Type.String(), startMs: Type.Number(), endMs: Type.Number() })),
  }),
  /** The state of a node replaces the one before. */
  Type.Object({ type: Type.Literal("kept"), node: Type.String(), state: KeptState }),
  Type.Object({ type: Type.Literal("element"), node: Type.String(), event: Properties }),
  Type.Object({ type: Type.Literal("log"), level: Type.String(), node: Type.String(), message: Type.String() }),
]);
export type RunnerMessage = Static<typeof RunnerMessage>;
