/**
 * The typed interface of the addon, and the only file that loads it. pipeline.ts, handlers.ts, frame.ts, gstreamer.ts and
 * kernels.ts are built on it; all other files import only its types.
 */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Order of `CallKind` in element_core.h. */
export const CALL = { start: 0, stop: 1, format: 2, frame: 3, end: 4, properties: 5, flush: 6, cancel: 7 } as const;
/** Second argument of `settle`. */
export const OUTCOME = { pass: 0, drop: 1, error: 2, discarded: 3 } as const;

export interface NativePlane {
  readonly data: Uint8Array;
  readonly stride: number;
  readonly width: number;
  readonly height: number;
}

export interface NativeProperty {
  readonly name: string;
  readonly about: string;
  readonly kind: "boolean" | "integer" | "number" | "string" | "enum" | "json";
  readonly live: boolean;
  readonly default?: boolean | number | string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly values?: readonly string[];
}

export interface NativeElement {
  readonly name: string;
  readonly about: string;
  readonly kind: "transform" | "sink";
  readonly caps: string;
  readonly access: "read" | "write";
  readonly inFlight: number;
  readonly properties: readonly NativeProperty[];
}

export type NativeValue = null | boolean | number | string;

export interface NativeNode {
  readonly name: string;
  readonly factory: string;
  readonly properties: Readonly<Record<string, NativeValue>>;
  /** Identifies the handler of a TypeScript element. */
  readonly binding?: number;
}

export interface NativeLink {
  readonly from: string;
  readonly fromPad?: string;
  readonly to: string;
  readonly toPad?: string;
  readonly caps?: string;
}

export interface NativeSegment {
  readonly nodes: readonly NativeNode[];
  readonly links: readonly NativeLink[];
}

export type BusMessage =
  | { readonly type: "eos" }
  | {
      readonly type: "error" | "warning";
      /** Node of the plan, and the element inside it that posted the message. */
      readonly node: string;
      readonly source: string;
      readonly domain: string;
      readonly code: number;
      readonly message: string;
      readonly debug: string;
    }
  | { readonly type: "state"; readonly from: string; readonly to: string }
  | {
      readonly type: "element";
      readonly node: string;
      readonly source: string;
      readonly name: string;
      readonly structure: string;
    }
  | { readonly type: "duration-changed" };

export interface TappedBuffer {
  readonly ptsNs: bigint | null;
  readonly durationNs: bigint | null;
  readonly bytes: number;
  readonly keyframe: boolean;
  readonly discontinuity: boolean;
  readonly caps: string;
  readonly meta: Readonly<Record<string, unknown>>;
  /** Buffers that were not reported since the last one because the JS thread was busy. */
  readonly lost: number;
}

/** A buffer on its way from one node to the next. */
export interface EdgeBuffer extends TappedBuffer {
  /** A JPEG of raw video; null for other streams, and when it cannot be made. */
  readonly image: Uint8Array | null;
  /** Why it cannot be made. */
  readonly error: string | null;
}

export interface MeterReading {
  readonly in: number;
  readonly out: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly queued?: number;
  readonly capacity?: number;
  readonly dropped: number;
}

/** Buffers in a node. `spans` has four numbers for each: see `SPAN`. */
export interface SpanReading {
  readonly spans: Float64Array;
  /** Spans dropped because they were not taken in time. */
  readonly lost: number;
}

/**
 * PTS (NaN: none), beginning and end in nanoseconds of the steady clock, which is that of `process.hrtime`, and the level of
 * a queue (-1: not a queue). Sources and sinks of GStreamer only have a moment: both times are equal.
 */
export const SPAN = { pts: 0, from: 1, to: 2, queued: 3, length: 4 } as const;

export interface Latency {
  readonly live: boolean;
  readonly minimumNs: bigint;
  readonly maximumNs: bigint | null;
}

export interface RelayedPacket {
  readonly data: Uint8Array;
  /** Unix time, on the same clock as those of frames; null before the first frame. */
  readonly captureNs: bigint | null;
  readonly caps: string;
  /** Name of its pad. */
  readonly stream: string;
}

