/** The graphs that are installed: the files of one folder, read anew each time, so that a changed one counts at once. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import type { LoadGraph } from "../extend.ts";

const ENDING = ".yaml";
/** Names of clients become names of files here. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export interface InstalledText {
  /** Its file's name, without the folder: it is shown to clients. */
  readonly file: string;
  readonly text: string;
}

export class InstalledGraphs {
  readonly #folder: URL;

  /** `folder` ends in a slash. */
  constructor(folder: URL) {
    this.#folder = folder;
  }

  names(): readonly string[] {
    return readdirSync(this.#folder)
      .filter((file) => file.endsWith(ENDING) && NAME.test(file.slice(0, -ENDING.length)))
      .map((file) => file.slice(0, -ENDING.length))
      .sort();
  }

  read(name: string): InstalledText | null {
    if (!NAME.test(name)) return null;
    const file = `${name}${ENDING}`;
    const url = new URL(file, this.#folder);
    if (!statSync(url, { throwIfNoEntry: false })?.isFile()) return null;
    return { file, text: readFileSync(url, "utf8") };
  }

  /** For `extends`: by name only. */
  get load(): LoadGraph {
    return (name) => this.read(name) ?? undefined;
  }
}
