/** TypeScript elements: registers them with GStreamer and runs their handlers when streaming threads call. */
import { inspect } from "node:util";
import { addon, CALL, type NativeElement, OUTCOME } from "./addon.ts";
import { type Format, NativeFrame, type Size } from "./frame.ts";

export interface FrameHandler {
  /** Frames processed at once, at most the element's `inFlight`. Read once, at the start. */
  readonly inFlight?: number;
  /** Latency that the element adds to a live pipeline. Read once, at the start. */
  readonly latencyMs?: number;
  process(frame: NativeFrame): unknown;
  format?(format: Format): unknown;
  update?(properties: Record<string, unknown>): unknown;
  flush?(): void;
  end?(): unknown;
  close?(): unknown;
}

export interface Start {
  readonly node: string;
  /** `NativeNode.binding`; 0 when the element was not created by `Pipeline.build`. */
  readonly binding: number;
  /** kebab-case. */
  readonly properties: Record<string, unknown>;
}

/** `order`: an operation on a frame, such as `draw`. */
export type FaultyCall = "update" | "flush" | "close" | "order";

export interface ElementSpec extends NativeElement {
  create(start: Start): FrameHandler | Promise<FrameHandler>;
  /** Called when a call or an order that is not awaited fails. The stream continues; log the error. */
  fault(call: FaultyCall, error: unknown, handler: FrameHandler): void;
}

/** JSON written by `describe_input` in ts_element.cc. */
interface Input {
  readonly format: Format;
  readonly inputWidth: number;
  readonly inputHeight: number;
}

interface Instance {
  readonly node: string;
  readonly spec: ElementSpec;
  readonly handler: FrameHandler;
  format: Format;
  inputSize: Size;
}

const NO_FORMAT: Format = { caps: "", mediaType: "", pixels: null, width: 0, height: 0, fps: 0 };
const specs = new Map<string, ElementSpec>();
const instances = new Map<number, Instance>();
/** Handlers that are being created, by core, with the properties that were set meanwhile. */
const starting = new Map<number, { update: string | null }>();
/** Frames whose handler has not settled, by call. */
const working = new Map<number, NativeFrame>();
const closings = new Set<Promise<void>>();

/** A second registration of a name replaces its code, not its GStreamer type. */
export function registerElement(spec: ElementSpec): void {
  addon.registerElement(spec);
  specs.set(spec.name, spec);
}

/** Resolves when every `close` under way has finished. */
export async function handlersClosed(): Promise<void> {
  await Promise.all(closings);
}