export interface RelayStatus {
  readonly frames: number;
  readonly dropped: number;
  readonly idleMs: number;
  readonly flowing: boolean;
}

export type State = "NULL" | "READY" | "PAUSED" | "PLAYING";

export interface NativePipeline {
  /** Creates and links elements: all of them, or none when it rejects. */
  build(segment: NativeSegment): Promise<void>;
  setState(state: State, limitMs?: number, stopIfLive?: boolean): Promise<boolean>;
  close(): Promise<void>;
  set(node: string, properties: Readonly<Record<string, NativeValue>>): Promise<void>;
  get(node: string, property: string): Promise<string>;
  /**
   * Flushing seek; `accurate` (default) decodes up to the exact frame, otherwise playback starts at the keyframe before.
   * With `node` the event enters there: it works before anything downstream of the node is linked.
   */
  seek(toNs: bigint, accurate?: boolean, node?: string): Promise<void>;
  position(): Promise<bigint | null>;
  duration(): Promise<bigint | null>;
  latency(): Promise<Latency | null>;
  /** Latency that a TypeScript element adds to the pipeline. */
  setLatency(node: string, latencyNs: bigint): void;
  endOfStream(): Promise<void>;
  /** The running pipeline in Graphviz format. */
  dot(): Promise<string>;
  /** Attaches a segment while playing; `entry` leads from a tee to its first node, which should be a queue. */
  addBranch(name: string, entry: NativeLink, segment: NativeSegment): Promise<void>;
  /** Sends EOS into the branch, waits up to `limitMs` (default 5000) until all its sinks have handled it, then removes it. */
  removeBranch(name: string, limitMs?: number): Promise<void>;
  /** Ends the stream at this node after `frames` frames, or `untilNs` of stream time after its first frame. */
  limit(node: string, limits: { readonly frames?: number; readonly untilNs?: bigint }): void;
  /** Calls `seen` for every buffer that leaves the node. Returns a function that stops it. */
  tap(node: string, seen: (buffer: TappedBuffer) => void): () => void;
  /** Encodes the first frame at or after that stream time; stays pending if there is none. */
  grab(
    node: string,
    atNs: bigint,
    type: "image/png" | "image/jpeg",
  ): Promise<{ image: Uint8Array; ptsNs: bigint | null }>;
  /**
   * Calls `seen` once, with the next buffer from one node to the other. Its image, with up to `mostPixels` on the longer
   * side, is encoded on another thread: the stream does not wait. Returns a function that stops waiting. Throws when the
   * nodes are not linked.
   */
  seeEdge(from: string, to: string, mostPixels: number, seen: (buffer: EdgeBuffer) => void): () => void;
  /** Counts and times buffers from the input of `first` to the output of `last`. */
  meter(name: string, first: string, last: string): void;
  /** Readings of these meters, without those whose nodes no longer exist. */
  meters(names: readonly string[]): Record<string, MeterReading>;
  /** The spans of these meters since the last call. They are kept from the first call on, until `more` is false. */
  takeSpans(names: readonly string[], more: boolean): Record<string, SpanReading>;
  /** Feeds `appsrc` from the appsink of a disposable pipeline. */
  relayFrom(appsrc: string, ingest: NativePipeline, appsink: string): void;
  /** Passes packets of those streams of an ingest's node that are not linked and have these caps to the callback. */
  relayMetadata(
    appsrc: string,
    ingest: NativePipeline,
    node: string,
    caps: string,
    onPacket: (packet: RelayedPacket) => void,
  ): void;
  /** The same for a node of this pipeline. Before the pads appear. */
  tapPackets(node: string, caps: string, onPacket: (packet: RelayedPacket) => void): void;
  relayStatus(appsrc: string): RelayStatus;
  /** Ends the stream at an appsrc that relays feed. */
  relayEnd(appsrc: string): void;
}

/** frame pixel = (tensor pixel - offset) / scale + origin */
export interface TensorGeometry {
  readonly scaleX: number;
  readonly scaleY: number;
  readonly offsetX: number;
  readonly offsetY: number;
  readonly originX: number;
  readonly originY: number;
}

