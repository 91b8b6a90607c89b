/** Handlers of TypeScript elements: created before the pipeline, closed exactly once, watched for blocked frames. */

import { isDeepStrictEqual } from "node:util";
import type { AnyElement, Frame, FrameFormat, FrameMetadata, Handler, Services } from "../../elements/element.ts";
import { framesOf } from "../../elements/source-lines.ts";
import type { NativeFrame } from "../../native/frame.ts";
import { describeThrown, type FaultyCall, registerElement } from "../../native/handlers.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { PlanNode } from "../compiler/plan.ts";
import { completeProperties } from "../compiler/properties.ts";
import { GraphFailure } from "./events.ts";
import { LIMITS, withTimeout } from "./limits.ts";
import { nativeProperties } from "./native-segment.ts";

/** A handler with its guarantees: serial updates, closed once, each with a timeout. */
export class BoundHandler {
  /** Identifies the handler to the native element. */
  readonly binding: number;
  readonly services: Services;
  readonly handler: Handler;
  /** Of a sink: the stream time after its last processed frame. */
  reachedNs: bigint | null = null;
  /** Of a sink in a live graph: from capture. */
  readonly latency = new Latency();
  readonly #element: AnyElement;
  #properties: JsonRecord;
  #updating: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Pending calls, oldest first. */
  readonly #open = new Set<OpenCall>();

  constructor(handler: Handler, element: AnyElement, properties: JsonRecord, services: Services) {
    this.binding = nextBinding++;
    this.handler = handler;
    this.services = services;
    this.#element = element;
    this.#properties = properties;
    bound.set(this.binding, this);
  }

  get isSink(): boolean {
    return this.#element.kind === "sink";
  }

  /** The oldest pending call that blocks frames, or null. */
  get oldestCall(): OpenCall | null {
    const [oldest = null] = this.#open;
    return oldest;
  }

  process(frame: NativeFrame): ReturnType<Handler["process"]> {
    if (!this.isSink) return this.call("process", () => this.handler.process(asFrame(frame)));
    const { ptsNs, durationNs, captureNs } = frame;
    if (this.services.job.live) this.latency.add(Math.max(0, Date.now() - Number(captureNs / 1_000_000n)));
    return this.call(
      "process",
      () => this.handler.process(asFrame(frame)),
      // Only on success: a frame that fails is where to resume.
      () => {
        if (ptsNs !== null) this.reachedNs = ptsNs + (durationNs ?? 1n);
      },
    );
  }

  /** Runs a call that blocks frames. */
  call<T>(name: OpenCall["name"], work: () => T, done: () => void = () => {}): T {
    const result = work();
    if (!isPromise(result)) {
      done();
      return result;
    }
    const open: OpenCall = { name, sinceMs: performance.now() };
    this.#open.add(open);
    result.then(
      () => {
        this.#open.delete(open);
        done();
      },
      () => this.#open.delete(open),
    );
    return result;
  }

