/**
 * The typed surface of the addon, and the only file that loads it. Wrapped into promises and async iterators by
 * pipeline.ts, handlers.ts, registry.ts and log.ts, or exported as it is by kernels.ts and motion.ts; nothing else imports this.
 */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Order of `CallKind` in element_core.h. */
export const CALL = { start: 0, stop: 1, format: 2, frame: 3, end: 4, properties: 5, flush: 6, cancel: 7 } as const;
/** Second argument of `settle`. */
export const OUTCOME = { on: 0, drop: 1, error: 2, discarded: 3 } as const;

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
  /** Which handler a TypeScript element is to use. */
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
      /** Node of the plan, and the element inside it that spoke. */
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
  /** Buffers that went by unseen since the last one, because nobody had time for them. */
  readonly lost: number;
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

export interface Latency {
  readonly live: boolean;
  readonly minimumNs: bigint;
  readonly maximumNs: bigint | null;
}

export interface RelayStatus {
  readonly frames: number;
  readonly dropped: number;
  readonly idleMs: number;
  readonly flowing: boolean;
}

export type State = "NULL" | "READY" | "PAUSED" | "PLAYING";

export interface NativePipeline {
  build(segment: NativeSegment): Promise<void>;
  setState(state: State, limitMs: number, stopIfLive: boolean): Promise<boolean>;
  close(): Promise<void>;
  set(node: string, properties: Readonly<Record<string, NativeValue>>): Promise<void>;
  get(node: string, property: string): Promise<string>;
  seek(toNs: bigint, accurate: boolean, node?: string): Promise<void>;
  position(): Promise<bigint | null>;
  duration(): Promise<bigint | null>;
  latency(): Promise<Latency | null>;
  setLatency(node: string, latencyNs: bigint): void;
  endOfStream(): Promise<void>;
  dot(): Promise<string>;
  addBranch(name: string, entry: NativeLink, segment: NativeSegment): Promise<void>;
  removeBranch(name: string, limitMs: number): Promise<void>;
  limit(node: string, frames: number, untilNs: bigint): void;
  tap(node: string, seen: (buffer: TappedBuffer) => void): () => void;
  grab(node: string, atNs: bigint, type: string): Promise<{ image: Uint8Array; ptsNs: bigint | null }>;
  meter(name: string, first: string, last: string): void;
  meters(names: readonly string[]): Record<string, MeterReading>;
  relayFrom(appsrc: string, ingest: NativePipeline, appsink: string): void;
  relayStatus(appsrc: string): RelayStatus;
  relayEnd(appsrc: string): void;
}

export interface LogEntry {
  readonly level: "error" | "warn" | "info" | "debug" | "trace";
  readonly category: string;
  readonly message: string;
  /** The GStreamer object that spoke, or empty. */
  readonly source: string;
  /** Entries dropped before this one because they came faster than they could be taken. */
  readonly lost: number;
}

/** `call` is 0 where no answer is awaited. */
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
  /** Within the call that starts an element; 0 leaves things as they are. */
  tune(call: number, inFlight: number, latencyNs: bigint): void;
  settle(call: number, outcome: number, meta?: object, message?: string, stack?: string): boolean;
  mapFrame(call: number): NativePlane[];
  copyFrame(call: number): Uint8Array;
  orderTensor(call: number, target: Float32Array | Uint8Array, order: object): Promise<Record<string, number>>;
  orderDraw(call: number, numbers: Float64Array, texts: readonly string[]): Promise<void>;
  /** `part` mirrors `PicturePart` in elements/element.ts. */
  orderImage(call: number, type: string, part?: object): Promise<Uint8Array>;
  /** Sets of pixel kernels that this CPU can run, from the slowest to the fastest, which is in use. */
  kernelSets(): string[];
  /** For tests, which compare the sets. Of the whole process. */
  useKernelSet(name: string): void;
  /** The mean of four out of each `step` × `step` pixels. */
  shrinkLuma(plane: Uint8Array, stride: number, width: number, height: number, step: number, out: Float32Array): void;
  halveGrey(grey: Float32Array, width: number, height: number, out: Float32Array): void;
  /** `excluded` is left, top, right and bottom by turns; the corners are x and y by turns, the strongest first. */
  findCorners(grey: Float32Array, width: number, height: number, excluded: Float64Array, most: number): Float32Array;
  /**
   * Where points of one picture are in the next, from the smaller pictures of both pyramids to the largest, whose size is
   * given. Points are x and y by turns; what is not found is NaN. The search begins at `level` with a shift in pixels of
   * the largest.
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
  /** GIO connects to these hosts and no others from now on; a name with addresses stands for these. */
  allowConnections(hosts: readonly { readonly host: string; readonly addresses: readonly string[] }[]): void;
  listFactories(): unknown[];
  describeFactory(name: string): unknown;
  setRank(name: string, rank: number): boolean;
  onLog(receive: ((entry: LogEntry) => void) | null): void;
  setLogLevels(levels: string): void;
  deinit(): void;
}

const file = process.env.WINDHOVER_ADDON ?? fileURLToPath(new URL("../build/windhover.node", import.meta.url));

/** Recognised by its name: whoever could import the class could load the addon. */
class AddonMissing extends Error {
  override readonly name = "AddonMissing";
}

function load(): Addon {
  try {
    return createRequire(import.meta.url)(file) as Addon;
  } catch (cause) {
    throw new AddonMissing("the GStreamer addon cannot be loaded: run `npm start` or `npm test` once, they build it", {
      cause,
    });
  }
}

export const addon = load();
