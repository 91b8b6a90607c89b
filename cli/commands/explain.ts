import { explain } from "../../graphs/compiler/explain.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { type Command, EXIT } from "../command.ts";
import { planGraph, readGraphWords } from "../compile-graph.ts";

export default {
  name: "explain",
  about: "Shows what a graph becomes: its plan, and the gst-launch line that does the same.",
  usage: "GRAPH [SOURCE] [param=value…]",
  options: {
    json: { type: "boolean", about: "Print the plan as JSON." },
  },
  notes: "GRAPH is a file, or the name of a template. Without SOURCE the graph is shown on test:smpte.",
  examples: ["explain demo", "explain graphs/record.yaml clip.mp4 path=out.mp4", "explain --json preview | jq .main"],
  async run(given, terminal) {
    const plan = await planGraph(readGraphWords(given.positionals), terminal);
    if (plan === null) return EXIT.refused;
    const text = given.flag("json") ? JSON.stringify(plan, null, 2) : explain(plan).trimEnd();
    await terminal.print(maskCredentials(text));
    return EXIT.ok;
  },
} satisfies Command;
