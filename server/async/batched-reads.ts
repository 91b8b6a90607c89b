/** Reads values by key. Reads that arrive while a query is running share the next query. */
export class BatchedReads<Key, Value> {
  readonly #query: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>;
  #running: Promise<unknown> = Promise.resolve();
  #next: { readonly keys: Set<Key>; readonly values: Promise<ReadonlyMap<Key, Value>> } | null = null;

  constructor(query: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>) {
    this.#query = query;
  }

  /** From a query that starts after this call: one that is running may have missed a change that the caller knows of. */
  async get(key: Key): Promise<Value | undefined> {
    this.#next ??= this.#schedule();
    const { keys, values } = this.#next;
    keys.add(key);
    return (await values).get(key);
  }

  #schedule() {
    const keys = new Set<Key>();
    const values = this.#running.then(() => {
      this.#next = null;
      return this.#query([...keys]);
    });
    this.#running = values.catch(() => {});
    return { keys, values };
  }
}