  /** Rejects when the handler does, which then keeps its old properties. Skipped when nothing changes. */
  update(properties: JsonRecord): Promise<void> {
    const turn = this.#updating.then(async () => {
      const next = completeProperties(this.#element, properties);
      if (isDeepStrictEqual(next, this.#properties)) return;
      const updated = (async () => this.handler.update?.(next as never))();
      await withTimeout(LIMITS.updateMs, "the update did not finish", updated);
      this.#properties = next;
    });
    this.#updating = turn.catch(() => {});
    return turn;
  }

  /** Never rejects: errors are logged. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      const closed = (async () => this.handler.close?.())();
      await withTimeout(LIMITS.closeMs, "not settled", closed);
    } catch (error) {
      logFault("close", error, this);
    } finally {
      bound.delete(this.binding);
    }
  }
}

interface OpenCall {
  readonly name: "process" | "format" | "end";
  readonly sinceMs: number;
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === "object" && value !== null && "then" in value;

const bound = new Map<number, BoundHandler>();
const adapted = new WeakMap<object, BoundHandler>();
let nextBinding = 1;
const registered = new Set<string>();

/** Registers the element with GStreamer, once per name. */
function register(element: AnyElement): void {
  if (element.kind === "composite" || registered.has(element.name)) return;
  registered.add(element.name);
  registerElement({
    name: element.name,
    about: element.about,
    kind: element.kind,
    caps: element.caps,
    access: element.kind === "transform" ? (element.access ?? "read") : "read",
    inFlight: element.kind === "transform" ? (element.inFlight ?? 1) : 1,
    properties: nativeProperties(element.properties),
    create: ({ binding, node }) => adapt(bound.get(binding), node),
    fault: (call, error, handler) => logFault(call, error, adapted.get(handler)),
  });
}

/** A failed `close` is an error, as output may be missing; others are warnings. */
function logFault(call: FaultyCall, error: unknown, entry: BoundHandler | undefined): void {
  if (entry === undefined) return;
  const at = framesOf(error instanceof Error ? (error.stack ?? "") : "")[0];
  const message = `${call === "order" ? "" : `${call}() failed: `}${describeThrown(error)}`;
  entry.services.log[call === "close" ? "error" : "warn"](at === undefined ? message : `${message} ${at}`);
}

/** Only elements write metadata, and only JSON; the native side passes it through. */
const asFrame = (frame: NativeFrame): Frame => frame as NativeFrame & { readonly meta: FrameMetadata };

/** The handler as the native side calls it. */
function adapt(entry: BoundHandler | undefined, node: string) {
  if (entry === undefined) throw new Error(`"${node}" was not created by a graph and has no handler`);
  const { handler } = entry;
  const { format, end } = handler;
  const view = {
    process: (frame: NativeFrame) => entry.process(frame),
    ...(handler.inFlight !== undefined && { inFlight: handler.inFlight }),
    ...(handler.latencyMs !== undefined && { latencyMs: handler.latencyMs }),
    ...(format && { format: (of: FrameFormat) => entry.call("format", () => format.call(handler, of)) }),
    ...(handler.flush && { flush: handler.flush.bind(handler) }),
    ...(end && { end: () => entry.call("end", () => end.call(handler)) }),
    update: (properties: Record<string, unknown>) => entry.update(properties as JsonRecord),
    close: () => entry.close(),
  };
  adapted.set(view, entry);
  return view;
}

/** Programming errors; an element refuses to start with other errors. */
const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError];

/** For an error that an element threw outside of a frame. */
export function failureOf(node: string | null, thrown: unknown): GraphFailure {
  const isRefusal = thrown instanceof Error && !MISTAKES.some((mistake) => thrown instanceof mistake);
  return new GraphFailure(node, describeThrown(thrown), thrown instanceof Error ? thrown.stack : "", { isRefusal });
}

export async function createHandler(element: AnyElement, node: PlanNode, services: Services): Promise<BoundHandler> {
  if (element.kind === "composite") throw new Error(`"${element.name}" is a composite and has no handler`);
  register(element);
  const properties = completeProperties(element, node.properties);
  const creating = (async () => element.create(properties, services))();
  let handler: Handler;
  try {
    handler = await withTimeout(LIMITS.createMs, `"${node.author}" was not ready`, creating);
  } catch (cause) {
    creating.then((late) => late.close?.()).catch(() => {}); // created after the timeout
    throw failureOf(node.author, cause);
  }
  return new BoundHandler(handler, element, properties, services);
}

const LATENCY_SAMPLES = 256;

export interface LatencyReading {
  readonly p50: number;
  readonly p95: number;
}

/** The age of recent frames. */
class Latency {
  readonly #ms: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#ms[this.#next % LATENCY_SAMPLES] = ms;
    this.#next += 1;
  }

  /** 0 before the first. */
  read(): LatencyReading {
    const sorted = [...this.#ms].sort((a, b) => a - b);
    const at = (part: number): number => Math.round(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
    return { p50: at(0.5), p95: at(0.95) };
  }
}

interface StuckFrameOptions {
  /** Fatal after this time; null: never, as a reader of standard output may be slow. */
  readonly limitMs: number | null;
  /** By the names of their native nodes. */
  handlers(): Iterable<readonly [node: string, handler: BoundHandler]>;
  warn(author: string, message: string): void;
  fail(node: string, failure: GraphFailure): void;
}

const CHECKS = 4;

/** Watches for handlers that block frames: logs once per call, and fails after the limit. */
export class StuckFrames {
  readonly #options: StuckFrameOptions;
  readonly #slowMs: number;
  readonly #timer: NodeJS.Timeout;
  /** Calls that are already reported. */
  readonly #warned = new WeakSet<object>();
  readonly #failed = new WeakSet<object>();

  constructor(options: StuckFrameOptions) {
    this.#options = options;
    this.#slowMs = Math.min(LIMITS.slowFrameMs, (options.limitMs ?? Number.POSITIVE_INFINITY) / 2);
    this.#timer = setInterval(() => this.#check(), Math.min(1_000, this.#slowMs / CHECKS));
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { limitMs, handlers, warn, fail } = this.#options;
    for (const [node, handler] of handlers()) {
      const call = handler.oldestCall;
      if (call === null) continue;
      const waitedMs = performance.now() - call.sinceMs;
      const author = handler.services.node;
      if (limitMs !== null && waitedMs >= limitMs && !this.#failed.has(call)) {
        this.#failed.add(call);
        fail(node, new GraphFailure(author, `${call.name}() did not settle within ${limitMs / 1000} s`));
      } else if (waitedMs >= this.#slowMs && !this.#warned.has(call)) {
        this.#warned.add(call);
        warn(author, `${call.name}() has not settled for ${Math.round(waitedMs / 1000)} s; it blocks frames`);
      }
    }
  }
}
