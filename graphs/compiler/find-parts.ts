/** Finds the part that `use:` names: of the graph, of a graph that it extends, or of another file. */
import { suggest } from "../../schemas/suggest.ts";
import type { Named, PartDefinition } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { type Level, type LoadGraph, readLevels } from "./graph-levels.ts";
import { MAX_PART_FILES } from "./limits.ts";
import { type PartsOfFile, readPartsFile } from "./values-to-document.ts";

/** Where names of parts are looked up: the parts of one graph, and the loader of the file that says the name. */
export interface PartScope {
  readonly parts: PartTable;
  readonly load: LoadGraph;
}

type PartTable = ReadonlyMap<string, FoundPart>;

export interface FoundPart {
  readonly definition: PartDefinition;
  /** Of names in it. */
  readonly scope: PartScope;
}

/** The parts of a graph; those of a level replace parts of the same name of the levels that it extends. */
export function tableParts(levels: readonly Pick<Level<PartsOfFile>, "document" | "load">[]): PartTable {
  const parts = new Map<string, FoundPart>();
  for (const { document, load } of [...levels].reverse())
    for (const definition of document.parts) parts.set(definition.name, { definition, scope: { parts, load } });
  return parts;
}

export class PartFinder {
  readonly #faults: FaultList;
  /** By the loader and the name that it was asked for; null for a file that cannot be used. */
  readonly #named = new Map<LoadGraph, Map<string, PartTable | null>>();
  readonly #files = new Map<string, PartTable | null>();

  constructor(faults: FaultList) {
    this.#faults = faults;
  }

  /** Null when there is none: the fault is reported. */
  find(reference: Named, scope: PartScope): FoundPart | null {
    const { value, at } = reference;
    const [name = "", file] = value.split("#").reverse();
    const parts = file === undefined ? scope.parts : this.#open({ value: file, at }, scope.load);
    if (parts === null) return null;
    const found = parts.get(name);
    if (found !== undefined) return found;
    const known = [...parts.keys()];
    const owner = file === undefined ? "the graph" : `"${file}"`;
    this.#faults.add("unknown_part", at, `${owner} has no part "${name}"`, {
      expected: known.join(", ") || `a part of this name below \`parts:\`, or FILE#${name}`,
      suggestion: suggest(name, known),
    });
    return null;
  }

  #open(file: Named, load: LoadGraph): PartTable | null {
    const known = this.#named.get(load) ?? new Map<string, PartTable | null>();
    this.#named.set(load, known);
    const opened = known.get(file.value);
    if (opened !== undefined) return opened;
    const parts = this.#load(file, load);
    known.set(file.value, parts);
    return parts;
  }

  #load({ value: name, at }: Named, load: LoadGraph): PartTable | null {
    const found = load(name);
    if (found === undefined) {
      this.#faults.add("unknown_graph", at, `unknown graph "${name}"`, {
        expected: "the name of a graph, the path of a graph file, or PACKAGE/FILE, before `#`",
      });
      return null;
    }
    const known = this.#files.get(found.file);
    if (known !== undefined) return known;
    if (this.#files.size >= MAX_PART_FILES) {
      this.#faults.add("yaml_too_complex", at, `the graph uses parts of more than ${MAX_PART_FILES} files`, {
        expected: `at most ${MAX_PART_FILES}`,
      });
      return null;
    }
    const read = (_: string | null, root: Parameters<typeof readPartsFile>[0]) => readPartsFile(root, this.#faults);
    const levels = readLevels(found, found.load ?? load, read, this.#faults);
    const parts = levels === null ? null : tableParts(levels);
    this.#files.set(found.file, parts);
    return parts;
  }
}
