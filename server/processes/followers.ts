import type { ProcessNotice } from "./processes.ts";

type Listener = (notice: ProcessNotice) => void;

/** Those who listen to one process. They must not throw; one that does cannot keep the others from hearing. */
export class Followers {
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  readonly #onFault: (error: unknown) => void;

  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  add(listener: Listener): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  tell(notice: ProcessNotice): void {
    for (const { listener } of [...this.#listeners]) {
      try {
        listener(notice);
      } catch (error) {
        this.#onFault(error);
      }
    }
    if (notice.type === "ended") this.#listeners.clear();
  }
}
