/** A queue in which keys take turns: next is the key whose last turn was longest ago. Of one key in order. */
export class FairQueue<T> {
  readonly #items = new Map<string, T[]>();
  /** Of keys that had a turn: in which order, the oldest first. */
  readonly #turns = new Map<string, number>();
  #lastTurn = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  countOf(key: string): number {
    return this.#items.get(key)?.length ?? 0;
  }

  add(key: string, item: T): void {
    const items = this.#items.get(key);
    if (items === undefined) this.#items.set(key, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** Undefined when nothing waits, or no key that may have a turn. */
  take(mayHave: (key: string) => boolean = () => true): T | undefined {
    const turnOf = (key: string): number => this.#turns.get(key) ?? 0;
    const [first, ...others] = [...this.#items.keys()].filter(mayHave);
    if (first === undefined) return undefined;
    const key = others.reduce((best, other) => (turnOf(other) < turnOf(best) ? other : best), first);
    const item = this.#items.get(key)?.shift();
    if (this.countOf(key) === 0) this.#items.delete(key);
    this.#size -= 1;
    this.#note(key);
    return item;
  }

  /** False when it does not wait. */
  remove(key: string, item: T): boolean {
    const items = this.#items.get(key) ?? [];
    const at = items.indexOf(item);
    if (at < 0) return false;
    items.splice(at, 1);
    if (items.length === 0) this.#items.delete(key);
    this.#size -= 1;
    return true;
  }

  #note(key: string): void {
    this.#lastTurn += 1;
    this.#turns.delete(key);
    this.#turns.set(key, this.#lastTurn);
    const [oldest] = this.#turns.keys();
    if (this.#turns.size > MOST_REMEMBERED && oldest !== undefined) this.#turns.delete(oldest);
  }
}

const MOST_REMEMBERED = 1_000;
