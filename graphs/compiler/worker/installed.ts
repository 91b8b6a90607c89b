/** The installed graphs: files of one folder, read on every use, so that a changed file takes effect at once. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import type { Compiled } from "../compile.ts";
import type { GraphDocument } from "../document.ts";
import type { LoadGraph } from "../extend-document.ts";

const ENDING = ".yaml";
/** Names from clients become file names. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export interface InstalledText {
  /** The file name without the folder, as shown to clients. */
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

export interface CheckedGraph {
  readonly checked: Compiled;
  /** Null when it cannot be read. */
  readonly document: GraphDocument | null;
}

/** Results of the last check of each installed graph, valid until a file changes that was read for it. */
export class CheckCache {
  readonly #installed: InstalledGraphs;
  readonly #results = new Map<string, { result: CheckedGraph; files: ReadonlyMap<string, string | null> }>();

  constructor(installed: InstalledGraphs) {
    this.#installed = installed;
  }

  get(graph: InstalledText, check: (load: LoadGraph) => CheckedGraph): CheckedGraph {
    const cached = this.#results.get(graph.file);
    const isFresh = cached !== undefined && [...cached.files].every(([file, text]) => this.#read(file, graph) === text);
    if (isFresh) return cached.result;
    const files = new Map<string, string | null>([[graph.file, graph.text]]);
    const result = check((name) => {
      const found = this.#installed.read(name);
      files.set(found?.file ?? name + ENDING, found?.text ?? null);
      return found ?? undefined;
    });
    this.#results.set(graph.file, { result, files });
    return result;
  }

  #read(file: string, graph: InstalledText): string | null {
    if (file === graph.file) return graph.text;
    return this.#installed.read(file.slice(0, -ENDING.length))?.text ?? null;
  }
}
