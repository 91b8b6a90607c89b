/** A graph file with those that it extends, each read once. */
import type { Named } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { MAX_EXTENDS } from "./limits.ts";
import type { Located } from "./located.ts";
import { readYaml } from "./text-to-values.ts";

export interface GraphText {
  readonly file: string | null;
  readonly text: string;
}

export interface LoadedGraph extends GraphText {
  readonly file: string;
  /** Loads the graphs that this one names; by default, the loader of this graph does. */
  readonly load?: LoadGraph;
}

/** Loads the graph that `extends:` or `part:` names. */
export type LoadGraph = (name: string) => LoadedGraph | undefined;

interface Readable {
  readonly graph?: string;
  readonly extends: Named | null;
}

export interface Level<T extends Readable> {
  readonly file: string | null;
  readonly document: T;
  readonly load: LoadGraph;
  /** Its text has faults of YAML. */
  readonly damaged: boolean;
}

/** The graph's own level first, its last base last. Null when a text cannot be read. */
export function readLevels<T extends Readable>(
  source: GraphText,
  load: LoadGraph,
  read: (file: string | null, root: Located) => T | null,
  faults: FaultList,
): readonly Level<T>[] | null {
  const levels: Level<T>[] = [];
  for (let next: GraphText | LoadedGraph | null = source, loader = load; next !== null; ) {
    const { file, text }: GraphText = next;
    const before = faults.size;
    const root = readYaml(file, text, faults);
    const damaged = faults.size > before;
    const document: T | null = root === null ? null : read(file, root);
    if (document === null) return null;
    levels.push({ file, document, load: loader, damaged });
    if (document.extends === null) return levels;
    const base: LoadedGraph | null = loadBase(document.extends, levels, loader, faults);
    loader = base?.load ?? loader;
    next = base;
  }
  return null;
}

function loadBase<T extends Readable>(
  { value: name, at }: Named,
  levels: readonly Level<T>[],
  load: LoadGraph,
  faults: FaultList,
): LoadedGraph | null {
  const base = load(name);
  if (base === undefined) {
    faults.add("unknown_graph", at, `unknown graph "${name}"`, {
      expected: "the name of a template, or the path of a graph file",
    });
    return null;
  }
  const again = levels.findIndex((level) => level.file === base.file);
  if (again >= 0) {
    const names = levels.slice(again).map(({ document, file }) => document.graph ?? file);
    faults.add("extends_cycle", at, `the graphs extend each other in a cycle: ${[...names, names[0]].join(" → ")}`);
    return null;
  }
  if (levels.length >= MAX_EXTENDS) {
    faults.add("yaml_too_complex", at, `${MAX_EXTENDS} graphs extend one another`, {
      expected: `at most ${MAX_EXTENDS - 1}`,
    });
    return null;
  }
  return base;
}
