/**
 * What the server and a runner tell each other, as JSON over the channel of `fork`. Both sides check every message; a
 * runner of another version is refused at its first word. Pixels never travel here: pictures
 * go through a socket of their own, `PICTURES`.
 */
import { type Static, Type } from "typebox";

export const RUNNER_PROTOCOL = 2;
/** The runner's descriptor for pictures, framed as schemas/picture-stream.ts says. */
export const PICTURES = 4;

const Properties = Type.Record(Type.String(), Type.Unknown());

/** A fault in it takes it out and is told as `attachment`, status `failed`; without this it ends the run. */
const isExpendable = Type.Optional(Type.Boolean());

/** What to run. */
export const RunnerJob = Type.Object({
  uuid: Type.String(),
  /** Name of an installed graph. */
  graph: Type.String(),
  /** Of a graph that is not installed; the server has held it against the allow-list. */
  graphText: Type.Union([Type.String(), Type.Null()]),
  params: Properties,
  /** A file's path or a stream's address, with credentials; its host as a number wherever that will do. */
  sourceUri: Type.String(),
  /** What the host of a stream stands for, where it stays a name: no other address is connected to. */
  sourceAddresses: Type.Optional(Type.Array(Type.String())),
  /** What messages call the source. Default: the address without credentials, or a file's own name without its folder. */
  sourceLabel: Type.Optional(Type.String()),
  /** Where in a file to begin: no frame before it comes out. */
  positionNs: Type.String({ pattern: "^\\d{1,18}$" }),
  /**
   * Unix time at which the file's first frame counts as taken: the first start of the process, so that times go on after
   * a restart. Default: now, less the position.
   */
  epochMs: Type.Optional(Type.Number({ minimum: 0 })),
  firstTrackId: Type.Integer({ minimum: 1 }),
  /** Live properties by node that hold from the first frame on; `set` changes them later. */
  live: Type.Optional(Type.Record(Type.String(), Properties)),
  /** Slots to attach before the first frame. */
  attach: Type.Array(Type.Object({ id: Type.String(), slot: Type.String(), params: Properties, isExpendable })),
  /** Live sources: how long a lost one is tried again. */
  giveUpSeconds: Type.Number({ minimum: 0 }),
});
export type RunnerJob = Static<typeof RunnerJob>;

const request = <T extends string, P extends Parameters<typeof Type.Object>[0]>(type: T, properties: P) =>
  Type.Object({ type: Type.Literal(type), id: Type.Integer({ minimum: 1 }), ...properties });

/**
 * From the server. Each with an `id` is answered by one `reply`, in the order of the requests; `stop` cuts those before it
 * short. `start` is answered when the graph plays, which is before `flowing`; `stop` when everything is closed.
 */
export const RunnerRequest = Type.Union([
  request("start", { job: RunnerJob }),
  request("pause", {}),
  request("resume", {}),
  /** Ends the stream, lets what is under way arrive, closes, exits 0. */
  request("stop", {}),
  /** `attachment` names it in `detach` and in events. */
  request("attach", { attachment: Type.String(), slot: Type.String(), params: Properties, isExpendable }),
  request("detach", { attachment: Type.String() }),
  /**
   * Live properties by node, and parameters of the graph with everything that takes their values; all or nothing. The
   * result is `SetResult`.
   */
  request("set", { nodes: Type.Record(Type.String(), Properties), params: Type.Optional(Properties) }),
  /** The graph as it runs. */
  request("describe", {
    format: Type.Union([Type.Literal("json"), Type.Literal("dot"), Type.Literal("mermaid"), Type.Literal("launch")]),
  }),
  /** Something for an element: telemetry from a socket. The result is how many elements listen to the channel. */
  request("deliver", { channel: Type.String(), message: Properties }),
]);
export type RunnerRequest = Static<typeof RunnerRequest>;

/** Properties that had been set by node and now follow a parameter that was set later. */
export const SetResult = Type.Object({
  replaced: Type.Array(Type.Object({ node: Type.String(), property: Type.String() })),
});
export type SetResult = Static<typeof SetResult>;

