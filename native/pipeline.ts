/** A GStreamer pipeline as promises and an async iterator. Owner: whoever created it; `close` ends everything in it. */
import {
  addon,
  type BusMessage,
  type Latency,
  type MeterReading,
  type NativeLink,
  type NativePipeline,
  type NativeSegment,
  type NativeValue,
  type RelayStatus,
  type State,
  type TappedBuffer,
} from "./addon.ts";
import { handlersClosed } from "./handlers.ts";
import { Inbox } from "./inbox.ts";

export type {
  BusMessage,
  Latency,
  MeterReading,
  NativeLink,
  NativeNode,
  NativeSegment,
  NativeValue,
  RelayStatus,
  State,
  TappedBuffer,
} from "./addon.ts";

/** Messages kept for a reader that is slow; beyond it the oldest go, but for those that end it all. */
const MESSAGE_LIMIT = 1000;
/** How much longer than its limit a state change may take until the thread that does it is called stuck. */
const GRACE_MS = 250;

export interface PipelineOptions {
  readonly name: string;
  /** Unix time of PTS 0. Null: of a live pipeline, which knows it once frames arrive. */
  readonly epochNs: bigint | null;
}

export class Pipeline {
  readonly #native: NativePipeline;
  readonly #inbox: Inbox<BusMessage>;
  #closing: Promise<void> | null = null;

  constructor(options: PipelineOptions) {
    // Not through `this`: the native side holds the callback, and a pipeline that everybody has forgotten must be able
    // to go.
    const inbox = new Inbox<BusMessage>(MESSAGE_LIMIT, ({ type }) => type === "error" || type === "eos");
    this.#inbox = inbox;
    this.#native = new addon.Pipeline(options.name, options.epochNs, (message) => inbox.put(message));
  }

  /** The bus. Ends when the pipeline is closed; one reader. */
  messages(): AsyncGenerator<BusMessage, void, undefined> {
    return this.#inbox.read();
  }

  /** Makes and links elements; all or nothing. */
  build(segment: NativeSegment): Promise<void> {
    return this.#native.build(segment);
  }

  /**
   * Rejects with the bus error that prevented it, or when it takes longer than the limit. Limit 0 does not wait. Resolves
   * with whether the pipeline is live, which is known from PAUSED on: then it gives no data before it plays. With
   * `stopIfLive` a live one stays PAUSED.
   */
  setState(state: State, limitMs = 10_000, stopIfLive = false): Promise<boolean> {
    const changed = this.#native.setState(state, limitMs, stopIfLive);
    if (limitMs === 0) return changed;
    return within(limitMs + GRACE_MS, `did not reach ${state} within ${limitMs} ms`, changed);
  }

  /** To NULL, whatever state it is in. Safe to call again; rejects when an element does not let go in time. */
  close(limitMs = 10_000): Promise<void> {
    if (this.#closing === null) {
      this.#inbox.close();
      const closed = this.#native.close().then(handlersClosed);
      this.#closing = within(limitMs, `the pipeline did not stop within ${limitMs} ms`, closed);
    }
    return this.#closing;
  }

  async set(node: string, properties: Readonly<Record<string, NativeValue>>): Promise<void> {
    return this.#native.set(node, properties);
  }

  get(node: string, property: string): Promise<string> {
    return this.#native.get(node, property);
  }

  /**
   * Flushes; `accurate` decodes up to the very frame, otherwise it starts at the key frame before. At a node it works
   * before anything below that is linked, as in a pipeline whose frames have not come so far yet.
   */
  seek(toNs: bigint, accurate = true, node?: string): Promise<void> {
    return this.#native.seek(toNs, accurate, node);
  }

  position(): Promise<bigint | null> {
    return this.#native.position();
  }

  duration(): Promise<bigint | null> {
    return this.#native.duration();
  }

  latency(): Promise<Latency | null> {
    return this.#native.latency();
  }

  /** What a TypeScript element holds frames back for. */
  setLatency(node: string, latencyNs: bigint): void {
    this.#native.setLatency(node, latencyNs);
  }

  endOfStream(): Promise<void> {
    return this.#native.endOfStream();
  }

  /** The pipeline as it runs now, for Graphviz. */
  dot(): Promise<string> {
    return this.#native.dot();
  }

  /** Attaches a segment while playing; `entry` leads from a tee to its first node, which should be a queue. */
  addBranch(name: string, entry: NativeLink, segment: NativeSegment): Promise<void> {
    return this.#native.addBranch(name, entry, segment);
  }

  /** Ends the branch from its entry on, waits until its sinks have seen the end, then takes it out. */
  removeBranch(name: string, limitMs = 5_000): Promise<void> {
    return this.#native.removeBranch(name, limitMs);
  }

  /** Ends the stream at this node after so many frames, or so much stream time since its first. */
  limit(node: string, limits: { readonly frames?: number; readonly untilNs?: bigint }): void {
    this.#native.limit(node, limits.frames ?? 0, limits.untilNs ?? 0n);
  }

  /** Shows every buffer that leaves the node. Returns how to stop. */
  tap(node: string, seen: (buffer: TappedBuffer) => void): () => void {
    return this.#native.tap(node, seen);
  }

  /** A picture of the first frame at or after that stream time; pending for ever if it never comes. */
  grab(
    node: string,
    atNs: bigint,
    type: "image/png" | "image/jpeg",
  ): Promise<{ image: Uint8Array; ptsNs: bigint | null }> {
    return this.#native.grab(node, atNs, type);
  }

  /** Starts counting and timing what goes in at `first` and comes out of `last`. */
  meter(name: string, first: string, last: string): void {
    this.#native.meter(name, first, last);
  }

  /** Readings of these meters, as far as their nodes are there. */
  meters(names: readonly string[]): Record<string, MeterReading> {
    return this.#native.meters(names);
  }

  /** Feeds `appsrc` from the appsink of a disposable pipeline. */
  relayFrom(appsrc: string, ingest: Pipeline, appsink: string): void {
    this.#native.relayFrom(appsrc, ingest.#native, appsink);
  }

  relayStatus(appsrc: string): RelayStatus {
    return this.#native.relayStatus(appsrc);
  }

  /** Ends the stream at an appsrc that is fed by relays. */
  relayEnd(appsrc: string): void {
    this.#native.relayEnd(appsrc);
  }
}

async function within<T>(limitMs: number, otherwise: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(otherwise)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** For leak tests: GStreamer tells of leaked objects when it ends, and is of no use afterwards. */
export const deinitGStreamer = (): void => addon.deinit();
