/**
 * A worker thread for work that takes processor time. Requests of different keys alternate. A request that takes too long is
 * rejected and its thread terminated; the next request gets a new thread once the old one has ended.
 *
 * Without `ipc/`: one request at a time, whose time limit ends the thread, needs neither request ids nor a queue of replies.
 */
import { Worker } from "node:worker_threads";
import { FairQueue } from "./fair-queue.ts";

interface ThreadOptions {
  /** A module that posts "ready", and then one answer for each message. */
  readonly entry: URL;
  /** For messages: "the compiler". */
  readonly name: string;
  readonly workerData: unknown;
}

export interface ThreadLimits {
  /** For one request. */
  readonly answerMs: number;
  /** For a new thread to load. */
  readonly loadMs: number;
  /** Maximum queue, in total and per key. */
  readonly queued: number;
  readonly queuedPerKey: number;
  /** Heap limit. */
  readonly bytes: number;
  /** The thread is terminated after this time without requests; null: never. */
  readonly idleMs: number | null;
}

export class ThreadTimeout extends Error {
  override readonly name = "ThreadTimeout";
}

/** The queue is full. */
export class ThreadQueueFull extends Error {
  override readonly name = "ThreadQueueFull";
}

/** Its client has disconnected. */
export class ThreadAbandoned extends Error {
  override readonly name = "ThreadAbandoned";

  constructor() {
    super("the client has disconnected");
  }
}

interface ThreadClient {
  readonly key: string;
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal | undefined;
}

interface Pending<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** Time limit for a request whose client has disconnected: most are done by then, and the thread need not be loaded again. */
const ABANDONED_MS = 250;

export class FairThread<Request, Answer> {
  readonly #options: ThreadOptions;
  readonly #limits: ThreadLimits;
  readonly #waiting = new FairQueue<Pending<Request, Answer>>();
  /** Being answered. */
  #current: Pending<Request, Answer> | null = null;
  #worker: Worker | null = null;
  /** The previous thread, which has to end first: two would use two cores. */
  #ending: Promise<unknown> | null = null;
  #isReady = false;
  #isPosted = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ThreadOptions, limits: ThreadLimits) {
    this.#options = options;
    this.#limits = limits;
  }

  /** Rejects with `ThreadTimeout`, `ThreadQueueFull` or `ThreadAbandoned`, or with the error of the thread. */
  ask(request: Request, { key, signal }: ThreadClient): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(new Error(`${this.#options.name} is closed`));
    const { queued, queuedPerKey } = this.#limits;
    const own = this.#waiting.countOf(key);
    if (own >= queuedPerKey) return Promise.reject(new ThreadQueueFull(`${own} requests of this key are queued`));
    if (this.#waiting.size >= queued)
      return Promise.reject(new ThreadQueueFull(`${this.#waiting.size} requests are queued`));
    if (signal?.aborted) return Promise.reject(new ThreadAbandoned());
    return new Promise((resolve, reject) => {
      const settle = (): void => signal?.removeEventListener("abort", abandon);
      const pending: Pending<Request, Answer> = {
        request,
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const abandon = (): void => {
        if (this.#waiting.remove(key, pending)) pending.reject(new ThreadAbandoned());
        else if (this.#current === pending && this.#isPosted) this.#arm(ABANDONED_MS, () => new ThreadAbandoned());
      };
      signal?.addEventListener("abort", abandon, { once: true });
      this.#waiting.add(key, pending);
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (
      let pending = this.#takeCurrent() ?? this.#waiting.take();
      pending !== undefined;
      pending = this.#waiting.take()
    )
      pending.reject(new Error(`${this.#options.name} is closed`));
    const worker = this.#worker;
    this.#worker = null;
    await Promise.all([worker?.terminate(), this.#ending]);
  }

  #next(): void {
    if (this.#isPosted || this.#isClosed || this.#ending !== null) return;
    if (this.#worker !== null && !this.#isReady) return;
    if (this.#waiting.size === 0) {
      this.#scheduleEnd();
      return;
    }
    if (this.#worker === null) this.#startWorker();
    if (!this.#isReady) return;
    this.#current = this.#waiting.take() ?? null;
    this.#isPosted = true;
    this.#worker?.postMessage(this.#current?.request);
    const { answerMs } = this.#limits;
    this.#arm(answerMs, () => new ThreadTimeout(`no answer within ${answerMs / 1000} s`));
  }

  #scheduleEnd(): void {
    const { idleMs } = this.#limits;
    if (idleMs === null || this.#worker === null) return;
    this.#timer = setTimeout(() => {
      const worker = this.#worker;
      this.#worker = null;
      void worker?.terminate();
    }, idleMs).unref();
  }

  #startWorker(): void {
    const { entry, name, workerData } = this.#options;
    const worker = new Worker(entry, {
      ...{ name, workerData },
      // The module registers TypeScript itself; the arguments of this process must not do it again.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.bytes / 2 ** 20, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker = worker;
    this.#isReady = false;
    const isMine = (): boolean => this.#worker === worker;
    worker.on("message", (answer: Answer | "ready") => isMine() && this.#handle(answer));
    worker.on("error", (error) => isMine() && this.#fail(error));
    worker.on("exit", (code) => isMine() && this.#fail(new Error(`the thread of ${name} ended (code ${code})`)));
    worker.unref();
    this.#arm(this.#limits.loadMs, () => new Error(`the thread of ${name} was not loaded in time`));
  }

  #arm(limitMs: number, makeError: () => Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(makeError()), limitMs);
  }

  #handle(answer: Answer | "ready"): void {
    clearTimeout(this.#timer);
    this.#isPosted = false;
    if (answer === "ready") this.#isReady = true;
    else this.#takeCurrent()?.resolve(answer);
    this.#next();
  }

  #takeCurrent(): Pending<Request, Answer> | null {
    const current = this.#current;
    this.#current = null;
    return current;
  }

  /** Rejects the current request, or the first in the queue while the thread was loading. The others get a new thread. */
  #fail(error: Error): void {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = null;
    this.#isReady = false;
    this.#isPosted = false;
    this.#ending = (worker?.terminate() ?? Promise.resolve(0))
      .catch(() => 0)
      .then(() => {
        this.#ending = null;
        this.#next();
      });
    (this.#takeCurrent() ?? this.#waiting.take())?.reject(error);
  }
}
