/**
 * The thread that compiles. Keys take turns; a request that takes too long is rejected and costs the thread its life, and
 * the next one goes to a new thread once the old one has ended. Owner: `GraphLibrary`.
 */
import { Worker } from "node:worker_threads";
import type { CompileAnswer, CompileRequest, CompilerKnowledge } from "../../graphs/compiler/worker/messages.ts";
import { FairQueue } from "../async/fair-queue.ts";

const ENTRY = new URL("../../graphs/compiler/worker/worker.mjs", import.meta.url);

export interface CompileLimits {
  /** To compile one graph. */
  readonly compileMs: number;
  /** For a new thread to be loaded. */
  readonly loadMs: number;
  /** Requests that may wait, in all and of one key. */
  readonly queued: number;
  readonly queuedPerKey: number;
  /** For its heap. */
  readonly bytes: number;
  /** Ended when nothing was asked for so long; null: kept. */
  readonly idleMs: number | null;
}

/** It took longer than the limit. */
export class CompileTimeout extends Error {
  override readonly name = "CompileTimeout";
}

/** More wait than may. */
export class CompileQueueFull extends Error {
  override readonly name = "CompileQueueFull";
}

/** Its client has hung up. */
export class CompileAbandoned extends Error {
  override readonly name = "CompileAbandoned";

  constructor() {
    super("nobody waits for it any more");
  }
}

/** For whom it is compiled. */
export interface CompileClient {
  readonly key: string;
  /** Aborted: nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
}

interface Pending {
  readonly request: CompileRequest;
  resolve(answer: CompileAnswer): void;
  reject(error: Error): void;
}

/** For what is being compiled when its client hangs up: most are done by then, and the thread need not be loaded again. */
const ABANDONED_MS = 250;

export class CompileThread {
  readonly #knowledge: CompilerKnowledge;
  readonly #limits: CompileLimits;
  readonly #waiting = new FairQueue<Pending>();
  /** Being compiled, or about to be once the thread is loaded. */
  #current: Pending | null = null;
  #worker: Worker | null = null;
  /** The thread before, which has to end first: two would take twice the processor time. */
  #ending: Promise<unknown> | null = null;
  #isReady = false;
  #isPosted = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(knowledge: CompilerKnowledge, limits: CompileLimits) {
    this.#knowledge = knowledge;
    this.#limits = limits;
  }

  /** Rejects with `CompileTimeout` or `CompileQueueFull`, or with what broke the thread. */
  ask(request: CompileRequest, { key, signal }: CompileClient): Promise<CompileAnswer> {
    if (this.#isClosed) return Promise.reject(new Error("the compiler is closed"));
    const { queued, queuedPerKey } = this.#limits;
    const own = this.#waiting.countOf(key);
    if (own >= queuedPerKey)
      return Promise.reject(new CompileQueueFull(`${own} graphs of this key wait to be compiled`));
    if (this.#waiting.size >= queued)
      return Promise.reject(new CompileQueueFull(`${this.#waiting.size} graphs wait to be compiled`));
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
      this.#rest();
      return;
    }
    if (this.#worker === null) this.#begin();
    if (!this.#isReady) return;
    this.#current = this.#waiting.take() ?? null;
    this.#isPosted = true;
    this.#worker?.postMessage(this.#current?.request);
    const { compileMs } = this.#limits;
    this.#arm(compileMs, () => new CompileTimeout(`it was not compiled within ${compileMs / 1000} s`));
  }

  #rest(): void {
    const { idleMs } = this.#limits;
    if (idleMs === null || this.#worker === null) return;
    this.#timer = setTimeout(() => {
      const worker = this.#worker;
      this.#worker = null;
      void worker?.terminate();
    }, idleMs).unref();
  }

  #begin(): void {
    const worker = new Worker(ENTRY, {
      name: "compiler",
      workerData: this.#knowledge,
      // The module teaches its thread TypeScript itself; what this process was started with must not do it again.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.bytes / 2 ** 20, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker = worker;
    this.#isReady = false;
    const isMine = (): boolean => this.#worker === worker;
    worker.on("message", (answer: CompileAnswer | "ready") => isMine() && this.#hear(answer));
    worker.on("error", (error) => isMine() && this.#lose(error));
    worker.on("exit", (code) => isMine() && this.#lose(new Error(`the thread that compiles ended (code ${code})`)));
    worker.unref();
    this.#arm(this.#limits.loadMs, () => new Error("the thread that compiles was not loaded in time"));
  }

  #arm(limitMs: number, makeError: () => Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lose(makeError()), limitMs);
  }

  #hear(answer: CompileAnswer | "ready"): void {
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

  /** What was being compiled is blamed, or what waits first while the thread was loaded: the others get a new thread. */
  #lose(error: Error): void {
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
