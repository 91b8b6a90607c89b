/**
 * Inference that survives its worker. Orders are answered in turn; when the worker throws, hangs, ends or gives nonsense
 * it is replaced, after a pause. What waits then is either ordered again from the new one (`keep`: the tensors are
 * still in their slots), or given back at once as `InferenceLost` (`release`). Three failures in a row are the end, and
 * so are a new worker that refuses the model and three threads left behind in native code, each with all its memory.
 *
 * Owner: the handler of `detect`. JS thread.
 */
import type { Candidates } from "../../models/decode/decoder.ts";
import type { Model } from "../../models/open.ts";
import { InferenceThread, Refusal, type ThreadListener, Watchdog } from "./inference-thread.ts";
import type { Order } from "./worker/messages.ts";
import { sizeOf, viewTensor } from "./worker/model-input.ts";

const MAX_FAILURES = 3;
const MAX_LEFT_BEHIND = 3;
const FIRST_PAUSE_MS = 100;
const PAUSE_GROWTH = 4;
const WORKER = new URL("worker/worker.mjs", import.meta.url);

export type InferenceEvent =
  | { readonly state: "failed"; readonly reason: string; readonly failures: number; readonly retryInMs: number | null }
  | { readonly state: "recovered"; readonly failures: number }
  /** So many threads are stuck in native code by now. */
  | { readonly state: "left-behind"; readonly threads: number }
  /** It works, but not as it should. */
  | { readonly state: "warned"; readonly reason: string };

export interface InferenceSettings {
  readonly model: Model;
  readonly threads: number;
  readonly providers: readonly string[];
  /** Tensors that may be filled and waiting at once. */
  readonly slots: number;
  readonly onFailure: "keep" | "release";
  /** How long the next inference may take, asked before each. `trialMs` is how long one took when it was tried. */
  limitMs(trialMs: number): number;
  tell(event: InferenceEvent): void;
  /** Begins the worker; another one in tests. */
  readonly worker?: URL;
  /** For a worker to start. */
  readonly startLimitMs: number;
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
  #leftBehind = 0;
  #fatal: Error | null = null;
  #nextId = 0;
  #inferenceMs = 0;
  #trialMs = 0;

  private constructor(settings: InferenceSettings) {
    const bytes = sizeOf(settings.model.card.input);
    this.#settings = settings;
    this.#memory = Array.from({ length: settings.slots }, () => new SharedArrayBuffer(bytes));
    this.#watchdog = new Watchdog((limitMs) => this.#broke(`no answer within ${Math.round(limitMs)} ms`));
  }

  /** Rejects when the model cannot be loaded or does not fit its card. */
  static async start(settings: InferenceSettings): Promise<Inference> {
    const inference = new Inference(settings);
    inference.#use(await inference.#startThread());
    inference.#inferenceMs = inference.#trialMs;
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
      if (this.#thread !== null && this.#pending.length === 1) this.#watch();
    });
  }

  /** The worker is gone, or left behind and told of if it is stuck in native code. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#restart);
    this.#watchdog.disarm();
    this.#giveBack(new Error("the detector was closed"));
    this.#retire();
    while (this.#retiring.size > 0) await Promise.all(this.#retiring);
  }

  #startThread(): Promise<InferenceThread> {
    const { model, threads, providers, worker = WORKER, startLimitMs } = this.#settings;
    const listener: ThreadListener = {
      found: (id, candidates, inferenceMs) => this.#found(id, candidates, inferenceMs),
      broke: (reason) => this.#broke(reason),
      leftBehind: () => this.#leaveBehind(),
      cameOut: () => {
        this.#leftBehind -= 1;
      },
    };
    const settings = { model, threads, providers, slots: this.#memory };
    return InferenceThread.start(worker, settings, listener, startLimitMs, this.#closing.signal);
  }

  #use(thread: InferenceThread): void {
    this.#thread = thread;
    this.#trialMs = thread.inferenceMs;
    for (const reason of thread.warnings) this.#settings.tell({ state: "warned", reason });
  }

  #watch(): void {
    this.#watchdog.arm(this.#settings.limitMs(this.#trialMs));
  }

  #found(id: number, candidates: Candidates, inferenceMs: number): void {
    const [first] = this.#pending;
    if (first?.id !== id) return;
    this.#pending.shift();
    this.#inferenceMs = inferenceMs;
    if (this.#pending.length > 0) this.#watch();
    else this.#watchdog.disarm();
    if (this.#failures > 0) this.#settings.tell({ state: "recovered", failures: this.#failures });
    this.#failures = 0;
    first.resolve(candidates);
  }

  #broke(reason: string): void {
    if (this.#closing.signal.aborted || this.#fatal !== null) return;
    const failures = this.#failures + 1;
    if (failures >= MAX_FAILURES) {
      this.#fail(new Error(`inference failed ${failures} times in a row, at last because: ${reason}`), reason);
      return;
    }
    this.#watchdog.disarm();
    this.#retire();
    this.#failures = failures;
    const retryInMs = FIRST_PAUSE_MS * PAUSE_GROWTH ** (failures - 1);
    this.#settings.tell({ state: "failed", reason, failures, retryInMs });
    if (this.#settings.onFailure === "release") this.#giveBack(new InferenceLost(reason));
    this.#restart = setTimeout(() => void this.#replace(), retryInMs);
  }

  /** For good. */
  #fail(fatal: Error, reason: string): void {
    clearTimeout(this.#restart);
    this.#watchdog.disarm();
    this.#retire();
    this.#failures += 1;
    this.#fatal = fatal;
    this.#settings.tell({ state: "failed", reason, failures: this.#failures, retryInMs: null });
    this.#giveBack(fatal);
  }

  #leaveBehind(): void {
    this.#leftBehind += 1;
    const threads = this.#leftBehind;
    this.#settings.tell({ state: "left-behind", threads });
    if (threads < MAX_LEFT_BEHIND || this.#closing.signal.aborted || this.#fatal !== null) return;
    const reason = `${threads} of its threads are stuck in native code and could not be ended`;
    this.#fail(new Error(`inference is given up: ${reason}`), reason);
  }

  async #replace(): Promise<void> {
    try {
      const starting = this.#startThread();
      this.#track(starting);
      this.#use(await starting);
    } catch (error) {
      const { message } = error as Error;
      if (!(error instanceof Refusal)) this.#broke(message);
      else if (!this.#closing.signal.aborted && this.#fatal === null)
        this.#fail(new Error(`a new inference worker refuses the model: ${message}`, { cause: error }), message);
      return;
    }
    if (this.#closing.signal.aborted || this.#fatal !== null) {
      this.#retire();
      return;
    }
    for (const { id, slot, minimum, overlap } of this.#pending) this.#thread?.post({ id, slot, minimum, overlap });
    if (this.#pending.length > 0) this.#watch();
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
