/**
 * The worker thread of the compiler. Requests of different keys alternate. A request that takes too long is rejected and its
 * thread terminated; the next request gets a new thread once the old one has ended. Owner: `GraphLibrary`.
 *
 * Without `ipc/`: one request at a time, whose time limit ends the thread, needs neither request ids nor a queue of replies.
 */
import { Worker } from "node:worker_threads";
import type { CompileAnswer, CompileRequest, CompilerKnowledge } from "../../graphs/compiler/worker/messages.ts";
import { FairQueue } from "../async/fair-queue.ts";

const ENTRY = new URL("../../graphs/compiler/worker/worker.mjs", import.meta.url);

interface CompileLimits {
  /** For one graph. */
  readonly compileMs: number;
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

export class CompileTimeout extends Error {
  override readonly name = "CompileTimeout";
}

/** The queue is full. */
export class CompileQueueFull extends Error {
  override readonly name = "CompileQueueFull";
}

/** Its client has disconnected. */
export class CompileAbandoned extends Error {
  override readonly name = "CompileAbandoned";

  constructor() {
    super("the client has disconnected");
  }
}

interface CompileClient {
  readonly key: string;
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal | undefined;
}

interface Pending {
  readonly request: CompileRequest;
  resolve(answer: CompileAnswer): void;
  reject(error: Error): void;
}

/** Time limit for a graph whose client has disconnected: most are done by then, and the thread need not be loaded again. */
const ABANDONED_MS = 250;

export class CompileThread {
  readonly #knowledge: CompilerKnowledge;
  readonly #limits: CompileLimits;
  readonly #waiting = new FairQueue<Pending>();
  /** Being compiled. */
  #current: Pending | null = null;
  #worker: Worker | null = null;
  /** The previous thread, which has to end first: two would use two cores. */
  #ending: Promise<unknown> | null = null;
  #isReady = false;
  #isPosted = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(knowledge: CompilerKnowledge, limits: CompileLimits) {
    this.#knowledge = knowledge;
    this.#limits = limits;
  }

  /** Rejects with `CompileTimeout`, `CompileQueueFull` or `CompileAbandoned`, or with the error of the thread. */
  ask(request: CompileRequest, { key, signal }: CompileClient): Promise<CompileAnswer> {
    if (this.#isClosed) return Promise.reject(new Error("the compiler is closed"));
    const { queued, queuedPerKey } = this.#limits;
    const own = this.#waiting.countOf(key);
    if (own >= queuedPerKey) return Promise.reject(new CompileQueueFull(`${own} graphs of this key are queued`));
    if (this.#waiting.size >= queued)
      return Promise.reject(new CompileQueueFull(`${this.#waiting.size} graphs are queued`));
    if (signal?.aborted) return Promise.reject(new CompileAbandoned());
    return new Promise((resolve, reject) => {
      const settle = (): void => signal?.removeEventListener("abort", abandon);
      const pending: Pending = {
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
        if (this.#waiting.remove(key, pending)) pending.reject(new CompileAbandoned());
        else if (this.#current === pending && this.#isPosted) this.#arm(ABANDONED_MS, () => new CompileAbandoned());
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
      pending.reject(new Error("the compiler is closed"));
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
    const { compileMs } = this.#limits;
    this.#arm(compileMs, () => new CompileTimeout(`not compiled within ${compileMs / 1000} s`));
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
    const worker = new Worker(ENTRY, {
      name: "compiler",
      workerData: this.#knowledge,
      // The module registers TypeScript itself; the arguments of this process must not do it again.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.bytes / 2 ** 20, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker = worker;
    this.#isReady = false;
    const isMine = (): boolean => this.#worker === worker;
    worker.on("message", (answer: CompileAnswer | "ready") => isMine() && this.#handle(answer));
    worker.on("error", (error) => isMine() && this.#fail(error));
    worker.on("exit", (code) => isMine() && this.#fail(new Error(`the compiler thread ended (code ${code})`)));
    worker.unref();
    this.#arm(this.#limits.loadMs, () => new Error("the compiler thread was not loaded in time"));
  }

  #arm(limitMs: number, makeError: () => Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(makeError()), limitMs);
  }

  #handle(answer: CompileAnswer | "ready"): void {
    clearTimeout(this.#timer);
    this.#isPosted = false;
    if (answer === "ready") this.#isReady = true;
    else this.#takeCurrent()?.resolve(answer);
    this.#next();
  }

  #takeCurrent(): Pending | null {
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
