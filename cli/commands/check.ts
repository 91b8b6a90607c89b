import { type Compiled, compile } from "../../graphs/compiler/compile.ts";
import { type Fault, GraphFaults } from "../../graphs/compiler/fault.ts";
import { type Command, EXIT, UsageFault } from "../command.ts";
import { type Knowledge, loadKnowledge } from "../compile-graph.ts";
import { showFaults } from "../faults.ts";
import { GraphFiles, isGraphPath, listTemplates, locateGraph } from "../graph-files.ts";

export default {
  name: "check",
  about: "Checks graph files and reports every fault with file, line and column.",
  usage: "FILE…",
  options: {
    json: { type: "boolean", about: "Print the faults as JSON on standard output." },
  },
  notes:
    "Silent, with exit code 0, when all is well; else exit code 2. Parameters need not be given: values that depend on one without a default are not checked.",
  examples: ["check graphs/*.yaml", "check --json my-graph.yaml"],
  async run(given, terminal) {
    if (given.positionals.length === 0) throw new UsageFault("missing: the FILEs to check");
    const knowledge = await loadKnowledge(terminal);
    const all: Fault[] = [];
    for (const name of given.positionals) {
      const files = new GraphFiles(isTemplate(name) ? locateGraph(name) : name);
      const faults = checkFile(files, knowledge);
      all.push(...faults);
      if (!given.flag("json")) showFaults(faults, (file) => files.textOf(file), terminal);
    }
    if (given.flag("json")) await terminal.print(JSON.stringify(all, null, 2));
    return all.length === 0 ? EXIT.ok : EXIT.refused;
  },
} satisfies Command;

const isTemplate = (name: string): boolean => !isGraphPath(name) && listTemplates().includes(name);

function checkFile(files: GraphFiles, knowledge: Knowledge): readonly Fault[] {
  try {
    const checked: Compiled = compile(files.read(), { ...knowledge, load: files.loader(), mode: "check" });
    return checked.faults;
  } catch (error) {
    if (error instanceof GraphFaults) return error.faults;
    throw error;
  }
}
