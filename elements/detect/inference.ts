/**
 * Inference that survives failures of its worker. Requests are answered in order; a worker that throws, hangs, exits or
 * returns NaN is replaced. Pending requests are either repeated on the new worker (`keep`: the tensors are still in their
 * slots) or rejected at once with `InferenceLost` (`release`). Inference fails for good after three failures in a row,
 * when a new worker rejects the model, or when three threads are stuck in native code, each with all its memory.
 *
 * A worker that is late for lack of a processor is not replaced, which would cost even more processor time. With `release`
 * its pending requests are rejected, as are new ones until it has answered.
 *
 * Owner: the handler of `detect`. JS thread.
 */
import type { Candidates } from "../../models/decode/decoder.ts";
import { type InferenceThread, Refusal, type ThreadListener } from "./inference-thread.ts";
import { type OpenThread, openThread, type ThreadOrder, takeSpare } from "./spare-thread.ts";
import { Watchdog } from "./watchdog.ts";
import type { InferenceTime, Order } from "./worker/messages.ts";
import { viewTensor } from "./worker/model-input.ts";

/** Before each replacement, after failures in a row. The next failure is the last. */
const PAUSES_MS = [0, 400];
const MAX_LEFT_BEHIND = 3;

export type InferenceEvent =
  | { readonly state: "failed"; readonly reason: string; readonly failures: number; readonly retryInMs: number | null }
  | { readonly state: "recovered"; readonly failures: number }
  /** Number of threads stuck in native code. */
  | { readonly state: "left-behind"; readonly threads: number }
  /** A problem that does not prevent inference. */
  | { readonly state: "warned"; readonly reason: string };

export interface InferenceSettings extends ThreadOrder {
  readonly onFailure: "keep" | "release";
  /** Time limit of the next inference, called before each. `trialMs` is the duration of the trial at start. */
  limitMs(trialMs: number): number;
  /** Time in which its thread may be blocked; by default as long as the inference may take. */
  blockedMs?(trialMs: number): number;
  onEvent(event: InferenceEvent): void;
  /** A thread has ended, with its network. */
  onRetired?(): void;
  /** Called for each inference; `ptsNs` is its frame. */
  onInferred?(ptsNs: bigint | null, time: InferenceTime): void;
}

/** The worker failed: there is no result for this tensor. */
export class InferenceLost extends Error {
  override readonly name = "InferenceLost";
}

interface Pending extends Order {
  readonly ptsNs: bigint | null;
  resolve(candidates: Candidates): void;
  reject(error: Error): void;
}

export class Inference {
  readonly #settings: InferenceSettings;
  /** Of all its threads, one after the other. */
  #memory: readonly SharedArrayBuffer[] | undefined;
  readonly #watchdog: Watchdog;
  readonly #closing = new AbortController();
  /** In order of arrival; the first is in inference. */
  readonly #pending: Pending[] = [];
  readonly #retiring = new Set<Promise<unknown>>();
  #thread: InferenceThread | null = null;
  #restart: NodeJS.Timeout | undefined;
  #failures = 0;
  #leftBehind = 0;
  /** Set when inference has failed for good. */
  fatal: Error | null = null;
  #nextId = 0;
  /** Of the last inference. */
  inferenceMs = 0;
  #trialMs = 0;
  /** The last request that was rejected because the worker is late; null once the worker has answered it. */
  #lateId: number | null = null;

  private constructor(settings: InferenceSettings) {
    this.#settings = settings;
    this.#watchdog = new Watchdog({ late: (reason) => this.#onFailure(reason), starved: () => this.#onStarved() });
  }

  /** Rejects if the model cannot be loaded or does not match its card. */
  static async start(settings: InferenceSettings): Promise<Inference> {
    const inference = new Inference(settings);
    inference.#use((await takeSpare(settings)) ?? (await inference.#startThread()));
    inference.inferenceMs = inference.#trialMs;
    return inference;
  }

