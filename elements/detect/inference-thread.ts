/**
 * One inference worker thread, from start to end. Owner: `Inference`. The thread is terminated only while it is outside
 * onnxruntime (see `Gate`); a thread that does not return from native code is abandoned, and its owner is notified.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { SHARE_ENV, Worker } from "node:worker_threads";
import type { Candidates } from "../../models/decode/decoder.ts";
import { readActivity, Watchdog } from "./watchdog.ts";
import { type Answer, Gate, type InferenceTime, type Order, type WorkerSettings } from "./worker/messages.ts";

const END_LIMIT_MS = 2_000;
/** Results are small, tensors are not in the heap. */
const YOUNG_HEAP_MB = 4;
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 1_000;

export interface ThreadListener {
  found(id: number, candidates: Candidates, time: InferenceTime): void;
  /** Called once; afterwards only `stuck` and `returned` may follow. */
  failed(reason: string): void;
  /** The thread is stuck in native code and abandoned with its memory. */
  stuck(): void;
  /** An abandoned thread has returned from native code and was terminated. */
  returned(): void;
}

type ThreadSettings = Omit<WorkerSettings, "gate">;

/** Retrying is useless: the model does not match its card, or the provider is not available. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

export class InferenceThread {
  readonly #worker: Worker;
  readonly #gate = new Gate();
  /** Null while the thread is not in use. */
  #owner: ThreadListener | null;
  /** Null before `follow`, after it has failed and after it is retired. */
  #listener: ThreadListener | null = null;
  #started: (outcome: number | Error) => void = () => {};
  /** Duration of one inference on this machine, by a trial. */
  inferenceMs = 0;
  /** Problems that do not prevent inference. */
  warnings: readonly string[] = [];
  /** It has failed, and will not answer again. */
  isOver = false;
  /** Its folder in /proc; null if there is none. */
  #task: string | null = null;

  private constructor(module: URL, settings: ThreadSettings, owner: ThreadListener | null) {
    this.#owner = owner;
    this.#worker = new Worker(module, {
      name: "inference",
      workerData: { ...settings, gate: this.#gate.memory } satisfies WorkerSettings,
      // The module sets up TypeScript itself; the options of this process must not do it again.
      execArgv: [],
      env: SHARE_ENV, // for `loadOnnxruntime`
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    guardExit(this.#gate, this.#worker);
    this.#worker.on("message", (answer: Answer) => this.#onMessage(answer));
    this.#worker.on("error", (error: Error) => this.#over(error));
    this.#worker.on("exit", (code) => this.#over(new Error(`the worker thread exited with code ${code}`)));
  }

  /**
   * Rejects with a `Refusal`, another failure, or because of the signal; the thread is then terminated or abandoned, of
   * which the owner is notified. `follow` must be called before the first order.
   */
  static async start(
    module: URL,
    settings: ThreadSettings,
    limitMs: number,
    signal: AbortSignal,
    owner: ThreadListener | null,
  ): Promise<InferenceThread> {
    const thread = new InferenceThread(module, settings, owner);
    try {
      thread.inferenceMs = await thread.#start(limitMs, signal);
      return thread;
    } catch (error) {
      await thread.retire();
      throw error;
    }
  }

  /** The owner from now on. */
  follow(listener: ThreadListener): void {
    this.#owner = listener;
    this.#listener = listener;
  }

  /** What the kernel says about it; null if that is unknown. */
  readonly activity = () => (this.#task === null ? null : readActivity(this.#task));

  post(order: Order): void {
    this.#worker.postMessage(order);
  }

  /**
   * Stops notifying the listener. True when the thread is terminated; false after the time limit: a thread stuck in
   * native code is terminated when, and if, it returns.
   */
  async retire(): Promise<boolean> {
    this.#listener = null;
    this.#gate.shut();
    const limit = new AbortController();
    const late = sleep(END_LIMIT_MS, false, { signal: limit.signal }).catch(() => false);
    const ending = endOutside(this.#worker, this.#gate);
    const isTerminated = await Promise.race([ending, late]);
    limit.abort();
    if (isTerminated) return true;
    this.#worker.unref();
    this.#owner?.stuck();
    void ending.then(() => this.#owner?.returned());
    return false;
  }

  async #start(limitMs: number, signal: AbortSignal): Promise<number> {
    const abort = (): void => this.#started(new Error("closed while starting"));
    const late = (): void => this.#started(new Error(`the worker did not start within ${limitMs} ms`));
    const watchdog = new Watchdog({ late });
    watchdog.arm({ limitMs });
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

  #onMessage(answer: Answer): void {
    if (answer.kind === "ready") {
      this.warnings = answer.warnings;
      this.#task = answer.task;
      this.#started(answer.inferenceMs);
    } else if (answer.kind === "found") this.#listener?.found(answer.id, answer.candidates, answer);
    else this.#over(answer.kind === "refused" ? new Refusal(answer.reason) : new Error(answer.reason));
  }

  #over(error: Error): void {
    this.isOver = true;
    this.#started(error);
    const listener = this.#listener;
    this.#listener = null;
    listener?.failed(error.message);
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

/** Ensures that the threads are outside onnxruntime when this process exits and Node terminates them. */
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
