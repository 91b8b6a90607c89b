/** What is remembered of the objects of the last seconds, by id. Bounded by how many are seen in that time. */
import { Trail } from "./trail.ts";

export interface Remembered {
  readonly trail: Trail;
  /** It was looked for and not found: the box is a guess. */
  lost: boolean;
  /** Where its label stood, so that it stays there. */
  place: number;
  seenMs: number;
}

const SHORTEST_MS = 1000;

export class Memory {
  readonly #objects = new Map<number, Remembered>();

  recall(id: number, nowMs: number): Remembered {
    let object = this.#objects.get(id);
    if (object === undefined) {
      object = { trail: new Trail(), lost: false, place: 0, seenMs: nowMs };
      this.#objects.set(id, object);
    }
    object.seenMs = nowMs;
    return object;
  }

  /** Ids that will not come again, and those not seen for so long that their trail is over. */
  forget(ended: readonly number[], nowMs: number, trailMs: number): void {
    for (const id of ended) this.#objects.delete(id);
    const oldestMs = nowMs - Math.max(trailMs, SHORTEST_MS);
    for (const [id, { seenMs }] of this.#objects) {
      if (seenMs < oldestMs || seenMs > nowMs) this.#objects.delete(id);
    }
  }

  /** The stream jumped: nothing led from there to here. */
  clear(): void {
    this.#objects.clear();
  }

  get size(): number {
    return this.#objects.size;
  }
}
