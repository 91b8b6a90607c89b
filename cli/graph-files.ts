/** Graph files: which file a name refers to, its text, and the graphs it extends or uses parts of. */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, dirname, join, normalize, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Fault, GraphFaults } from "../graphs/compiler/fault.ts";
import type { GraphText, LoadGraph } from "../graphs/compiler/graph-levels.ts";
import { MAX_TEXT_BYTES } from "../graphs/compiler/limits.ts";
import { findPackageFile } from "../graphs/compiler/worker/package-file.ts";
import { readFolders } from "../schemas/folders.ts";
import { didYouMean } from "../schemas/suggest.ts";
import { UsageFault } from "./command.ts";
import { describeErrno, findNearFile } from "./files.ts";

const TEMPLATES = fileURLToPath(new URL("../graphs/", import.meta.url));

/** Those of the workspace first. */
const graphFolders = (): readonly string[] => [...readFolders().graphs, TEMPLATES, join(TEMPLATES, "recipes")];

export const isGraphPath = (name: string): boolean => name.includes("/") || /\.ya?ml$/i.test(name);

/** Names of graphs: of the workspace, and of the templates and recipes that come with Windhover. */
export const listGraphs = (): readonly string[] => {
  const files = graphFolders().flatMap((folder) => readdirSync(folder).filter((file) => file.endsWith(".yaml")));
  return [...new Set(files.map((file) => basename(file, ".yaml")))].sort();
};

/** The path of a graph named on the command line. Throws `UsageFault` for an unknown name. */
export function locateGraph(name: string): string {
  if (isGraphPath(name)) return normalize(name);
  const found = findNamed(name);
  if (found !== undefined) return showPath(found);
  const names = listGraphs();
  const hint = didYouMean(name, names) || `; to use a file, give its path: ./${name}.yaml`;
  throw new UsageFault(`there is no graph "${name}"; the graphs are ${names.join(", ")}${hint}`);
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

const findNamed = (name: string): string | undefined =>
  /^[\w-]+$/.test(name)
    ? graphFolders()
        .map((folder) => join(folder, `${name}.yaml`))
        .find(isFile)
    : undefined;

/** Relative to the working directory where it is below it. */
function showPath(path: string): string {
  const shown = relative(process.cwd(), path);
  return shown.startsWith("..") ? path : shown;
}

/** Throws `GraphFaults` for a file that cannot be read. */
function readGraphFile(file: string): string {
  try {
    const found = statSync(file);
    const { size } = found;
    // Opening a named pipe without a writer blocks.
    if (!found.isFile() && !found.isDirectory()) throw refuse(file, irregular);
    if (size > MAX_TEXT_BYTES) throw refuse(file, tooLarge(`${(size / 1e6).toFixed(1)} MB`));
    return readBounded(file);
  } catch (error) {
    throw error instanceof GraphFaults ? error : refuse(file, unreadable(file, error as NodeJS.ErrnoException));
  }
}

/** Bounded even if the file grows while it is read. */
function readBounded(file: string): string {
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(MAX_TEXT_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (length > MAX_TEXT_BYTES) throw refuse(file, tooLarge("more data than its size"));
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(descriptor);
  }
}

type Reason = Omit<Fault, "at">;

const refuse = (file: string, reason: Reason): GraphFaults =>
  new GraphFaults([{ ...reason, at: { file, line: 1, column: 1 } }]);

const tooLarge = (found: string): Reason => ({
  code: "file_too_large",
  message: `the file is too large for a graph: ${found}`,
  expected: `at most ${MAX_TEXT_BYTES / 1e6} MB`,
});

const EXPECTED = "the path of a graph file in YAML";

const irregular: Reason = { code: "file_unreadable", message: "this is not a regular file", expected: EXPECTED };

function unreadable(file: string, error: NodeJS.ErrnoException): Reason {
  const expected = EXPECTED;
  if (error.code === "ENOENT") {
    const near = findNearFile(file, (name) => /\.ya?ml$/i.test(name));
    return {
      code: "file_unreadable",
      message: "there is no such file",
      expected,
      ...(near && { suggestion: join(dirname(file), near) }),
    };
  }
  return {
    code: "file_unreadable",
    message: `the file cannot be read: ${describeErrno(error.code) ?? error.message}`,
    expected,
  };
}

/** One graph with those it names, read from disk at every `read`. */
export class GraphFiles {
  readonly #file: string;
  /** By absolute path. Every file has one name, so that a cycle of `extends` is found. */
  readonly #read = new Map<string, GraphText & { readonly file: string }>();

  constructor(file: string) {
    this.#file = file;
  }

  /** All files read since the last `read`, the graph's own first. */
  get files(): readonly string[] {
    return [...this.#read.keys()];
  }

  readonly textOf = (file: string | null): string | undefined =>
    [...this.#read.values()].find((known) => known.file === file)?.text;

  /** The graph's own text. Throws `GraphFaults`. */
  read(): GraphText {
    this.#read.clear();
    // Registered before it is read: a file that an editor replaces is missing for a moment, and must stay watched.
    this.#read.set(resolve(this.#file), { file: this.#file, text: "" });
    return this.#load(this.#file);
  }

  /** Resolves `extends` and parts of other files for the compiler; paths are relative to the file that has them. */
  loader(): LoadGraph {
    return this.#loaderOf(this.#file);
  }

  #loaderOf(from: string): LoadGraph {
    return (name) => {
      const file = findGraph(name, from);
      return file === undefined ? undefined : { ...this.#load(file), load: this.#loaderOf(file) };
    };
  }

  #load(file: string): GraphText & { readonly file: string } {
    const known = this.#read.get(resolve(file));
    const loaded = { file: known?.file ?? file, text: readGraphFile(file) };
    this.#read.set(resolve(file), loaded);
    return loaded;
  }
}

/** A path is relative to the file that has it, or in an npm package; a name is a file beside it, or a graph of that name. */
function findGraph(name: string, from: string): string | undefined {
  const folder = dirname(from);
  if (!isGraphPath(name)) {
    const beside = resolve(folder, `${name}.yaml`);
    const found = /^[\w-]+$/.test(name) && isFile(beside) ? beside : findNamed(name);
    return found === undefined ? undefined : showPath(found);
  }
  const found = [resolve(folder, name), ...listPackageFiles(name, folder)].find(isFile);
  return found === undefined ? undefined : showPath(found);
}

const listPackageFiles = (name: string, folder: string): readonly string[] => {
  const found = findPackageFile(name, resolve(folder));
  return found === null ? [] : [found];
};
