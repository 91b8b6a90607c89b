/** What goes to the server. Bounded: a server that does not read costs what it can do without. */
import type { HubMessage } from "../schemas/hub.ts";

/** Handed to the system and not written yet. */
const MOST_UNDER_WAY = 512;
/** Said again, or not needed. The rest is as much as there are connections and streams. */
const SPARABLE = new Set<HubMessage["type"]>(["log", "stats"]);

/** `done` is called when it is written or never will be. */
export type Write = (message: HubMessage, done: () => void) => void;

export class Outbox {
  readonly #write: Write;
  #underWay = 0;
  #whenEmpty: (() => void)[] = [];

  constructor(write: Write) {
    this.#write = write;
  }

  put(message: HubMessage): void {
    if (this.#underWay >= MOST_UNDER_WAY && SPARABLE.has(message.type)) return;
    this.#underWay++;
    let isWritten = false;
    this.#write(message, () => {
      if (isWritten) return;
      isWritten = true;
      if (--this.#underWay === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
    });
  }

  /** Resolves when everything has been written. */
  empty(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }
}
