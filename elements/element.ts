/**
 * The contract of an element. A definition is cheap to load: it names and describes the element, and is all that the
 * compiler, `windhover inspect` and the API need. Heavy modules are imported inside `create`.
 */
import type { Static, TObject } from "typebox";
import type { ExpressionScope, NodeVariables, ValueType } from "../schemas/expression.ts";
import type { Json, JsonRecord } from "../schemas/json.ts";
import type { Registry } from "../schemas/registry.ts";
import type { SourceLink } from "../schemas/runner.ts";

/** A required key of the frame metadata, an optional one, or several of which one is required. */
export type Read = string | { readonly optional: string } | { readonly oneOf: readonly string[] };

/** A value that an element attaches to every object, or to the frame. */
export interface ComputedValue {
  readonly name: string;
  readonly scope: ExpressionScope;
  /** Or an expression, whose type it has. */
  readonly type: ValueType | { readonly expression: string };
}

interface Described<P extends TObject> {
  readonly name: string;
  /** One sentence: the description shown by `inspect`. */
  readonly about: string;
  /** A graph in YAML that uses the element; a test compiles it. */
  readonly example: string;
  /** camelCase keys; graphs spell them in kebab-case. `live: true` makes a property mutable while PLAYING. */
  readonly properties: P;
  readonly reads?: readonly Read[];
  /** Further metadata that it reads with these properties. */
  needs?(properties: Static<P>): readonly Read[];
  readonly writes?: readonly string[];
  /** The property, in camelCase, of the short form `- filter: "…"`. */
  readonly main?: string;
  /** Values that it computes, by name: variables of expressions downstream. */
  values?(properties: Static<P>): readonly ComputedValue[];
  /** It needs the whole picture of the camera: rejected behind an element that writes `crop`. */
  readonly wholeFrame?: boolean;
  /** Imports the modules that `create` and `drive` need, while a runner waits for its graph. */
  preload?(): Promise<unknown>;
  /**
   * Opens what `create` needs with default properties, while a runner waits for its graph. The result closes what was not
   * used; it is called when the graph plays.
   */
  warmUp?(): Promise<() => Promise<void>>;
}

/** Runs TypeScript on every frame and pushes the frame downstream. */
export interface TransformDefinition<P extends TObject = TObject> extends Described<P> {
  readonly kind: "transform";
  /** GStreamer caps of both pads: a transform does not change the format. */
  readonly caps: string;
  /** `write` makes the planes of the frame writable. */
  readonly access?: "read" | "write";
  /** GStreamer elements that are linked behind it, for what TypeScript does not do: they may change the format. */
  behind?(properties: Static<P>): readonly ExpandedNode[];
  /** Frames processed concurrently, up to 256 MiB in total; they leave in order. Default 1. */
  readonly inFlight?: number;
  create(properties: Static<P>, services: Services): Promise<Handler<P>> | Handler<P>;
}

/** Runs TypeScript on every frame and ends the chain. */
export interface SinkDefinition<P extends TObject = TObject> extends Described<P> {
  readonly kind: "sink";
  readonly caps: string;
  /**
   * False: it sends results of inference only, so that frames without need not be decoded for it. Default: it needs all
   * frames.
   */
  needsAllFrames?(properties: Static<P>): boolean;
  create(properties: Static<P>, services: Services): Promise<Handler<P>> | Handler<P>;
}

/** A bin: expands to a chain of GStreamer elements, chosen by its properties, the source and the installed plugins. */
export interface CompositeDefinition<P extends TObject = TObject> extends Described<P> {
  readonly kind: "composite";
  /** Pure. Throws `ExpandFault` for faults that a schema cannot express. */
  expand(properties: Static<P>, context: ExpandContext): Expansion;
  /**
   * Called before the nodes are created, to prepare the resources they use, such as a file. If it throws, the graph or
   * branch does not start. The driver is closed after the nodes are destroyed.
   */
  open?(properties: Static<P>, services: OpenServices): Promise<Driver> | Driver;
  /** Streams of its nodes that are not linked, such as the sound of a file. Called before there is data. */
  tap?(properties: Static<P>, services: DriverServices): Promise<MetadataTap | null>;
  /** For composites that work while the graph runs, such as `source`, which reconnects. */
  drive?(properties: Static<P>, services: DriverServices): Promise<Driver> | Driver;
}