  /** The tensors. The caller that acquired a slot fills it, and must not touch it until the result. */
  get slots(): readonly (Uint8Array | Float32Array)[] {
    const { input } = this.#settings.model.card;
    return (this.#memory ?? []).map((memory) => viewTensor(input, memory));
  }

  /** False while the worker is late or being replaced. */
  get isReady(): boolean {
    return this.#thread !== null && this.#lateId === null;
  }

  /** `ptsNs` is the frame of the tensor. Rejects with `InferenceLost`, or with `fatal`. */
  infer(slot: number, minimum: number, overlap: number, ptsNs: bigint | null = null): Promise<Candidates> {
    if (this.#closing.signal.aborted) return Promise.reject(new Error("the detector is closed"));
    if (this.fatal !== null) return Promise.reject(this.fatal);
    if (!this.isReady && this.#settings.onFailure === "release")
      return Promise.reject(new InferenceLost("the inference worker is late or being replaced"));
    const order = { id: this.#nextId++, slot, minimum, overlap };
    return new Promise((resolve, reject) => {
      this.#pending.push({ ...order, ptsNs, resolve, reject });
      this.#thread?.post(order);
      if (this.#thread !== null && this.#pending.length === 1) this.#watch();
    });
  }

  /** Terminates the worker, or abandons it if it is stuck in native code. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#restart);
    this.#watchdog.disarm();
    this.#rejectPending(new Error("the detector was closed"));
    this.#retire();
    while (this.#retiring.size > 0) await Promise.all(this.#retiring);
  }

  readonly #listener: ThreadListener = {
    found: (id, candidates, time) => this.#found(id, candidates, time),
    failed: (reason) => this.#onFailure(reason),
    stuck: () => this.#leaveBehind(),
    returned: () => {
      this.#leftBehind -= 1;
      this.#settings.onRetired?.();
    },
  };

  #startThread(): Promise<OpenThread> {
    const before = this.#memory && { memory: this.#memory, trialMs: this.#trialMs };
    return openThread(this.#settings, this.#closing.signal, this.#listener, before);
  }

  #use({ thread, memory }: OpenThread): void {
    thread.follow(this.#listener);
    this.#thread = thread;
    this.#memory = memory;
    this.#trialMs = thread.inferenceMs;
    for (const reason of thread.warnings) this.#settings.onEvent({ state: "warned", reason });
  }

  #watch(): void {
    const thread = this.#thread;
    const blockedMs = this.#settings.blockedMs?.(this.#trialMs);
    this.#watchdog.arm({
      limitMs: this.#settings.limitMs(this.#trialMs),
      ...(blockedMs !== undefined && { blockedMs }),
      ...(thread && { activity: thread.activity }),
    });
  }

  #found(id: number, candidates: Candidates, time: InferenceTime): void {
    if (this.#lateId !== null) {
      this.#foundLate(id, this.#lateId);
      return;
    }
    const [first] = this.#pending;
    if (first?.id !== id) return;
    this.#pending.shift();
    this.inferenceMs = time.inferenceMs;
    this.#settings.onInferred?.(first.ptsNs, time);
    if (this.#pending.length > 0) this.#watch();
    else this.#watchdog.disarm();
    if (this.#failures > 0) this.#settings.onEvent({ state: "recovered", failures: this.#failures });
    this.#failures = 0;
    first.resolve(candidates);
  }

  /** Its request was rejected. */
  #foundLate(id: number, lateId: number): void {
    if (id < lateId) {
      this.#watch();
      return;
    }
    this.#lateId = null;
    this.#watchdog.disarm();
  }

  #onStarved(): void {
    if (this.#settings.onFailure !== "release") return;
    this.#lateId = this.#pending.at(-1)?.id ?? null;
    this.#rejectPending(new InferenceLost("the inference worker waits for a processor"));
  }

  #onFailure(reason: string): void {
    if (this.#closing.signal.aborted || this.fatal !== null) return;
    const failures = this.#failures + 1;
    const retryInMs = PAUSES_MS[failures - 1];
    if (retryInMs === undefined) {
      this.#fail(new Error(`inference failed ${failures} times in a row; last error: ${reason}`), reason);
      return;
    }
    this.#watchdog.disarm();
    this.#retire();
    this.#failures = failures;
    this.#lateId = null;
    this.#settings.onEvent({ state: "failed", reason, failures, retryInMs });
    if (this.#settings.onFailure === "release") this.#rejectPending(new InferenceLost(reason));
    this.#restart = setTimeout(() => void this.#replace(), retryInMs);
  }

  #fail(fatal: Error, reason: string): void {
    clearTimeout(this.#restart);
    this.#watchdog.disarm();
    this.#retire();
    this.#failures += 1;
    this.fatal = fatal;
    this.#settings.onEvent({ state: "failed", reason, failures: this.#failures, retryInMs: null });
    this.#rejectPending(fatal);
  }

  #leaveBehind(): void {
    this.#leftBehind += 1;
    const threads = this.#leftBehind;
    this.#settings.onEvent({ state: "left-behind", threads });
    if (threads < MAX_LEFT_BEHIND || this.#closing.signal.aborted || this.fatal !== null) return;
    const reason = `${threads} threads are stuck in native code and cannot be terminated`;
    this.#fail(new Error(`inference stopped: ${reason}`), reason);
  }

  async #replace(): Promise<void> {
    try {
      const starting = this.#startThread();
      this.#track(starting);
      this.#use(await starting);
    } catch (error) {
      const { message } = error as Error;
      if (!(error instanceof Refusal)) this.#onFailure(message);
      else if (!this.#closing.signal.aborted && this.fatal === null)
        this.#fail(new Error(`a new inference worker rejected the model: ${message}`, { cause: error }), message);
      return;
    }
    if (this.#closing.signal.aborted || this.fatal !== null) {
      this.#retire();
      return;
    }
    for (const { id, slot, minimum, overlap } of this.#pending) this.#thread?.post({ id, slot, minimum, overlap });
    if (this.#pending.length > 0) this.#watch();
  }

  #retire(): void {
    if (this.#thread !== null) this.#track(this.#end(this.#thread));
    this.#thread = null;
  }

  async #end(thread: InferenceThread): Promise<void> {
    if ((await thread.retire()) && !this.#closing.signal.aborted) this.#settings.onRetired?.();
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.catch(() => {}).finally(() => this.#retiring.delete(tracked));
    this.#retiring.add(tracked);
  }

  #rejectPending(error: Error): void {
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }
}
