/** Data in memory by key, up to a size; the least recently used are removed. */
export class ByteCache {
  readonly #kept = new Map<string, Uint8Array>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  find(key: string): Uint8Array | null {
    const data = this.#kept.get(key);
    if (data === undefined) return null;
    this.#kept.delete(key);
    this.#kept.set(key, data);
    return data;
  }

  add(key: string, data: Uint8Array): void {
    this.#bytes += costOf(data) - (this.#kept.has(key) ? costOf(this.#kept.get(key)) : 0);
    this.#kept.delete(key);
    this.#kept.set(key, data);
    for (const [oldest, old] of this.#kept) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#kept.delete(oldest);
      this.#bytes -= costOf(old);
    }
  }
}

/** Of an entry without data. */
const ENTRY_BYTES = 200;
const costOf = (data: Uint8Array | undefined): number => ENTRY_BYTES + (data?.length ?? 0);
