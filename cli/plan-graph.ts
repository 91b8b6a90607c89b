/** The plan of a graph that is only looked at: what is not given need not be. */
import { GraphFaults } from "../graphs/compiler/fault.ts";
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import type { GraphWords } from "./arguments.ts";
import { compileGraph } from "./compile-graph.ts";
import { GraphFiles, locateGraph } from "./graph-files.ts";
import { loadKnowledge } from "./knowledge.ts";
import { showFaults } from "./show-faults.ts";
import type { Terminal } from "./terminal.ts";

/** Null when the graph has faults; they have been shown. */
export async function planGraph(words: GraphWords, terminal: Terminal): Promise<GraphPlan | null> {
  const files = new GraphFiles(locateGraph(words.graph));
  const source = words.source === null ? null : { uri: words.source };
  const knowledge = await loadKnowledge(terminal);
  try {
    const { plan, faults } = compileGraph(files, words, { ...knowledge, source, mode: "check" });
    showFaults(faults, (file) => files.textOf(file), terminal);
    return plan;
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    showFaults(error.faults, (file) => files.textOf(file), terminal);
    return null;
  }
}
