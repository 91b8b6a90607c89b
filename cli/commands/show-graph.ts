/** `check`, `explain` and `dot`: graphs that are compiled and shown, not run. */
import { compile } from "../../graphs/compiler/compile.ts";
import { type Fault, GraphFaults } from "../../graphs/compiler/fault.ts";
import { toDot } from "../../graphs/compiler/plan-to-diagram.ts";
import { explain } from "../../graphs/compiler/plan-to-text.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { type Command, EXIT, UsageFault } from "../command.ts";
import { type Knowledge, loadKnowledge, planGraph, readGraphWords } from "../compile-graph.ts";
import { showFaults } from "../faults.ts";
import { expectRoom } from "../files.ts";
import { GraphFiles, isGraphPath, listGraphs, locateGraph } from "../graph-files.ts";
import { writeSvg } from "../svg.ts";

export const check = {
  name: "check",
  about: "Check graph files and report every fault with file, line and column.",
  usage: "FILE…",
  options: {
    json: { type: "boolean", about: "Print the faults as JSON on standard output." },
  },
  notes:
    "Prints nothing and exits with code 0 when all files are valid; otherwise exits with code 2. Parameters need not be given: values that depend on a parameter without a default are not checked.",
  examples: ["check graphs/*.yaml", "check --json my-graph.yaml"],
  async run(given, terminal) {
    if (given.positionals.length === 0) throw new UsageFault("missing: the FILEs to check");
    const knowledge = await loadKnowledge(terminal);
    const all: Fault[] = [];
    for (const name of given.positionals) {
      const isName = !isGraphPath(name) && listGraphs().includes(name);
      const files = new GraphFiles(isName ? locateGraph(name) : name);
      const faults = checkFile(files, knowledge);
      all.push(...faults);
      if (!given.flag("json")) showFaults(faults, files.textOf, terminal);
    }
    if (given.flag("json")) await terminal.print(JSON.stringify(all, null, 2));
    return all.length === 0 ? EXIT.ok : EXIT.refused;
  },
} satisfies Command;

function checkFile(files: GraphFiles, knowledge: Knowledge): readonly Fault[] {
  try {
    return compile(files.read(), { ...knowledge, load: files.loader(), mode: "check" }).faults;
  } catch (error) {
    if (error instanceof GraphFaults) return error.faults;
    throw error;
  }
}

export const explainCommand = {
  name: "explain",
  about: "Show the compiled plan of a graph, and the equivalent gst-launch line.",
  usage: "GRAPH [SOURCE] [param=value…]",
  options: {
    json: { type: "boolean", about: "Print the plan as JSON." },
  },
  notes: "GRAPH is a file, or the name of a template. Without SOURCE the graph is shown with test:smpte.",
  examples: ["explain demo", "explain graphs/record.yaml clip.mp4 path=out.mp4", "explain --json preview | jq .main"],
  async run(given, terminal) {
    const plan = await planGraph(readGraphWords(given.positionals), terminal);
    if (plan === null) return EXIT.refused;
    const text = given.flag("json") ? JSON.stringify(plan, null, 2) : explain(plan).trimEnd();
    await terminal.print(maskCredentials(text));
    return EXIT.ok;
  },
} satisfies Command;

export const dot = {
  name: "dot",
  about: "Print a graph in Graphviz's DOT language, or draw it.",
  usage: "GRAPH [SOURCE] [param=value…]",
  options: {
    svg: { type: "string", value: "FILE", about: "Draw the graph into this file instead of printing it." },
  },
  notes:
    "Yellow nodes are TypeScript elements, blue ones GStreamer elements. `run --dot FILE` writes the pipeline as it runs.",
  examples: ["dot demo", "dot --svg preview.svg graphs/preview.yaml poster=poster.jpg"],
  async run(given, terminal) {
    const svg = given.text("svg");
    if (svg !== undefined) expectRoom("svg", svg);
    const plan = await planGraph(readGraphWords(given.positionals), terminal);
    if (plan === null) return EXIT.refused;
    if (svg === undefined) await terminal.print(maskCredentials(toDot(plan).trimEnd()));
    else await writeSvg(plan, svg);
    return EXIT.ok;
  },
} satisfies Command;
