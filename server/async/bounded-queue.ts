import type { BatchQueue } from "./batch-writer.ts";

export interface SizedItem {
  readonly owner: string;
  readonly bytes: number;
}

interface Bounds {
  readonly count: number;
  readonly bytes: number;
}

/** Bounded: drops the oldest items of the owner that has the most bytes queued, so that it costs no other owner any. */
export class BoundedQueue<T extends SizedItem> implements BatchQueue<T> {
  dropped = 0;
  readonly #limits: Bounds & { readonly batch: Bounds };
  #items: T[] = [];
  #bytes = 0;
  readonly #bytesByOwner = new Map<string, number>();

  constructor(limits: Bounds & { readonly batch: Bounds }) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#items.length;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  add(item: T): void {
    this.#items.push(item);
    this.#count(item, 1);
    this.#trim();
  }

  /** At least one, however large. */
  take(): readonly T[] {
    const { count, bytes } = this.#limits.batch;
    let [taken, takenBytes] = [0, 0];
    for (const item of this.#items) {
      if (taken > 0 && (taken >= count || takenBytes + item.bytes > bytes)) break;
      taken += 1;
      takenBytes += item.bytes;
    }
    const batch = this.#items.splice(0, taken);
    for (const item of batch) this.#count(item, -1);
    return batch;
  }

  putBack(batch: readonly T[]): void {
    this.#items = [...batch, ...this.#items];
    for (const item of batch) this.#count(item, 1);
    this.#trim();
  }

  #count({ owner, bytes }: T, sign: 1 | -1): void {
    this.#bytes += sign * bytes;
    const left = (this.#bytesByOwner.get(owner) ?? 0) + sign * bytes;
    if (left > 0) this.#bytesByOwner.set(owner, left);
    else this.#bytesByOwner.delete(owner);
  }

  /** Keeps at least one, however large. */
  #trim(): void {
    const { count, bytes } = this.#limits;
    while (this.#items.length > 1 && (this.#items.length > count || this.#bytes > bytes)) {
      const [heaviest] = [...this.#bytesByOwner].reduce((most, each) => (each[1] > most[1] ? each : most), ["", 0]);
      const at = this.#items.findIndex(({ owner }) => owner === heaviest);
      const [dropped] = this.#items.splice(Math.max(0, at), 1);
      if (dropped !== undefined) this.#count(dropped, -1);
      this.dropped += 1;
    }
  }
}
