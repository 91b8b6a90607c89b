/** --watch: notices that files were saved, however the editor does it. */
import { unwatchFile, watchFile } from "node:fs";

/** Asked again and again rather than told: works for replaced files, mounted folders and files that are gone for a moment. */
const LOOK_EVERY_MS = 200;
/** An editor that truncates and then writes is not read in between. */
const SETTLE_MS = 100;

export class FileWatch {
  readonly #changed: () => void;
  readonly #paths = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Watches these files and no others. */
  follow(paths: readonly string[]): void {
    for (const path of [...this.#paths]) if (!paths.includes(path)) this.#leave(path);
    for (const path of paths) {
      if (this.#paths.has(path)) continue;
      this.#paths.add(path);
      watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, this.#notice);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const path of [...this.#paths]) this.#leave(path);
  }

  #notice = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#changed, SETTLE_MS);
  };

  #leave(path: string): void {
    this.#paths.delete(path);
    unwatchFile(path, this.#notice);
  }
}