export type ElementDefinition<P extends TObject = TObject> =
  | TransformDefinition<P>
  | SinkDefinition<P>
  | CompositeDefinition<P>;

/** A definition with properties of any type, as stored in `Elements`. */
// biome-ignore lint/suspicious/noExplicitAny: properties are checked against the schema before `create` sees them.
export type AnyElement = ElementDefinition<any>;

/** An element that failed to load. */
export interface BrokenElement {
  readonly name: string;
  /** `elements/x/x.ts:12:7`, or only the file. */
  readonly place: string;
  readonly reason: string;
}

/** Elements by name. A graph that names a broken one is rejected with its reason. */
export interface Elements extends ReadonlyMap<string, AnyElement> {
  readonly broken?: ReadonlyMap<string, BrokenElement>;
}

export function defineElement<P extends TObject>(definition: ElementDefinition<P>): ElementDefinition<P> {
  return Object.freeze(definition);
}

/** Processes the frames of a transform or sink. Every method may be async; the next frame waits for it. */
export interface Handler<P extends TObject = TObject> {
  /** Lowers the definition's `inFlight` for this instance. Read once, at start. */
  readonly inFlight?: number;
  /** Usual latency of a live frame, reported to synchronising sinks. Read once, at start. */
  readonly latencyMs?: number;
  /** `"drop"` discards the frame. A throw ends the graph with the error and its stack. */
  process(frame: Frame): undefined | "drop" | Promise<undefined | "drop"> | Promise<void> | void;
  /** Called before the first frame of each format. */
  format?(format: FrameFormat): void | Promise<void>;
  /** Live properties changed; receives all properties. A throw rejects the change and the graph keeps running. */
  update?(properties: Static<P>): void | Promise<void>;
  /** Frames in flight were discarded (seek, stop): drop the state that belongs to them. */
  flush?(): void;
  /** End of stream; buffered output may still be written. */
  end?(): void | Promise<void>;
  /** Always called, exactly once, also after an error. */
  close?(): void | Promise<void>;
  /** The code of the element is replaced while the graph runs: the state that the new code continues with. */
  save?(): Json | Promise<Json>;
  /** Called before the first frame, with what `save` of the old code returned. A throw keeps the old code. */
  restore?(state: Json): void | Promise<void>;
}

export interface FrameFormat {
  /** GStreamer caps as text. */
  readonly caps: string;
  /** `video/x-raw`, `image/jpeg` … */
  readonly mediaType: string;
  /** Pixel format of raw video (`I420`), or null. */
  readonly pixels: string | null;
  readonly width: number;
  readonly height: number;
  /** Frames per second; 0 when variable or unknown. */
  readonly fps: number;
}

export interface Plane {
  /** A view of GStreamer's memory, not a copy. Detached (length 0) once the handler has settled. */
  readonly data: Uint8Array;
  readonly stride: number;
  readonly width: number;
  readonly height: number;
}

/** Results that elements attach to a frame. Frozen: `frame.write` creates the next version. */
export type FrameMetadata = { readonly [key: string]: Json };

