/** What the detector and its worker say to each other. */
import type { Candidates } from "../../../models/decode/decoder.ts";
import type { Model } from "../../../models/open.ts";

export interface WorkerSettings {
  readonly model: Model;
  /** Of onnxruntime, within one inference. */
  readonly threads: number;
  readonly providers: readonly string[];
  /** Tensors that are filled by the detector and copied by the worker, which cannot run on shared memory. */
  readonly slots: readonly SharedArrayBuffer[];
  readonly gate: SharedArrayBuffer;
}

/** Look at what is in that slot. */
export interface Order {
  readonly id: number;
  readonly slot: number;
  /** Scores below it are not wanted. */
  readonly minimum: number;
  /** Boxes of one class that overlap more are one object. */
  readonly overlap: number;
}

export type Answer =
  | { readonly kind: "ready"; readonly inferenceMs: number; readonly warnings: readonly string[] }
  /** It will never work: the model does not fit, or the provider is not there. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "found"; readonly id: number; readonly candidates: Candidates; readonly inferenceMs: number }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * When a worker may be ended. A thread that is ended while it is inside onnxruntime takes the whole process with it: its
 * binding cannot return into JavaScript that no longer runs. So native calls go through a gate in shared memory: who
 * wants to end the worker shuts it first, and waits until nobody is inside. Both sides, any thread.
 */
const SHUT = 0;
const INSIDE = 1;
const SLOTS = 2;

export class Gate {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory = new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  /** False when the gate is shut: the native call must not be made. Otherwise `leave` follows, whatever happens. */
  enter(): boolean {
    // Inside first, then the look at the gate; `shut` does it the other way round, so one of the two sees the other.
    Atomics.store(this.#words, INSIDE, 1);
    if (Atomics.load(this.#words, SHUT) === 0) return true;
    this.leave();
    return false;
  }

  leave(): void {
    Atomics.store(this.#words, INSIDE, 0);
    Atomics.notify(this.#words, INSIDE);
  }

  /** From now on nobody enters. */
  shut(): void {
    Atomics.store(this.#words, SHUT, 1);
  }

  get isOccupied(): boolean {
    return Atomics.load(this.#words, INSIDE) === 1;
  }

  /** Blocks the calling thread. False when somebody is still inside after that time. */
  waitUntilEmpty(limitMs: number): boolean {
    return Atomics.wait(this.#words, INSIDE, 1, limitMs) !== "timed-out";
  }
}
