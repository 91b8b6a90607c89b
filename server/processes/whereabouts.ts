/**
 * Where the source of a process is. Runners are given a number and no name: while one has lost its source, somebody has
 * to look whether the name means another number by now.
 */
import { Poller } from "../async/poller.ts";

export class Whereabouts {
  readonly #locate: () => Promise<string>;
  readonly #everyMs: number;
  readonly #onMoved: () => void;
  #uri: string | null = null;
  #looking: Poller | null = null;

  /** `onMoved`: whoever runs on what `find` told last looks in the wrong place. */
  constructor(locate: () => Promise<string>, everyMs: number, onMoved: () => void) {
    this.#locate = locate;
    this.#everyMs = everyMs;
    this.#onMoved = onMoved;
  }

  /** For a new run. Rejects when it is nowhere. */
  async find(): Promise<string> {
    this.setLost(false);
    this.#uri = await this.#locate();
    return this.#uri;
  }

  /** Looks again and again while it is lost. */
  setLost(isLost: boolean): void {
    if (isLost === (this.#looking !== null)) return;
    void this.#looking?.close();
    this.#looking = isLost ? new Poller(() => this.#look()) : null;
    this.#looking?.start(this.#everyMs);
  }

  async #look(): Promise<number> {
    const looking = this.#looking;
    const uri = await this.#locate().catch(() => null);
    if (looking === this.#looking && uri !== null && uri !== this.#uri) {
      this.setLost(false);
      this.#onMoved();
    }
    return this.#everyMs * (0.75 + Math.random() / 2);
  }
}
