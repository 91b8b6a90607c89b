/** Messages between the detector and its worker thread, and the gate that guards native calls. */
import type { Candidates } from "../../../models/decode/decoder.ts";
import type { Model } from "../../../models/open.ts";

export interface WorkerSettings {
  readonly model: Model;
  /** Threads of onnxruntime for one inference. */
  readonly threads: number;
  readonly providers: readonly string[];
  /** Tensors, filled by the detector and copied by the worker: onnxruntime does not accept shared memory. */
  readonly slots: readonly SharedArrayBuffer[];
  readonly gate: SharedArrayBuffer;
  /** Duration of an inference, if known: then the worker does not measure it. */
  readonly trialMs?: number;
}

/** Requests inference on a slot. */
export interface Order {
  readonly id: number;
  readonly slot: number;
  /** Minimum score. */
  readonly minimum: number;
  /** Boxes of one class that overlap more are one object. */
  readonly overlap: number;
}

export interface InferenceTime {
  /** Of `process.hrtime.bigint`, which is the same in all threads. */
  readonly startedNs: bigint;
  readonly inferenceMs: number;
}

export type Answer =
  | {
      readonly kind: "ready";
      readonly inferenceMs: number;
      readonly warnings: readonly string[];
      /** Folder of its thread in /proc; null if there is none. */
      readonly task: string | null;
    }
  /** Retrying is useless: the model does not match its card, or the provider is not available. */
  | { readonly kind: "refused"; readonly reason: string }
  | ({ readonly kind: "found"; readonly id: number; readonly candidates: Candidates } & InferenceTime)
  | { readonly kind: "failed"; readonly reason: string };

const SHUT = 0;
const INSIDE = 1;
const SLOTS = 2;

/**
 * Decides when a worker may be terminated. Terminating a thread inside onnxruntime aborts the whole process: the binding
 * cannot return into JavaScript that no longer runs. Therefore native calls go through a gate in shared memory: to
 * terminate the worker, shut the gate first and wait until it is empty. Used by both sides, from any thread.
 */
export class Gate {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory = new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  /** False if the gate is shut: do not make the native call. Otherwise `leave` must follow, also after an error. */
  enter(): boolean {
    // Store INSIDE, then load SHUT; the closing side does the reverse, so at least one of them sees the other.
    Atomics.store(this.#words, INSIDE, 1);
    if (Atomics.load(this.#words, SHUT) === 0) return true;
    this.leave();
    return false;
  }

  leave(): void {
    Atomics.store(this.#words, INSIDE, 0);
    Atomics.notify(this.#words, INSIDE);
  }

  /** `enter` returns false from now on. */
  shut(): void {
    Atomics.store(this.#words, SHUT, 1);
  }

  get isOccupied(): boolean {
    return Atomics.load(this.#words, INSIDE) === 1;
  }

  /** Blocks the calling thread. False if the gate is still occupied after that time. */
  waitUntilEmpty(limitMs: number): boolean {
    return Atomics.wait(this.#words, INSIDE, 1, limitMs) !== "timed-out";
  }
}
