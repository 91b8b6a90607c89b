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