export interface LogEntry {
  readonly level: "error" | "warn" | "info" | "debug" | "trace";
  readonly category: string;
  readonly message: string;
  /** The GStreamer object that logged the message, or empty. */
  readonly source: string;
  /** Entries dropped before this one because the queue to the JS thread was full. */
  readonly lost: number;
}

/** `call` is 0 for notifications, which are not answered with `settle`. */
export type Dispatch = (
  kind: number,
  core: number,
  call: number,
  a: unknown,
  ptsNs: bigint | null,
  durationNs: bigint | null,
  captureNs: bigint,
  discontinuity: boolean,
  meta: Readonly<Record<string, unknown>> | undefined,
) => void;

export interface Addon {
  Pipeline: new (name: string, epochNs: bigint | null, onMessage: (message: BusMessage) => void) => NativePipeline;
  registerElement(element: NativeElement): void;
  setDispatch(dispatch: Dispatch): void;
  alive(): { metadata: number; calls: number };
  /** Only during the call that starts an element; 0 changes nothing. */
  tune(call: number, inFlight: number, latencyNs: bigint): void;
  settle(call: number, outcome: number, meta?: object, message?: string, stack?: string): boolean;
  mapFrame(call: number): NativePlane[];
  copyFrame(call: number): Uint8Array;
  orderTensor(call: number, target: Float32Array | Uint8Array, order: object): Promise<TensorGeometry>;
  orderDraw(call: number, numbers: Float64Array, texts: readonly string[]): Promise<void>;
  /** `part` mirrors `PicturePart` in elements/element.ts. */
  orderImage(call: number, type: string, part?: object): Promise<Uint8Array>;
  /** Sets of pixel kernels that this CPU can run, from the slowest to the fastest, which is in use. */
  kernelSets(): string[];
  /** For tests that compare the sets. Applies to the whole process. */
  useKernelSet(name: string): void;
  /** The mean of four out of each `step` × `step` pixels. */
  shrinkLuma(plane: Uint8Array, stride: number, width: number, height: number, step: number, out: Float32Array): void;
  /** The mean of all pixels of each `side` × `side` square, up to 256. */
  averageLuma(plane: Uint8Array, stride: number, width: number, height: number, side: number, out: Float32Array): void;
  halveGrey(grey: Float32Array, width: number, height: number, out: Float32Array): void;
  /** `excluded` holds left, top, right and bottom of each area; the result x and y of each corner, the strongest first. */
  findCorners(grey: Float32Array, width: number, height: number, excluded: Float64Array, most: number): Float32Array;
  /**
   * Optical flow of points between two image pyramids, whose largest images have the given size. Points are interleaved x
   * and y; points that are lost become NaN. The search starts at `level` with an expected shift in pixels of the largest
   * image.
   */
  followPoints(
    before: readonly Float32Array[],
    after: readonly Float32Array[],
    width: number,
    height: number,
    points: Float32Array,
    level: number,
    right: number,
    down: number,
  ): Float32Array;
  /** Restricts GIO to these hosts; a name with addresses resolves to these addresses only. */
  allowConnections(hosts: readonly { readonly host: string; readonly addresses: readonly string[] }[]): void;
  listFactories(): unknown[];
  describeFactory(name: string): unknown;
  setRank(name: string, rank: number): boolean;
  releaseMemory(): void;
  onLog(receive: ((entry: LogEntry) => void) | null): void;
  setLogLevels(levels: string): void;
  deinit(): void;
}

const file = process.env.WINDHOVER_ADDON ?? fileURLToPath(new URL("../build/windhover.node", import.meta.url));

/** Callers recognise it by its name: importing the class would load the addon. */
class AddonMissing extends Error {
  override readonly name = "AddonMissing";
}

function load(): Addon {
  try {
    return createRequire(import.meta.url)(file) as Addon;
  } catch (cause) {
    throw new AddonMissing("cannot load the GStreamer addon: run `npm start` or `npm test` once to build it", {
      cause,
    });
  }
}

export const addon = load();
