/** Handlers of TypeScript elements: created before the pipeline, closed exactly once, watched for blocked frames. */

import { isDeepStrictEqual } from "node:util";
import type { AnyElement, Frame, FrameFormat, FrameMetadata, Handler, Services } from "../../elements/element.ts";
import { framesOf } from "../../elements/source-lines.ts";
import type { NativeFrame } from "../../native/frame.ts";
import { describeThrown, type FaultyCall, registerElement } from "../../native/handlers.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { PlanNode } from "../compiler/plan.ts";
import { completeProperties } from "../compiler/properties.ts";
import { CallGate, isPromise } from "./call-gate.ts";
import { GraphFailure } from "./events.ts";
import { LIMITS, withTimeout } from "./limits.ts";
import { typeProperties } from "./native-segment.ts";

/** The code of a handler: an element, and what its `create` returned. */
interface Version {
  readonly element: AnyElement;
  readonly handler: Handler;
  /** Ends its subscriptions. */
  release(): void;
}

/** A new version of a handler that is not used yet. Either `commit` or `discard` follows. */
export interface Replacement {
  /** Holds frames back, and passes the state on. Rejects when one of the versions does. */
  hold(): Promise<void>;
  /** The next frame is processed by it; the old version is closed. */
  commit(): void;
  /** The old version continues. */
  discard(): Promise<void>;
}

/** A handler with its guarantees: serial updates, closed once, each with a timeout. */
export class BoundHandler {
  /** Identifies the handler to the native element. */
  readonly binding: number;
  readonly services: Services;
  /** Of a sink: the stream time after its last processed frame. */
  reachedNs: bigint | null = null;
  /** Of a sink in a live graph: from capture. */
  readonly latency = new Latency();
  #version: Version;
  #properties: JsonRecord;
  #format: FrameFormat | null = null;
  readonly #gate = new CallGate();
  #updating: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Pending calls, oldest first. */
  readonly #open = new Set<OpenCall>();

  constructor(version: Version, properties: JsonRecord, services: Services) {
    this.binding = nextBinding++;
    this.services = services;
    this.#version = version;
    this.#properties = properties;
    bound.set(this.binding, this);
  }

  get isSink(): boolean {
    return this.#version.element.kind === "sink";
  }

  /** The current version. */
  get handler(): Handler {
    return this.#version.handler;
  }

  /** The oldest pending call that blocks frames, or null. */
  get oldestCall(): OpenCall | null {
    const [oldest = null] = this.#open;
    return oldest;
  }

  process(frame: NativeFrame): ReturnType<Handler["process"]> {
    // A frame that was held back may have been discarded meanwhile.
    const work = () => (frame.isDiscarded ? "drop" : this.handler.process(asFrame(frame)));
    if (!this.isSink) return this.#call("process", work);
    const { ptsNs, durationNs, captureNs } = frame;
    if (this.services.job.live) this.latency.add(Math.max(0, Date.now() - Number(captureNs / 1_000_000n)));
    // Only on success: a frame that fails is where to resume.
    return this.#call("process", work, () => {
      if (ptsNs !== null) this.reachedNs = ptsNs + (durationNs ?? 1n);
    });
  }

  format(format: FrameFormat): void | Promise<void> {
    this.#format = format;
    return this.#call("format", () => this.handler.format?.(format));
  }

  end(): void | Promise<void> {
    return this.#call("end", () => this.handler.end?.());
  }

  /** Runs a call that blocks frames. */
  #call<T>(name: OpenCall["name"], work: () => T, done: () => void = () => {}): T {
    const result = this.#gate.run(work);
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
      const next = completeProperties(this.#version.element, properties);
      if (isDeepStrictEqual(next, this.#properties)) return;
      const updated = (async () => this.handler.update?.(next as never))();
      await withTimeout(LIMITS.updateMs, "the update did not finish", updated);
      this.#properties = next;
    });
    this.#updating = turn.catch(() => {});
    return turn;
  }

  /** Replaces the handler by one of other code of the element. Rejects with `GraphFailure`. */
  async prepare(element: AnyElement, node: PlanNode): Promise<Replacement> {
    const { version: next, properties } = await createVersion(element, node, this.services);
    return {
      hold: async () => {
        const inFlight = (handler: Handler) => handler.inFlight ?? "none";
        if (inFlight(next.handler) !== inFlight(this.handler))
          throw new Error(
            `inFlight of the handler changed from ${inFlight(this.handler)} to ${inFlight(next.handler)}; ${AT_START}`,
          );
        await this.#gate.hold(LIMITS.updateMs);
        await withTimeout(LIMITS.updateMs, "the state was not passed on", this.#passOn(next.handler));
      },
      commit: () => {
        const old = this.#version;
        const isClosed = this.#closing !== undefined;
        if (!isClosed) [this.#version, this.#properties] = [next, properties];
        this.#gate.open();
        void this.#closeVersion(isClosed ? next : old);
      },
      discard: () => {
        this.#gate.open();
        return this.#closeVersion(next);
      },
    };
  }

  /** As a copy: nothing of the old code is referred to. */
  async #passOn(next: Handler): Promise<void> {
    const state = await this.handler.save?.();
    if (state !== undefined) await next.restore?.(structuredClone(state));
    if (this.#format !== null) await next.format?.(this.#format);
  }

  /** Never rejects: errors are logged. */
  close(): Promise<void> {
    this.#closing ??= this.#closeVersion(this.#version).finally(() => bound.delete(this.binding));
    return this.#closing;
  }

  async #closeVersion({ handler, release }: Version): Promise<void> {
    try {
      const closed = (async () => handler.close?.())();
      await withTimeout(LIMITS.closeMs, "not settled", closed);
    } catch (error) {
      logFault("close", error, this);
    } finally {
      release();
    }
  }
}

