/** Watches files, and reports that some of them have changed. */
import { unwatchFile, watchFile } from "node:fs";

/** Polling works for replaced files, network folders and files that are missing for a moment. */
const POLL_MS = 200;
/** Editors may truncate a file before they write it. */
const SETTLE_MS = 100;

export class FileWatch {
  readonly #changed: () => void;
  readonly #paths = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Watches exactly these files. */
  follow(paths: readonly string[]): void {
    for (const path of [...this.#paths]) if (!paths.includes(path)) this.#unwatch(path);
    for (const path of paths) {
      if (this.#paths.has(path)) continue;
      this.#paths.add(path);
      watchFile(path, { interval: POLL_MS, persistent: false }, this.#onChange);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const path of [...this.#paths]) this.#unwatch(path);
  }

  #onChange = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#changed, SETTLE_MS);
  };

  #unwatch(path: string): void {
    this.#paths.delete(path);
    unwatchFile(path, this.#onChange);
  }
}
