/**
 * What waits for one client. Bounded in number and in bytes: one that does not keep up loses the oldest, and the next
 * one that it gets says how many it has lost.
 */
export interface Letter {
  /** A JSON object that is not empty. */
  readonly json: string;
  readonly bytes: number;
  /** Lost only when there is nothing else to lose. */
  readonly isKept?: boolean;
}

export class Outbox<L extends Letter> {
  readonly #most: { readonly messages: number; readonly bytes: number };
  readonly #waiting: L[] = [];
  #bytes = 0;
  #dropped = 0;

  constructor(most: { readonly messages: number; readonly bytes: number }) {
    this.#most = most;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** The newest is always taken in, however large: it is the one that matters. */
  put(letter: L): void {
    this.#waiting.push(letter);
    this.#bytes += letter.bytes;
    while (this.#waiting.length > 1 && (this.#waiting.length > this.#most.messages || this.#bytes > this.#most.bytes)) {
      this.#drop();
    }
  }

  /** The oldest, and what to send of it. */
  take(): { readonly letter: L; readonly json: string } | null {
    const letter = this.#waiting.shift();
    if (letter === undefined) return null;
    this.#bytes -= letter.bytes;
    const json = this.#dropped === 0 ? letter.json : `${letter.json.slice(0, -1)},"dropped":${this.#dropped}}`;
    this.#dropped = 0;
    return { letter, json };
  }

  clear(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
  }

  /** Never the newest. */
  #drop(): void {
    const found = this.#waiting.findIndex(({ isKept }) => isKept !== true);
    const index = found < 0 || found === this.#waiting.length - 1 ? 0 : found;
    const [lost] = this.#waiting.splice(index, 1);
    this.#bytes -= lost?.bytes ?? 0;
    this.#dropped += 1;
  }
}
