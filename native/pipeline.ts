/** A GStreamer pipeline with promises and an async iterator. Its creator owns it; `close` stops and frees everything in it. */
import { addon, type BusMessage, type State } from "./addon.ts";
import { handlersClosed } from "./handlers.ts";

export {
  type BusMessage,
  type Latency,
  type MeterReading,
  type NativeLink,
  type NativeNode,
  type NativeSegment,
  type NativeValue,
  type RelayStatus,
  SPAN,
  type State,
  type TappedBuffer,
} from "./addon.ts";

const MESSAGE_LIMIT = 1000;
/** Added to the limit of a state change before its thread counts as stuck. */
const GRACE_MS = 250;

export interface PipelineOptions {
  readonly name: string;
  /** Unix time of PTS 0. Null for live pipelines: they know it when the first frame arrives. */
  readonly epochNs: bigint | null;
}

export class Pipeline extends addon.Pipeline {
  readonly #messages: MessageQueue<BusMessage>;
  #closing: Promise<void> | null = null;

  constructor({ name, epochNs }: PipelineOptions) {
    // The callback must not capture `this`: the native side holds it, and would keep an unused pipeline alive.
    const messages = new MessageQueue<BusMessage>(MESSAGE_LIMIT, ({ type }) => type === "error" || type === "eos");
    super(name, epochNs, (message) => messages.put(message));
    this.#messages = messages;
  }

  /** The bus, for one reader. Ends when the pipeline is closed. */
  messages(): AsyncGenerator<BusMessage, void, undefined> {
    return this.#messages.read();
  }

  /**
   * Rejects with the bus error that prevented the change, or after `limitMs`; 0 does not wait. Resolves with whether the
   * pipeline is live, which is known from PAUSED on: live sources produce no data before PLAYING. With `stopIfLive` a live
   * pipeline stays PAUSED.
   */
  override setState(state: State, limitMs = 10_000, stopIfLive = false): Promise<boolean> {
    const changed = super.setState(state, limitMs, stopIfLive);
    if (limitMs === 0) return changed;
    return withTimeout(limitMs + GRACE_MS, `did not reach ${state} within ${limitMs} ms`, changed);
  }

  /** To NULL from any state. Idempotent; rejects when an element does not stop in time. */
  override close(limitMs = 10_000): Promise<void> {
    if (this.#closing === null) {
      this.#messages.close();
      const closed = super.close().then(handlersClosed);
      this.#closing = withTimeout(limitMs, `the pipeline did not stop within ${limitMs} ms`, closed);
    }
    return this.#closing;
  }
}

async function withTimeout<T>(limitMs: number, message: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A bounded queue between a callback, which cannot wait, and one reader. */
export class MessageQueue<T> {
  readonly #limit: number;
  readonly #isVital: (item: T) => boolean;
  readonly #waiting: T[] = [];
  #wake: (() => void) | null = null;
  #closed = false;

  /**
   * Beyond `limit` the oldest item that is not vital is dropped. A queue full of vital items takes no more: the first one
   * is the cause of the others.
   */
  constructor(limit: number, isVital: (item: T) => boolean = () => false) {
    this.#limit = limit;
    this.#isVital = isVital;
  }

  put(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length > this.#limit) {
      // -1, when all are vital, removes the last.
      const dropped = this.#waiting.findIndex((waiting) => !this.#isVital(waiting));
      this.#waiting.splice(dropped, 1);
    }
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Ends after `close`, once all items put before have been read. */
  async *read(): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#closed) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
