/** The time in which a start must be answered, and whether anybody still waits for the answer. */
import { unlessAborted } from "../async/timing.ts";

/** The reason of the signal when the time is over. */
export class StartLate extends Error {
  override readonly name = "StartLate";
}

export class StartLimit {
  readonly limitMs: number;
  readonly #startedMs: number;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #client: AbortSignal | undefined;
  readonly #onGone = (): void => this.#abort.abort(this.#client?.reason);

  /** @param client aborted when whoever asked has gone */
  constructor(startedMs: number, limitMs: number, client: AbortSignal | undefined) {
    this.#startedMs = startedMs;
    this.limitMs = limitMs;
    this.#client = client;
    this.#timer = setTimeout(() => this.#abort.abort(new StartLate("it took too long")), Math.max(0, this.leftMs));
    client?.addEventListener("abort", this.#onGone);
    if (client?.aborted) this.#onGone();
  }

  /** Until the answer must be known; some of the time is for its way. */
  get leftMs(): number {
    return this.#startedMs + this.limitMs - answerMs(this.limitMs) - performance.now();
  }

  /** Until the answer must be out. */
  get answerMs(): number {
    return Math.max(0, this.leftMs + answerMs(this.limitMs) / 2);
  }

  /** Aborted when the time is over or nobody waits. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isLate(): boolean {
    return this.#abort.signal.reason instanceof StartLate;
  }

  /** Rejects with the signal's reason when that is aborted before the work is done. */
  async race<T>(work: Promise<T>): Promise<T> {
    const done = await unlessAborted(work, this.signal);
    this.signal.throwIfAborted();
    return done;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#client?.removeEventListener("abort", this.#onGone);
  }
}

/** Of the time in which a start must be answered, so much is for the answer. */
const answerMs = (limitMs: number): number => Math.min(250, limitMs / 10);
