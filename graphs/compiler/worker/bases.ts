/** Installed graphs that a client's graph is based on: their digests show whether it still compiles to the same. */
import { createHash } from "node:crypto";
import type { Elements } from "../../../elements/element.ts";
import { readGraph } from "../extend-document.ts";
import { FaultList } from "../fault.ts";
import type { LoadGraph } from "../graph-levels.ts";
import type { InstalledGraphs } from "./installed.ts";

/** Notes the names that are loaded. */
export const noteNames =
  (load: LoadGraph, names: Set<string>): LoadGraph =>
  (name) => {
    const found = load(name);
    if (found !== undefined) names.add(name);
    return found;
  };

/** SHA-256 of its text and of all files that are read for it; null: it is not installed. */
export function digestInstalled(name: string, installed: InstalledGraphs, elements: Elements): string | null {
  const graph = installed.read(name);
  if (graph === null) return null;
  const hash = createHash("sha256").update(graph.text);
  const record =
    (load: LoadGraph): LoadGraph =>
    (wanted) => {
      const found = load(wanted);
      hash.update(`\0${wanted}\0${found?.text ?? ""}`);
      return found && { ...found, load: record(found.load ?? load) };
    };
  readGraph(graph, { load: record(graph.load), elements }, new FaultList(graph.file));
  return hash.digest("hex");
}
