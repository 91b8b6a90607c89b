/**
 * The thread that compiles. Requests are answered in turn; one that takes too long is refused and costs the thread its
 * life, and the next one goes to a new thread. Owner: `GraphLibrary`.
 */
import { Worker } from "node:worker_threads";
import type { CompileAnswer, CompileRequest, CompilerKnowledge } from "../../graphs/compiler/worker/messages.ts";

const ENTRY = new URL("../../graphs/compiler/worker/worker.mjs", import.meta.url);

export interface CompileLimits {
  /** To compile one graph. */
  readonly compileMs: number;
  /** For a new thread to be loaded. */
  readonly loadMs: number;
  /** Requests that may wait. */
  readonly queued: number;
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

interface Pending {
  readonly request: CompileRequest;
  resolve(answer: CompileAnswer): void;
  reject(error: Error): void;
}

export class CompileThread {
  readonly #knowledge: CompilerKnowledge;
  readonly #limits: CompileLimits;
  /** The first is the one being compiled. */
  readonly #queue: Pending[] = [];
  #worker: Worker | null = null;
  #isReady = false;
  #isPosted = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(knowledge: CompilerKnowledge, limits: CompileLimits) {
    this.#knowledge = knowledge;
    this.#limits = limits;
  }

  /** Rejects with `CompileTimeout` or `CompileQueueFull`, or with what broke the thread. */
  ask(request: CompileRequest): Promise<CompileAnswer> {
    if (this.#isClosed) return Promise.reject(new Error("the compiler is closed"));
    if (this.#queue.length > this.#limits.queued)
      return Promise.reject(new CompileQueueFull(`${this.#queue.length} graphs wait to be compiled`));
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { reject } of this.#queue.splice(0)) reject(new Error("the compiler is closed"));
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #next(): void {
    const first = this.#queue[0];
    if (this.#isPosted || this.#isClosed) return;
    if (first === undefined) {
      this.#rest();
      return;
    }
    if (this.#worker === null) this.#begin();
    if (this.#worker === null || !this.#isReady) return;
    this.#isPosted = true;
    this.#worker.postMessage(first.request);
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
    else this.#queue.shift()?.resolve(answer);
    this.#next();
  }

  /** The first in the queue is blamed: the others get a new thread. */
  #lose(error: Error): void {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = null;
    this.#isPosted = false;
    void worker?.terminate();
    this.#queue.shift()?.reject(error);
    this.#next();
  }
}
