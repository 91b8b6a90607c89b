/** The handlers of a graph's TypeScript elements: made before the pipeline, closed exactly once, whatever happens. */
import { isDeepStrictEqual } from "node:util";
import type { AnyElement, Frame, FrameMetadata, Handler, Services } from "../../elements/element.ts";
import type { NativeFrame } from "../../native/frame.ts";
import { registerElement } from "../../native/handlers.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { completeProperties } from "../compiler/element-properties.ts";
import type { PlanNode } from "../compiler/plan.ts";
import { Latency } from "./latency.ts";
import { LIMITS, within } from "./limits.ts";
import { nativeProperties } from "./property-kinds.ts";

/** One handler and everything that is promised about it: updates in turn, closed once, each within its limit. */
export class BoundHandler {
  /** Names the handler to the native element. */
  readonly binding: number;
  readonly services: Services;
  readonly handler: Handler;
  /** Of a sink: the stream time behind the last frame it was given. */
  reachedNs: bigint | null = null;
  /** Of a sink in a live graph: from when the picture was taken. */
  readonly latency = new Latency();
  readonly #element: AnyElement;
  #properties: JsonRecord;
  #updating: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

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

  /** A sink is given a frame. */
  meet({ ptsNs, durationNs, captureNs }: Pick<NativeFrame, "ptsNs" | "durationNs" | "captureNs">): void {
    if (ptsNs !== null) this.reachedNs = ptsNs + (durationNs ?? 1n);
    if (this.services.job.live) this.latency.add(Math.max(0, Date.now() - Number(captureNs / 1_000_000n)));
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

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      const closed = (async () => this.handler.close?.())();
      await within(LIMITS.closeMs, `"${this.services.node}" did not close`, closed);
    } finally {
      bound.delete(this.binding);
    }
  }
}

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
    fault(_, error, handler) {
      adapted.get(handler)?.services.log.warn(error instanceof Error ? error.message : String(error));
    },
  });
}

/** Only elements write metadata, and only JSON: the native side carries it without knowing. */
const asFrame = (frame: NativeFrame): Frame => frame as NativeFrame & { readonly meta: FrameMetadata };

/** The native side's view of a handler: property names in kebab-case become the definition's own. */
function adapt(entry: BoundHandler | undefined, node: string) {
  if (entry === undefined) throw new Error(`"${node}" was not made by a graph: it has no handler`);
  const { handler } = entry;
  const process = (frame: NativeFrame) => handler.process(asFrame(frame));
  const view = {
    process: entry.isSink
      ? (frame: NativeFrame) => {
          entry.meet(frame);
          return process(frame);
        }
      : process,
    ...(handler.inFlight !== undefined && { inFlight: handler.inFlight }),
    ...(handler.latencyMs !== undefined && { latencyMs: handler.latencyMs }),
    ...(handler.format && { format: handler.format.bind(handler) }),
    ...(handler.flush && { flush: handler.flush.bind(handler) }),
    ...(handler.end && { end: handler.end.bind(handler) }),
    update: (properties: Record<string, unknown>) => entry.update(properties as JsonRecord),
    close: () => entry.close(),
  };
  adapted.set(view, entry);
  return view;
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${node.author}: ${reason}`, { cause });
  }
  return new BoundHandler(handler, element, properties, services);
}
