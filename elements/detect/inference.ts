/**
 * Inference that survives its worker. Orders are answered in turn; when the worker throws, hangs, ends or gives nonsense
 * it is replaced, after a pause. What waits then is either ordered again from the new one (`keep`: the tensors are
 * still in their slots), or given back at once as `InferenceLost` (`release`). Three failures in a row are the end.
 *
 * Owner: the handler of `detect`. JS thread.
 */
import type { Candidates } from "../../models/decode/decoder.ts";
import type { Model } from "../../models/open.ts";
import { InferenceThread } from "./inference-thread.ts";
import { Watchdog } from "./watchdog.ts";
import type { Order } from "./worker/messages.ts";
import { sizeOf, viewTensor } from "./worker/tensor-view.ts";

const MOST_FAILURES = 3;
/** Loading a model and trying it twice, on a machine that is busy. */
const START_LIMIT_MS = 20_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_GROWTH = 4;
const WORKER = new URL("worker/worker.mjs", import.meta.url);

export type InferenceEvent =
  | { readonly state: "failed"; readonly reason: string; readonly failures: number; readonly retryInMs: number | null }
  | { readonly state: "recovered"; readonly failures: number };

export interface InferenceSettings {
  readonly model: Model;
  readonly threads: number;
  readonly providers: readonly string[];
  /** Tensors that may be filled and waiting at once. */
  readonly slots: number;
  readonly onFailure: "keep" | "release";
  /** How long the next inference may take, asked before each. */
  limitMs(): number;
  tell(event: InferenceEvent): void;
  /** Begins the worker; another one in tests. */
  readonly worker?: URL;
  /** For a worker to start. */
  readonly startLimitMs?: number;
}

/** The worker broke and the order was given back: nothing is known of that tensor. */
export class InferenceLost extends Error {
  override readonly name = "InferenceLost";
}

interface Pending extends Order {
  resolve(candidates: Candidates): void;
  reject(error: Error): void;
}

export class Inference {
  readonly #settings: InferenceSettings;
  readonly #memory: readonly SharedArrayBuffer[];
  readonly #watchdog: Watchdog;
  readonly #closing = new AbortController();
  /** In the order they were given; the first is the one that is looked at. */
  readonly #pending: Pending[] = [];
  readonly #retiring = new Set<Promise<unknown>>();
  #thread: InferenceThread | null = null;
  #restart: NodeJS.Timeout | undefined;
  #failures = 0;
  #fatal: Error | null = null;
  #nextId = 0;
  #inferenceMs = 0;

  private constructor(settings: InferenceSettings) {
    const bytes = sizeOf(settings.model.card.input);
    this.#settings = settings;
    this.#memory = Array.from({ length: settings.slots }, () => new SharedArrayBuffer(bytes));
    this.#watchdog = new Watchdog((limitMs) => this.#broke(`no answer within ${Math.round(limitMs)} ms`));
  }

  /** Rejects when the model cannot be loaded or does not fit its card. */
  static async start(settings: InferenceSettings): Promise<Inference> {
    const inference = new Inference(settings);
    inference.#thread = await inference.#startThread();
    inference.#inferenceMs = inference.#thread.inferenceMs;
    return inference;
  }

  /** The tensors: filled by whoever has the slot, untouched until the answer. */
  get slots(): readonly (Uint8Array | Float32Array)[] {
    const { input } = this.#settings.model.card;
    return this.#memory.map((memory) => viewTensor(input, memory));
  }

  /** False while the worker is being replaced. */
  get isReady(): boolean {
    return this.#thread !== null;
  }

  /** Why there will be no more inference. */
  get fatal(): Error | null {
    return this.#fatal;
  }

  /** Of the last one. */
  get inferenceMs(): number {
    return this.#inferenceMs;
  }

  /** Rejects with `InferenceLost`, or with the reason for which all is over. */
  infer(slot: number, minimum: number, overlap: number): Promise<Candidates> {
    if (this.#closing.signal.aborted) return Promise.reject(new Error("the detector is closed"));
    if (this.#fatal !== null) return Promise.reject(this.#fatal);
    if (this.#thread === null && this.#settings.onFailure === "release")
      return Promise.reject(new InferenceLost("the inference worker is being replaced"));
    const order = { id: this.#nextId++, slot, minimum, overlap };
    return new Promise((resolve, reject) => {
      this.#pending.push({ ...order, resolve, reject });
      this.#thread?.post(order);
      if (this.#thread !== null && this.#pending.length === 1) this.#watchdog.arm(this.#settings.limitMs());
    });
  }

  /** The worker is gone, or left behind if it is stuck in native code. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#restart);
    this.#watchdog.disarm();
    this.#giveBack(new Error("the detector was closed"));
    this.#retire();
    while (this.#retiring.size > 0) await Promise.all(this.#retiring);
  }

  #startThread(): Promise<InferenceThread> {
    const { model, threads, providers, worker = WORKER, startLimitMs = START_LIMIT_MS } = this.#settings;
    const listener = {
      found: (id: number, candidates: Candidates, inferenceMs: number) => this.#found(id, candidates, inferenceMs),
      broke: (reason: string) => this.#broke(reason),
    };
    const settings = { model, threads, providers, slots: this.#memory };
    return InferenceThread.start(worker, settings, listener, startLimitMs, this.#closing.signal);
  }

  #found(id: number, candidates: Candidates, inferenceMs: number): void {
    const [first] = this.#pending;
    if (first?.id !== id) return;
    this.#pending.shift();
    this.#inferenceMs = inferenceMs;
    if (this.#pending.length > 0) this.#watchdog.arm(this.#settings.limitMs());
    else this.#watchdog.disarm();
    if (this.#failures > 0) this.#settings.tell({ state: "recovered", failures: this.#failures });
    this.#failures = 0;
    first.resolve(candidates);
  }

  #broke(reason: string): void {
    if (this.#closing.signal.aborted) return;
    this.#watchdog.disarm();
    this.#retire();
    this.#failures += 1;
    const failures = this.#failures;
    const isOver = failures >= MOST_FAILURES;
    const retryInMs = isOver ? null : FIRST_PAUSE_MS * PAUSE_GROWTH ** (failures - 1);
    this.#settings.tell({ state: "failed", reason, failures, retryInMs });
    if (retryInMs === null) {
      this.#fatal = new Error(`inference failed ${failures} times in a row, at last because: ${reason}`);
      this.#giveBack(this.#fatal);
      return;
    }
    if (this.#settings.onFailure === "release") this.#giveBack(new InferenceLost(reason));
    this.#restart = setTimeout(() => void this.#replace(), retryInMs);
  }

  async #replace(): Promise<void> {
    try {
      const thread = this.#startThread();
      this.#track(thread);
      this.#thread = await thread;
    } catch (error) {
      this.#broke((error as Error).message);
      return;
    }
    if (this.#closing.signal.aborted) {
      this.#retire();
      return;
    }
    for (const { id, slot, minimum, overlap } of this.#pending) this.#thread.post({ id, slot, minimum, overlap });
    if (this.#pending.length > 0) this.#watchdog.arm(this.#settings.limitMs());
  }

  #retire(): void {
    if (this.#thread !== null) this.#track(this.#thread.retire());
    this.#thread = null;
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.catch(() => {}).finally(() => this.#retiring.delete(tracked));
    this.#retiring.add(tracked);
  }

  #giveBack(error: Error): void {
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }
}
