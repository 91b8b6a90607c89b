import { toDot } from "../../graphs/compiler/dot.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { type Command, EXIT } from "../command.ts";
import { planGraph, readGraphWords } from "../compile-graph.ts";
import { expectRoom } from "../files.ts";
import { writeSvg } from "../svg.ts";

export default {
  name: "dot",
  about: "Prints a graph in the DOT language of Graphviz, or draws it.",
  usage: "GRAPH [SOURCE] [param=value…]",
  options: {
    svg: { type: "string", value: "FILE", about: "Draw the graph into this file instead of printing it." },
  },
  notes: "Yellow nodes are TypeScript, blue ones GStreamer's. `run --dot FILE` writes the pipeline as it really runs.",
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
