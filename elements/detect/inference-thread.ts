/**
 * One inference worker, from its start to its end. Owner: `Inference`. It is ended only while it is outside onnxruntime
 * (see worker/gate.ts); one that does not come out is left behind, and its owner is told.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { SHARE_ENV, Worker } from "node:worker_threads";
import type { Candidates } from "../../models/decode/decoder.ts";
import { type Answer, Gate, type Order, type WorkerSettings } from "./worker/messages.ts";

const END_LIMIT_MS = 2_000;
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 1_000;

export interface ThreadListener {
  found(id: number, candidates: Candidates, inferenceMs: number): void;
  /** Told once; nothing but what becomes of the thread comes after it. */
  broke(reason: string): void;
  /** The thread is stuck in native code: it stays, with its memory. */
  leftBehind(): void;
  /** One that was left behind has come out after all, and is gone. */
  cameOut(): void;
}

export type ThreadSettings = Omit<WorkerSettings, "gate">;

/** It would fail again: the model does not fit its card, or what was asked for is not there. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

export class InferenceThread {
  readonly #worker: Worker;
  readonly #gate = new Gate();
  readonly #owner: ThreadListener;
  /** Null before it has started, and when nobody wants to hear of it any more. */
  #listener: ThreadListener | null = null;
  #started: (outcome: number | Error) => void = () => {};
  #inferenceMs = 0;
  #warnings: readonly string[] = [];

  private constructor(module: URL, settings: ThreadSettings, owner: ThreadListener) {
    this.#owner = owner;
    this.#worker = new Worker(module, {
      name: "inference",
      workerData: { ...settings, gate: this.#gate.memory } satisfies WorkerSettings,
      // The module teaches its thread TypeScript itself; what this process was started with must not do it again.
      execArgv: [],
      env: SHARE_ENV, // for `loadOnnxruntime`
    });
    guardExit(this.#gate, this.#worker);
    this.#worker.on("message", (answer: Answer) => this.#hear(answer));
    this.#worker.on("error", (error: Error) => this.#over(error));
    this.#worker.on("exit", (code) => this.#over(new Error(`its thread ended by itself (code ${code})`)));
  }

  /** Rejects with a `Refusal`, or with what broke, or because of the signal; the thread is gone or left behind then. */
  static async start(
    module: URL,
    settings: ThreadSettings,
    listener: ThreadListener,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<InferenceThread> {
    const thread = new InferenceThread(module, settings, listener);
    try {
      thread.#inferenceMs = await thread.#start(limitMs, signal);
      thread.#listener = listener;
      return thread;
    } catch (error) {
      await thread.retire();
      throw error;
    }
  }

  /** How long one inference takes on this machine, by a trial. */
  get inferenceMs(): number {
    return this.#inferenceMs;
  }

  /** What its owner should know although it works. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  post(order: Order): void {
    this.#worker.postMessage(order);
  }

  /**
   * Nothing is heard of it any more. True when the thread is gone; false after the time limit: one that is stuck in
   * native code is ended when, and if, it comes out.
   */
  async retire(): Promise<boolean> {
    this.#listener = null;
    this.#gate.shut();
    const limit = new AbortController();
    const late = sleep(END_LIMIT_MS, false, { signal: limit.signal }).catch(() => false);
    const ending = endOutside(this.#worker, this.#gate);
    const isGone = await Promise.race([ending, late]);
    limit.abort();
    if (isGone) return true;
    this.#worker.unref();
    this.#owner.leftBehind();
    void ending.then(() => this.#owner.cameOut());
    return false;
  }

  async #start(limitMs: number, signal: AbortSignal): Promise<number> {
    const abort = (): void => this.#started(new Error("it was closed while it started"));
    const watchdog = new Watchdog(() => this.#started(new Error(`it did not start within ${limitMs} ms`)));
    watchdog.arm(limitMs);
    signal.addEventListener("abort", abort);
    const outcome = await new Promise<number | Error>((resolve) => {
      this.#started = resolve;
      if (signal.aborted) abort();
    });
    watchdog.disarm();
    signal.removeEventListener("abort", abort);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  #hear(answer: Answer): void {
    if (answer.kind === "ready") {
      this.#warnings = answer.warnings;
      this.#started(answer.inferenceMs);
    } else if (answer.kind === "found") this.#listener?.found(answer.id, answer.candidates, answer.inferenceMs);
    else this.#over(answer.kind === "refused" ? new Refusal(answer.reason) : new Error(answer.reason));
  }

  #over(error: Error): void {
    this.#started(error);
    const listener = this.#listener;
    this.#listener = null;
    listener?.broke(error.message);
  }
}

async function endOutside(worker: Worker, gate: Gate): Promise<true> {
  let pollMs = FIRST_POLL_MS;
  while (gate.isOccupied) {
    await sleep(pollMs, undefined, { ref: false });
    pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS);
  }
  await worker.terminate();
  guarded.delete(gate);
  return true;
}

const guarded = new Set<Gate>();
let isGuarding = false;

/** However this process comes to exit, the threads are outside onnxruntime when Node ends them. */
function guardExit(gate: Gate, worker: Worker): void {
  if (!isGuarding) process.on("exit", emptyGates);
  isGuarding = true;
  guarded.add(gate);
  worker.once("exit", () => guarded.delete(gate));
}

function emptyGates(): void {
  const untilMs = performance.now() + END_LIMIT_MS;
  for (const gate of guarded) gate.shut();
  for (const gate of guarded) gate.waitUntilEmpty(Math.max(0, untilMs - performance.now()));
}

/**
 * Tells when something has taken too long. It counts ticks instead of reading a clock: a machine that was asleep, or a
 * process that was stopped for a while, has missed ticks and accuses nobody.
 */
const TICKS = 8;

export class Watchdog {
  readonly #late: (limitMs: number) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(late: (limitMs: number) => void) {
    this.#late = late;
  }

  /** Begins anew. */
  arm(limitMs: number): void {
    this.disarm();
    this.#wait(limitMs, TICKS);
  }

  disarm(): void {
    clearTimeout(this.#timer);
  }

  #wait(limitMs: number, ticks: number): void {
    this.#timer = setTimeout(() => {
      if (ticks > 1) this.#wait(limitMs, ticks - 1);
      else this.#late(limitMs);
    }, limitMs / TICKS);
  }
}