interface OpenCall {
  readonly name: "process" | "format" | "end";
  readonly sinceMs: number;
}

const bound = new Map<number, BoundHandler>();
const adapted = new WeakMap<object, BoundHandler>();
let nextBinding = 1;

const AT_START = "it takes effect when the program is started again";

/** What a GStreamer type is made of, by the name of its element. */
const registered = new Map<string, Readonly<Record<string, string | number>>>();

/** Registers the element with GStreamer, once per name. Throws when another version of it was registered that differs. */
function register(element: Exclude<AnyElement, { kind: "composite" }>): void {
  const { name, about, kind, caps } = element;
  const type = {
    ...{ kind, caps, access: kind === "transform" ? (element.access ?? "read") : "read" },
    inFlight: kind === "transform" ? (element.inFlight ?? 1) : 1,
  } as const;
  const before = registered.get(name);
  for (const [key, value] of Object.entries(before ?? {})) {
    const now = type[key as keyof typeof type];
    if (now !== value) throw new Error(`${key} of the element changed from "${value}" to "${now}"; ${AT_START}`);
  }
  if (before !== undefined) return;
  registered.set(name, type);
  registerElement({
    ...{ name, about, ...type, properties: typeProperties(element) },
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
  const { inFlight, latencyMs } = entry.handler;
  const view = {
    process: (frame: NativeFrame) => entry.process(frame),
    ...(inFlight !== undefined && { inFlight }),
    ...(latencyMs !== undefined && { latencyMs }),
    format: (format: FrameFormat) => entry.format(format),
    flush: () => entry.handler.flush?.(),
    end: () => entry.end(),
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
  const { version, properties } = await createVersion(element, node, services);
  return new BoundHandler(version, properties, services);
}

async function createVersion(element: AnyElement, node: PlanNode, services: Services) {
  if (element.kind === "composite") throw new Error(`"${element.name}" is a composite and has no handler`);
  register(element);
  const properties = completeProperties(element, node.properties);
  const { variables } = node;
  const { own, release } = withSubscriptions(variables === undefined ? services : { ...services, variables });
  const creating = (async () => element.create(properties, own))();
  try {
    const handler = await withTimeout(LIMITS.createMs, `"${node.author}" was not ready`, creating);
    return { version: { element, handler, release }, properties };
  } catch (cause) {
    creating.then((late) => late.close?.()).catch(() => {}); // created after the timeout
    release();
    throw failureOf(node.author, cause);
  }
}

/** The services of one version. Subscriptions that it leaves behind would keep its code. */
function withSubscriptions(services: Services): { readonly own: Services; release(): void } {
  const subscriptions = new Set<() => void>();
  const keep = (end: () => void) => {
    subscriptions.add(end);
    return () => {
      subscriptions.delete(end);
      end();
    };
  };
  const own: Services = {
    ...services,
    listen: (channel, handle) => keep(services.listen(channel, handle)),
    answer: (channel, handle) => keep(services.answer(channel, handle)),
  };
  const release = () => {
    for (const end of subscriptions) end();
    subscriptions.clear();
  };
  return { own, release };
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
