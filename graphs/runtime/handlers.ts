/** The handlers of a graph's TypeScript elements: made before the pipeline, closed exactly once, whatever happens. */
import { isDeepStrictEqual } from "node:util";
import type { AnyElement, Frame, FrameFormat, FrameMetadata, Handler, Services } from "../../elements/element.ts";
import { framesOf } from "../../elements/source-lines.ts";
import type { NativeFrame } from "../../native/frame.ts";
import { describeThrown, type FaultyCall, registerElement } from "../../native/handlers.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { completeProperties } from "../compiler/properties.ts";
import type { PlanNode } from "../compiler/plan.ts";
import { GraphFailure } from "./events.ts";
import { Latency } from "./latency.ts";
import { LIMITS, within } from "./limits.ts";
import { nativeProperties } from "./property-kinds.ts";

/** One handler and everything that is promised about it: updates in turn, closed once, each within its limit. */
export class BoundHandler {
  /** Names the handler to the native element. */
  readonly binding: number;
  readonly services: Services;
  readonly handler: Handler;
  /** Of a sink: the stream time behind the last frame that it has dealt with. */
  reachedNs: bigint | null = null;
  /** Of a sink in a live graph: from when the picture was taken. */
  readonly latency = new Latency();
  readonly #element: AnyElement;
  #properties: JsonRecord;
  #updating: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Calls that have not settled, the oldest first. */
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

  /** The call that frames have been waiting for longest; null while they wait for none. */
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
      // Not sooner: what it throws on is where to resume.
      () => {
        if (ptsNs !== null) this.reachedNs = ptsNs + (durationNs ?? 1n);
      },
    );
  }

  /** Runs a call that frames wait for. */
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

  /** Rejects when the handler refuses; it then keeps what it had. What it has already is not told again. */
  update(properties: JsonRecord): Promise<void> {
    const turn = this.#updating.then(async () => {
      const next = completeProperties(this.#element, properties);
      if (isDeepStrictEqual(next, this.#properties)) return;
      const updated = (async () => this.handler.update?.(next as never))();
      await within(LIMITS.updateMs, "the change was not taken", updated);
      this.#properties = next;
    });
    this.#updating = turn.catch(() => {});
    return turn;
  }

  /** Never rejects: what it throws is logged. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      const closed = (async () => this.handler.close?.())();
      await within(LIMITS.closeMs, "it did not settle", closed);
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

/** Makes GStreamer know the element; once per name. */
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

/** What `close` did not do may be missing from what the graph was run for: that is an error, the rest is not. */
function logFault(call: FaultyCall, error: unknown, entry: BoundHandler | undefined): void {
  if (entry === undefined) return;
  const at = framesOf(error instanceof Error ? (error.stack ?? "") : "")[0];
  const message = `${call === "order" ? "" : `${call}() failed: `}${describeThrown(error)}`;
  entry.services.log[call === "close" ? "error" : "warn"](at === undefined ? message : `${message} ${at}`);
}

/** Only elements write metadata, and only JSON: the native side carries it without knowing. */
const asFrame = (frame: NativeFrame): Frame => frame as NativeFrame & { readonly meta: FrameMetadata };

/** The native side's view of a handler: property names in kebab-case become the definition's own. */
function adapt(entry: BoundHandler | undefined, node: string) {
  if (entry === undefined) throw new Error(`"${node}" was not made by a graph: it has no handler`);
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

/** Nobody throws these on purpose. */
const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError];

/** Of what an element threw outside of a frame. */
export function failureOf(node: string | null, thrown: unknown): GraphFailure {
  const isRefusal = thrown instanceof Error && !MISTAKES.some((mistake) => thrown instanceof mistake);
  return new GraphFailure(node, describeThrown(thrown), thrown instanceof Error ? thrown.stack : "", isRefusal);
}

export async function createHandler(element: AnyElement, node: PlanNode, services: Services): Promise<BoundHandler> {
  if (element.kind === "composite") throw new Error(`"${element.name}" is a composite and has no handler`);
  register(element);
  const properties = completeProperties(element, node.properties);
  const making = (async () => element.create(properties, services))();
  let handler: Handler;
  try {
    handler = await within(LIMITS.createMs, `"${node.author}" was not ready`, making);
  } catch (cause) {
    making.then((late) => late.close?.()).catch(() => {}); // came too late: nobody wants it any more
    throw failureOf(node.author, cause);
  }
  return new BoundHandler(handler, element, properties, services);
}