/** Why it does not run. `source`: what comes in is not there, or not any more; `graph`: it does not compile. */
export const RunnerFailure = Type.Object({
  kind: Type.Union([Type.Literal("source"), Type.Literal("graph"), Type.Literal("pipeline")]),
  detail: Type.String(),
  /** The author's name of the node that failed, where it is known. */
  node: Type.Optional(Type.String()),
  /** Where in the sources a handler threw, innermost first. */
  trace: Type.Optional(Type.Array(Type.String())),
});
export type RunnerFailure = Static<typeof RunnerFailure>;

export const RunnerStats = Type.Object({
  fps_in: Type.Number(),
  fps_processed: Type.Number(),
  fps_out: Type.Number(),
  frames_dropped: Type.Integer(),
  latency_ms: Type.Object({ p50: Type.Number(), p95: Type.Number() }),
  inference_ms: Type.Number(),
  /** Of the runner. */
  rss_bytes: Type.Integer(),
  loop_delay_ms: Type.Number(),
});
export type RunnerStats = Static<typeof RunnerStats>;

/**
 * From the runner. The state `running` comes with `flowing`; after `finished` or `failed` it answers what is open and
 * exits 0. An exit without one of these is a crash. What a server does not read in time is lost, oldest first, but for
 * `reply`, `state`, `flowing` and `reconnecting`.
 */
export const RunnerMessage = Type.Union([
  /** The first: it is loaded and waits for `start`. */
  Type.Object({ type: Type.Literal("hello"), protocol: Type.Integer(), pid: Type.Integer() }),
  Type.Object({
    type: Type.Literal("reply"),
    id: Type.Integer(),
    /** `kind`: `source`, `graph`, `pipeline`, `wrong_state`, `graph_lacks`, `invalid`, `stopped`, `busy` or `failed`. */
    error: Type.Union([
      Type.Object({
        kind: Type.String(),
        detail: Type.String(),
        /** Of `invalid`, where it is known: what of the request is wrong, by JSON pointers. */
        faults: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
      }),
      Type.Null(),
    ]),
    result: Type.Unknown(),
  }),
  /** The first frame of the source has been decoded: it is live. */
  Type.Object({ type: Type.Literal("flowing") }),
  Type.Object({
    type: Type.Literal("state"),
    state: Type.Union([
      Type.Literal("starting"),
      Type.Literal("running"),
      Type.Literal("paused"),
      Type.Literal("stopping"),
      Type.Literal("finished"),
      Type.Literal("failed"),
    ]),
    failure: Type.Union([RunnerFailure, Type.Null()]),
  }),
  Type.Object({ type: Type.Literal("reconnecting"), reconnecting: Type.Boolean(), detail: Type.String() }),
  /** What a sink sends, in order: `detection_data` of `detections`; `print` of `print`, as `{line}`. */
  Type.Object({ type: Type.Literal("message"), channel: Type.String(), message: Properties }),
  /** Once a second while it runs, and once before the end. */
  Type.Object({
    type: Type.Literal("progress"),
    positionNs: Type.String({ pattern: "^\\d+$" }),
    nextTrackId: Type.Integer({ minimum: 1 }),
    /** Time in the state `running` since this runner was started. */
    runningMs: Type.Number({ minimum: 0 }),
    /** Messages that were not read in time and lost, since this runner was started. */
    messagesLost: Type.Integer({ minimum: 0 }),
    /** Of a file that was resumed: frames between where it was to resume and where it did. */
    framesLost: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Of a file, by its length and rate: frames behind the position. */
    framesLeft: Type.Optional(Type.Integer({ minimum: 0 })),
    stats: RunnerStats,
  }),
  /** How an attached slot that sends something away gets on: whenever that changes, and the counts once a second. */
  Type.Object({
    type: Type.Literal("attachment"),
    attachment: Type.String(),
    status: Type.Union([
      Type.Literal("starting"),
      Type.Literal("live"),
      Type.Literal("retrying"),
      Type.Literal("failed"),
    ]),
    /** Why it is not live. */
    detail: Type.Union([Type.String(), Type.Null()]),
    framesSent: Type.Integer({ minimum: 0 }),
    /** On its branch: too slow an encoder, or too slow a way. */
    framesDropped: Type.Integer({ minimum: 0 }),
  }),
  Type.Object({ type: Type.Literal("element"), node: Type.String(), event: Properties }),
  Type.Object({ type: Type.Literal("log"), level: Type.String(), node: Type.String(), message: Type.String() }),
]);
export type RunnerMessage = Static<typeof RunnerMessage>;
