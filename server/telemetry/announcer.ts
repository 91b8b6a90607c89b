/** Tells of a standing when it has changed, at most once a second: a bad message between good ones is no news. */
const EVERY_MS = 1_000;

export class Announcer {
  readonly #read: () => Readonly<Record<string, unknown>>;
  readonly #announce: () => void;
  /** Null before it has begun. */
  #told: string | null = null;
  #toldMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(read: () => Readonly<Record<string, unknown>>, announce: () => void) {
    this.#read = read;
    this.#announce = announce;
  }

  /** What it is now is known. */
  begin(): void {
    this.#told = this.#write();
  }

  /** It may have changed. */
  look(): void {
    if (this.#isClosed || this.#told === null || this.#timer !== undefined || this.#write() === this.#told) return;
    const waitMs = this.#toldMs + EVERY_MS - performance.now();
    if (waitMs <= 0) {
      this.#tell();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#write() !== this.#told) this.#tell();
    }, waitMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #tell(): void {
    this.#told = this.#write();
    this.#toldMs = performance.now();
    this.#announce();
  }

  #write(): string {
    return JSON.stringify(this.#read());
  }
}