/** One frame, valid until the handler that received it settles; afterwards its methods throw. */
export interface Frame {
  /** Number of this frame at this element, from 0. */
  readonly index: number;
  /** Presentation timestamp; null if the stream has none. */
  readonly ptsNs: bigint | null;
  readonly durationNs: bigint | null;
  /** Unix time of capture. */
  readonly captureNs: bigint;
  /** This frame follows a gap (reconnect, seek, loss). */
  readonly discontinuity: boolean;
  readonly format: FrameFormat;
  /** Size of the input video, before the graph resized it. */
  readonly inputSize: { readonly width: number; readonly height: number };
  readonly meta: FrameMetadata;
  /** Aborted when the frame is discarded (flush, stop). */
  readonly signal: AbortSignal;
  /** Adds to the metadata. The values are frozen and passed by reference. */
  write(part: FrameMetadata): void;
  /** Raw video: one entry per plane. Other media: one entry with the bytes. */
  readonly planes: readonly Plane[];
  /** The bytes of all planes, rows without padding, in an array that outlives the frame. */
  copy(): Uint8Array;
  /** Resizes and converts into `target` on the streaming thread. Raw I420 and NV12. Do not transfer `target` meanwhile. */
  tensor(target: Float32Array | Uint8Array, order: TensorOrder): Promise<TensorGeometry>;
  /** Draws on the planes, on the streaming thread. Needs `access: "write"`; raw I420 and NV12. */
  draw(shapes: readonly Shape[]): Promise<void>;
  /** Encodes the frame or a part of it as an image file, on the streaming thread. */
  image(type: "image/png" | "image/jpeg", part?: PicturePart): Promise<Uint8Array>;
}

/** The part of a frame to encode, and its size. */
export interface PicturePart {
  /** In fractions of the frame, inside it. Default: the whole frame. */
  readonly region?: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
  /** Downscales, aspect kept, until the longer side has at most this many pixels. Never upscales. */
  readonly mostPixels?: number;
}

