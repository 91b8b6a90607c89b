/** Small pipelines for tests, with real GStreamer and elements defined by the test. */
import type { NativeElement } from "./addon.ts";
import type { NativeFrame } from "./frame.ts";
import { type FrameHandler, registerElement, type Start } from "./handlers.ts";
import { type BusMessage, type NativeSegment, type NativeValue, Pipeline } from "./pipeline.ts";

/** Limits tests that hang; far longer than any of them takes. */
export const NO_HANG = { timeout: 60_000 };

export type Properties = Readonly<Record<string, NativeValue>>;
/** Node name → factory and properties; linked in this order. */
export type Steps = Readonly<Record<string, readonly [factory: string, properties?: Properties, caps?: string]>>;

export function chain(steps: Steps): NativeSegment {
  const names = Object.keys(steps);
  return {
    nodes: Object.entries(steps).map(([name, [factory, properties]]) => ({
      name,
      factory,
      properties: properties ?? {},
    })),
    links: names.slice(1).map((to, index) => {
      const from = names[index] as string;
      const caps = steps[from]?.[2];
      return caps === undefined ? { from, to } : { from, to, caps };
    }),
  };
}

export const I420 = "video/x-raw,format=I420,width=64,height=48,framerate=30/1";

/** `count` frames of a test pattern, not paced. */
export const pictures = (count: number, caps = I420, properties: Properties = {}): Steps => ({
  source: ["videotestsrc", { "num-buffers": count, ...properties }],
  format: ["capsfilter", { caps }],
});

export interface TestElement extends Partial<NativeElement> {
  /** Receives exceptions of `update`, `flush`, `close` and of orders that are not awaited. */
  readonly faults?: unknown[];
}

let made = 0;

/** Registers a new element and returns the name of its factory. */
export function element(
  create: (start: Start) => FrameHandler | Promise<FrameHandler>,
  options: TestElement = {},
): string {
  made += 1;
  const shape = { kind: "transform", access: "read", inFlight: 1, ...options } as const;
  // GTypes belong to the process: in all threads a name must have the same shape.
  const name = `test-${made}-${shape.kind}-${shape.access}-${shape.inFlight}`;
  registerElement({
    about: "An element of a test.",
    caps: "ANY",
    properties: [],
    ...shape,
    name,
    create,
    fault: (_, error) => options.faults?.push(error),
  });
  return name;
}

export const transform = (process: (frame: NativeFrame) => unknown, options: TestElement = {}): string =>
  element(() => ({ process }), options);

export const sink = (process: (frame: NativeFrame) => unknown, options: TestElement = {}): string =>
  element(() => ({ process }), { kind: "sink", ...options });

export const newPipeline = (name = "test"): Pipeline => new Pipeline({ name, epochNs: 0n });

export async function build(steps: Steps): Promise<Pipeline> {
  const pipeline = newPipeline();
  try {
    await pipeline.build(chain(steps));
  } catch (error) {
    await pipeline.close();
    throw error;
  }
  return pipeline;
}

type Ending = Extract<BusMessage, { type: "eos" | "error" | "warning" }>;

/** The first message that ends a stream. */
export async function ending(pipeline: Pipeline): Promise<Ending> {
  for await (const message of pipeline.messages()) {
    if (message.type === "eos" || message.type === "error") return message;
  }
  throw new Error("the pipeline was closed before the end of the stream");
}

/** Plays to the end and closes. Rejects with the bus error. */
export async function play(steps: Steps, during: (pipeline: Pipeline) => unknown = () => {}): Promise<void> {
  const pipeline = await build(steps);
  try {
    await during(pipeline);
    await pipeline.setState("PLAYING");
    const end = await ending(pipeline);
    if (end.type === "error") throw new Error(end.message, { cause: end });
  } finally {
    await pipeline.close();
  }
}

/** A promise with its resolver. */
export interface Gate<T> {
  readonly opened: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Counts calls; `reached` resolves at a count. */
export function counter(): { count: number; add(): void; reached(count: number): Promise<void> } {
  const waiting: { count: number; open: () => void }[] = [];
  return {
    count: 0,
    add() {
      this.count += 1;
      for (const waiter of waiting) if (this.count >= waiter.count) waiter.open();
    },
    reached(count) {
      const { opened, open } = gate();
      waiting.push({ count, open });
      if (this.count >= count) open();
      return opened;
    },
  };
}

export const never = new Promise<never>(() => {});