export function aliveCounts(): { metadata: number; calls: number; instances: number } {
  return { ...addon.alive(), instances: instances.size };
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === "object" && value !== null && "then" in value;

function settleError(call: number, thrown: unknown): void {
  const stack = thrown instanceof Error ? (thrown.stack ?? "") : "";
  addon.settle(call, OUTCOME.error, undefined, describeThrown(thrown), stack);
}

const MOST_CHARS = 500;

/** Never empty, whatever was thrown. */
export function describeThrown(thrown: unknown): string {
  if (thrown instanceof Error) return String(thrown.message) || thrown.name;
  if (typeof thrown === "string" && thrown !== "") return thrown;
  const text = inspect(thrown, { depth: 1, breakLength: Number.POSITIVE_INFINITY }).slice(0, MOST_CHARS);
  return `${text} was thrown, which is not an Error`;
}

/** Calls `finish` or `fail`, immediately if `work` is synchronous. Returns whether it is asynchronous. */
function run(work: () => unknown, finish: (result: unknown) => void, fail: (error: unknown) => void): boolean {
  try {
    const result = work();
    if (isPromise(result)) {
      result.then(finish, fail);
      return true;
    }
    finish(result);
  } catch (error) {
    fail(error);
  }
  return false;
}

function answer(call: number, work: () => unknown): void {
  run(
    work,
    () => addon.settle(call, OUTCOME.pass),
    (error) => settleError(call, error),
  );
}

function processFrame(call: number, frame: NativeFrame, handler: FrameHandler): void {
  const finish = (result: unknown) => {
    working.delete(call);
    addon.settle(call, result === "drop" ? OUTCOME.drop : OUTCOME.pass, frame.settle());
  };
  const fail = (error: unknown) => {
    working.delete(call);
    frame.discard();
    settleError(call, error);
  };
  if (run(() => handler.process(frame), finish, fail)) working.set(call, frame);
}

async function start(core: number, call: number, payload: string): Promise<void> {
  const { element, ...start } = JSON.parse(payload) as Start & { element: string };
  const spec = specs.get(element);
  if (spec === undefined) throw new Error(`element "${element}" is not registered in this thread`);
  const meanwhile: { update: string | null } = { update: null };
  starting.set(core, meanwhile);
  try {
    const handler = await spec.create(start);
    const instance = { node: start.node, spec, handler, format: NO_FORMAT, inputSize: NO_FORMAT };
    while (meanwhile.update !== null) {
      const due = meanwhile.update;
      meanwhile.update = null;
      await update(instance, due);
    }
    const { inFlight = 0, latencyMs = 0 } = handler;
    if (inFlight > 0 || latencyMs > 0) addon.tune(call, inFlight, BigInt(Math.round(latencyMs * 1e6)));
    // Cancelled while `create` ran: there will be no stop call, so the handler is closed here.
    if (addon.settle(call, OUTCOME.pass)) instances.set(core, instance);
    else close(instance);
  } finally {
    if (starting.get(core) === meanwhile) starting.delete(core);
  }
}

function close(instance: Instance): void {
  const closing = runReportingFaults(instance, "close", () => instance.handler.close?.()).finally(() =>
    closings.delete(closing),
  );
  closings.add(closing);
}

const update = (instance: Instance, properties: string): Promise<void> =>
  runReportingFaults(instance, "update", () => instance.handler.update?.(JSON.parse(properties)));

async function runReportingFaults(instance: Instance, call: FaultyCall, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    instance.spec.fault(call, error, instance.handler);
  }
}

addon.setDispatch((kind, core, call, a, ptsNs, durationNs, captureNs, discontinuity, meta) => {
  const instance = instances.get(core);
  switch (kind) {
    case CALL.frame: {
      if (instance === undefined) {
        addon.settle(call, OUTCOME.discarded);
        return;
      }
      const frame = new NativeFrame(
        call,
        a as number,
        ptsNs,
        durationNs,
        captureNs,
        discontinuity,
        meta,
        instance.format,
        instance.inputSize,
        (error) => instance.spec.fault("order", error, instance.handler),
      );
      processFrame(call, frame, instance.handler);
      return;
    }
    case CALL.start:
      start(core, call, a as string).catch((error) => settleError(call, error));
      return;
    case CALL.stop:
      instances.delete(core);
      if (instance !== undefined) close(instance);
      return;
    case CALL.format:
      answer(call, () => {
        if (instance === undefined) return;
        const { format, inputWidth, inputHeight } = JSON.parse(a as string) as Input;
        // Zero when the input size is not known: the frame's own size counts.
        const known = inputWidth > 0 && inputHeight > 0;
        instance.inputSize = Object.freeze(
          known ? { width: inputWidth, height: inputHeight } : { width: format.width, height: format.height },
        );
        if (format.caps === instance.format.caps) return;
        instance.format = Object.freeze(format);
        return instance.handler.format?.(instance.format);
      });
      return;
    case CALL.end:
      answer(call, () => instance?.handler.end?.());
      return;
    case CALL.properties: {
      const meanwhile = starting.get(core);
      if (instance !== undefined) void update(instance, a as string);
      else if (meanwhile !== undefined) meanwhile.update = a as string;
      return;
    }
    case CALL.flush:
      if (instance !== undefined) void runReportingFaults(instance, "flush", () => instance.handler.flush?.());
      return;
    case CALL.cancel:
      working.get(call)?.discard();
      working.delete(call);
      return;
  }
});