export interface TensorOrder {
  readonly width: number;
  readonly height: number;
  /** `letterbox` keeps the aspect and pads; `stretch` does not. */
  readonly fit: "letterbox" | "stretch";
  readonly layout: "nchw" | "nhwc";
  readonly colours: "rgb" | "bgr";
  /** Each value is `(pixel - mean) / std` per colour in the order of `colours`, pixels from 0 to 255. Float targets only. */
  readonly mean?: readonly [number, number, number];
  readonly std?: readonly [number, number, number];
  /** Pixel value of the padding before mean and std; default 114. */
  readonly padding?: number;
  /** Padding on all sides (`centre`, the default), or only right and below (`top-left`). */
  readonly anchor?: "centre" | "top-left";
  /** Part of the frame to use, in fractions; default: the whole frame. */
  readonly region?: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

/** Maps tensor pixels to frame pixels: `frame = (tensor - offset) / scale + origin`. */
export interface TensorGeometry {
  readonly scaleX: number;
  readonly scaleY: number;
  readonly offsetX: number;
  readonly offsetY: number;
  readonly originX: number;
  readonly originY: number;
}

/**
 * In pixels of the frame; colours as 0xRRGGBB; opacity from 0 to 1, default 1. Shapes are clipped to the frame. A box is
 * drawn inside its edges; `dash` is the approximate length of dashes and gaps. The points of a line may be given as
 * x, y, x, y …; a line fades in, from `start` times `opacity` at its first point. The position of a text is the upper
 * left corner of its background, or of the text itself without one. A line of text is 1.25 `size` high, a letter about
 * 0.6 `size` wide (East Asian letters twice that), and the background is `size / 4` wider on both sides. `hide` replaces the
 * pixels of its rectangle, outwards to even ones, by the means of blocks of that side, or a smooth course between them.
 */
export type Shape =
  | {
      kind: "box";
      x: number;
      y: number;
      width: number;
      height: number;
      colour: number;
      thickness: number;
      opacity?: number;
      dash?: number;
    }
  | { kind: "fill"; x: number; y: number; width: number; height: number; colour: number; opacity: number }
  | {
      kind: "line";
      points: readonly (readonly [number, number])[] | Float32Array;
      colour: number;
      thickness: number;
      opacity: number;
      start?: number;
    }
  | {
      kind: "text";
      x: number;
      y: number;
      text: string;
      size: number;
      colour: number;
      background?: number;
      opacity?: number;
    }
  | { kind: "hide"; x: number; y: number; width: number; height: number; block: number; smooth?: boolean };

/** Services of the runtime for a running element. */
export interface Services {
  /** Name of this node in the graph. */
  readonly node: string;
  readonly job: Job;
  readonly log: Log;
  /** Variables of the expressions in its properties; absent without expressions. */
  readonly variables?: NodeVariables;
  /** Sends an event to the owner of the graph. Bounded queue: on overflow the oldest event is dropped and counted. */
  emit(event: ElementEvent): void;
  /** Writes to the standard output of the process that runs the graph; resolves when it accepts more. */
  print(line: string): Promise<void>;
  /**
   * Sends a result to the subscribers of the graph: a line of JSON on standard output in the foreground, a socket in the
   * service. Lossless; resolves when the channel accepts more.
   */
  send(channel: string, message: JsonRecord): Promise<void>;
  /** Sends an image to viewers; returns false if it was dropped. Undefined where there can be no viewers. */
  show?(captureNs: bigint, bytes: Uint8Array): boolean;
  /** Records work of a thread of this element in the trace. Undefined where nothing is traced. */
  trace?(work: TracedWork): void;
  /**
   * Keeps a state of this node, up to 65,536 characters, for a runner that replaces this one. Undefined where none
   * would.
   */
  keep?(state: string): void;
  /** Returns freed memory to the system, after the end of something large. Takes milliseconds. */
  releaseMemory?(): void;
  /** What this node kept in the runner before; read it with suspicion, since the graph may have changed. */
  readonly kept?: string | null;
  /** Subscribes to messages from outside, such as telemetry; `handle` must not throw. Returns the unsubscribe function. */
  listen(channel: string, handle: (message: JsonRecord) => void): () => void;
  /** Answers questions from outside; the first element of a channel does. `handle` must not throw. Returns the function that ends it. */
  answer(channel: string, handle: (question: JsonRecord) => JsonRecord): () => void;
}

/** Work on one frame. Times are those of `process.hrtime.bigint`, which is the same in all threads. */
export interface TracedWork {
  /** Name of the thread. */
  readonly thread: string;
  readonly ptsNs: bigint | null;
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

/** The process that the graph belongs to. */
export interface Job {
  /** Of the process; all zeros in the foreground, where the same clip must give the same bytes. */
  readonly uuid: string;
  /** The source the graph was started with, without credentials; empty if the graph names its own source. */
  readonly sourceUri: string;
  /** Frames arrive in real time and may be dropped. Otherwise (pace `fast`) no frame is dropped and no clock is read. */
  readonly live: boolean;
  /** Frames may be left out before they are decoded: the number of a frame at an element is not its number in the source. */
  readonly skipsFrames?: boolean;
  /** The operator's terrain files; null: none. */
  readonly terrainFolder?: string | null;
  /** Overrides `give-up-seconds` of `source`. */
  readonly giveUpSeconds?: number | null;
  /** Track ids: from 1, unique for the life of the process, also across relaunches of the graph. */
  nextTrackId(): number;
}

export interface Log {
  debug(message: string, fields?: JsonRecord): void;
  info(message: string, fields?: JsonRecord): void;
  warn(message: string, fields?: JsonRecord): void;
  error(message: string, fields?: JsonRecord): void;
}

export interface ElementEvent {
  readonly type: string;
  readonly [key: string]: Json;
}

/**
 * Emitted by an element that sends to a receiver, on every change and about once per second. It is the status of the
 * output in the API: an output whose slot has no such element stays `starting`.
 */
export interface OutputEvent extends ElementEvent {
  readonly type: "output";
  readonly status: "starting" | "live" | "retrying" | "failed";
  /** Why it is not live; without credentials. */
  readonly detail: string | null;
  readonly framesSent: number;
  readonly framesDropped: number;
}

export interface OpenServices extends Services {
  /** The source the graph was started with, as passed to `expand`. */
  readonly source: SourceBinding | null;
}

export interface DriverServices extends OpenServices {
  /** Ends the graph with this reason. */
  fail(error: Error): void;
  /** Sends end of stream from this node. */
  endOfStream(): void;
  /**
   * Starts a disposable pipeline whose last node is an appsink, feeding this composite's appsrc. `metadata`: its
   * streams that are not linked, by their caps, whose packets are passed to the callback; it must not throw.
   */
  ingest(expansion: Expansion, metadata?: MetadataTap): Promise<Ingest>;
  /** Sends a message to the elements of the graph that listen to the channel. */
  deliver(channel: string, message: JsonRecord): void;
  /** Whether an element listens to the channel: what costs more than the call is not made for none. */
  isHeard(channel: string): boolean;
}

export interface MetadataTap {
  readonly caps: string;
  onPacket(packet: MetadataPacket): void;
}

export interface MetadataPacket {
  readonly data: Uint8Array;
  /** Unix time of capture, as of frames; null before the first frame. */
  readonly captureNs: bigint | null;
  /** GStreamer caps of the stream, as text. */
  readonly caps: string;
  /** Name of the pad that it comes from. */
  readonly stream: string;
}

export interface Driver {
  close(): void | Promise<void>;
  /** For live sources: disconnects until `resume`. Implement both or neither. */
  pause?(): void | Promise<void>;
  resume?(): void;
}

/** One connection attempt to a live source. `close` tears its pipeline down, even if it is stuck. */
export interface Ingest {
  /** Milliseconds since the last data arrived, or since the start. */
  idleMs(): number;
  /** True once the first keyframe was pushed downstream. */
  readonly flowing: boolean;
  /** Settles when the pipeline ends on its own: null at end of stream, otherwise the error. */
  readonly ended: Promise<Error | null>;
  /** Absent: the protocol does not measure the connection. Resolves with null before it is open. */
  readLink?(): Promise<SourceLink | null>;
  close(): Promise<void>;
}

export interface ExpandContext {
  readonly registry: Registry;
  /** The source the graph is started with, if any. */
  readonly source: SourceBinding | null;
  /** Frames arrive in real time and may be dropped; at pace `fast` none is. */
  readonly live: boolean;
}

export interface SourceBinding {
  /** A path, `test:PATTERN`, or an rtsp, rtsps, rtmp or rtmps URL. */
  readonly uri: string;
  readonly pace?: "realtime" | "fast";
  /** A file starts again at its end and runs in real time, like a camera. */
  readonly loop?: boolean;
  /** Demuxer factory for a file whose container is known. Default: chosen by the file's content. */
  readonly demuxer?: string;
  /** Metadata of a live stream (KLV of MISB ST 0601) is telemetry. */
  readonly metadata?: boolean;
}

/** The factory that leaves frames out before the decoder. While `pause` is set it passes all of them. */
export const SKIP_FRAMES = "skipframes";

/** Nodes linked in order. A single node takes the composite's name; several are named `name.suffix`. */
export interface Expansion {
  readonly nodes: readonly ExpandedNode[];
  /** Factories ranked above all others, in this order, before the pipeline is built. */
  readonly prefer?: readonly string[];
}

export interface ExpandedNode {
  readonly suffix: string;
  readonly factory: string;
  readonly properties: JsonRecord;
  /** Caps of the pad to link to the next node: `video/x-raw`, `application/x-rtp,media=video`. */
  readonly onward?: string;
}

/** A fault found while expanding; the compiler adds the line of the property. */
export class ExpandFault extends Error {
  override readonly name = "ExpandFault";
  readonly property: string | null;
  /** `property` is camelCase, or null when the fault concerns the whole element. */
  constructor(property: string | null, message: string) {
    super(message);
    this.property = property;
  }
}
