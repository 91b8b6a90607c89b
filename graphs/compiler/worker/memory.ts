/** Installed graphs as they were looked at last, for as long as none of the files they stand on has changed. */
import type { Compiled } from "../compile.ts";
import type { GraphDocument } from "../document.ts";
import type { LoadGraph } from "../extend.ts";
import type { InstalledGraphs, InstalledText } from "./installed.ts";

export interface Looked {
  readonly checked: Compiled;
  /** Null when it cannot be read. */
  readonly document: GraphDocument | null;
}

interface Remembered {
  readonly looked: Looked;
  /** Every file that was read for it, by name. */
  readonly files: ReadonlyMap<string, string | null>;
}

export class GraphMemory {
  readonly #installed: InstalledGraphs;
  readonly #known = new Map<string, Remembered>();

  constructor(installed: InstalledGraphs) {
    this.#installed = installed;
  }

  look(graph: InstalledText, look: (load: LoadGraph) => Looked): Looked {
    const known = this.#known.get(graph.file);
    if (known !== undefined && known.files.get(graph.file) === graph.text && this.#isFresh(known, graph.file))
      return known.looked;
    const files = new Map<string, string | null>([[graph.file, graph.text]]);
    const looked = look((name) => {
      const found = this.#installed.read(name);
      files.set(found?.file ?? `${name}.yaml`, found?.text ?? null);
      return found ?? undefined;
    });
    this.#known.set(graph.file, { looked, files });
    return looked;
  }

  #isFresh({ files }: Remembered, own: string): boolean {
    return [...files].every(
      ([file, text]) => file === own || (this.#installed.read(file.slice(0, -".yaml".length))?.text ?? null) === text,
    );
  }
}
