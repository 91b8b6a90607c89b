/** So that no user takes all places of publishers: how many streams each has, by what is live and who was let in. */
export class PublishingPlaces {
  readonly #most: number;
  readonly #livePaths: () => readonly string[];
  readonly #now: () => number;
  /** When leave was given, by path. */
  readonly #given = new Map<string, number>();

  /** `livePaths`: those that were published by somebody with a key. */
  constructor(most: number, livePaths: () => readonly string[], now = () => performance.now()) {
    this.#most = most;
    this.#livePaths = livePaths;
    this.#now = now;
  }

  /** False: there is none. The same path again is the same place. */
  take(username: string, path: string): boolean {
    this.#forgetOld();
    const prefix = `${username}/`;
    const taken = new Set([...this.#livePaths(), ...this.#given.keys()].filter((other) => other.startsWith(prefix)));
    taken.delete(path);
    if (taken.size >= this.#most) return false;
    this.#given.delete(path);
    this.#given.set(path, this.#now());
    return true;
  }

  #forgetOld(): void {
    const oldestMs = this.#now() - PENDING_MS;
    for (const [path, givenMs] of this.#given) {
      if (givenMs > oldestMs) return;
      this.#given.delete(path);
    }
  }
}

/** Whoever was let in is live by then, or gone. */
const PENDING_MS = 10_000;
