/** The installed graphs: files of folders, read on every use, so that a changed file takes effect at once. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { readFolders } from "../../../schemas/folders.ts";
import type { Compiled } from "../compile.ts";
import type { GraphDocument } from "../document.ts";
import type { LoadedGraph, LoadGraph } from "../graph-levels.ts";
import { findPackageFile } from "./package-file.ts";

const ENDING = ".yaml";
/** Names from clients become file names. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const PATH = /\.ya?ml$/i;

/** `file` is the path in the folder, as shown to clients; `load` loads what the graph names. */
export type InstalledText = Required<LoadedGraph>;

/** A file of the operator: of the folder, or of a package. */
interface Place {
  readonly path: string;
  readonly shown: string;
  /** Paths in it stay below this folder. */
  readonly root: string;
}

export class InstalledGraphs {
  readonly #folders: readonly string[];

  /** Folders end in a slash. An earlier one has precedence. */
  constructor(folders: readonly URL[]) {
    this.#folders = folders.map((folder) => fileURLToPath(folder));
  }

  /** Those that come with Windhover are in `own`, with a slash at the end, and the recipes below it. */
  static besides(own: URL): InstalledGraphs {
    const outside = readFolders().graphs.map((folder) => pathToFileURL(`${folder}/`));
    return new InstalledGraphs([...outside, own, new URL("recipes/", own)]);
  }

  names(): readonly string[] {
    const names = this.#folders
      .flatMap((folder) => readdirSync(folder))
      .filter((file) => file.endsWith(ENDING) && NAME.test(file.slice(0, -ENDING.length)))
      .map((file) => file.slice(0, -ENDING.length));
    return [...new Set(names)].sort();
  }

  read(name: string): InstalledText | null {
    if (!NAME.test(name)) return null;
    const shown = name + ENDING;
    for (const root of this.#folders) {
      const found = this.#open({ path: join(root, shown), shown, root });
      if (found !== null) return found;
    }
    return null;
  }

  /** The path of a file beside an installed graph or below it; null when there is none. */
  findBeside(name: string, path: string): string | null {
    const root = this.#folders.find((folder) => isFile(join(folder, name + ENDING)));
    const place = root === undefined ? null : findBeside(path, { path: join(root, name + ENDING), shown: name, root });
    return place !== null && isFile(place.path) ? place.path : null;
  }

  /** For texts of clients: the installed graphs by name, and no other file. */
  get load(): LoadGraph {
    return (name) => this.read(name) ?? undefined;
  }

  #open(place: Place): InstalledText | null {
    if (!isFile(place.path)) return null;
    return { file: place.shown, text: readFileSync(place.path, "utf8"), load: this.#loaderOf(place) };
  }

  /** For graphs of the operator: by name, by a path below the folder, or of a package. */
  #loaderOf(place: Place): LoadGraph {
    return (name) => {
      if (NAME.test(name)) return this.read(name) ?? undefined;
      if (!PATH.test(name)) return undefined;
      const beside = findBeside(name, place);
      const packaged = findPackage(name, place);
      return (beside && this.#open(beside)) ?? (packaged && this.#open(packaged)) ?? undefined;
    };
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

function findBeside(name: string, { path, root }: Place): Place | null {
  const found = resolve(dirname(path), name);
  const shown = relative(root, found);
  return isAbsolute(name) || shown.startsWith("..") ? null : { path: found, shown, root };
}

function findPackage(name: string, { path }: Place): Place | null {
  const found = findPackageFile(name, dirname(path));
  return found === null ? null : { path: found, shown: name, root: dirname(found) };
}

export interface CheckedGraph {
  readonly checked: Compiled;
  /** Null when it cannot be read. */
  readonly document: GraphDocument | null;
}

/** Results of the last check of each installed graph, valid until a file changes that was read for it. */
export class CheckCache {
  readonly #results = new Map<string, { text: string; result: CheckedGraph; loads: readonly Load[] }>();

  get(graph: InstalledText, check: (load: LoadGraph) => CheckedGraph): CheckedGraph {
    const cached = this.#results.get(graph.file);
    const isFresh = cached?.text === graph.text && cached.loads.every(({ load, text }) => textOf(load()) === text);
    if (cached !== undefined && isFresh) return cached.result;
    const loads: Load[] = [];
    const record =
      (load: LoadGraph): LoadGraph =>
      (name) => {
        const found = load(name);
        loads.push({ load: () => load(name), text: textOf(found) });
        return found && { ...found, load: record(found.load ?? load) };
      };
    const result = check(record(graph.load));
    this.#results.set(graph.file, { text: graph.text, result, loads });
    return result;
  }
}

/** A file that was read for a check; null when it did not exist. */
interface Load {
  load(): LoadedGraph | undefined;
  readonly text: string | null;
}

const textOf = (loaded: LoadedGraph | undefined): string | null => loaded?.text ?? null;
