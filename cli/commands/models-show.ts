import { findCard } from "../../models/find-card.ts";
import { type Command, EXIT, expectPositionals } from "../command.ts";
import { formatSummary, summarise } from "../models/summary.ts";
import { telling } from "../models/told.ts";

export default {
  name: "models show",
  about: "Says everything about a model, and shows its card.",
  usage: "NAME|card.yaml",
  options: {
    json: {
      type: "boolean",
      about: "Print as JSON: the card with its defaults filled in, the labels, where everything is.",
    },
  },
  examples: [
    "models show default",
    "models show models/examples/yolox-nano.yaml",
    "models show default --json | jq -r .onnx",
  ],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "a NAME, or the path of a card");
    const [name = ""] = given.positionals;
    const summary = await telling(async () => summarise(findCard(name)));
    await terminal.print(
      given.flag("json") ? JSON.stringify(summary, null, 2) : formatSummary(summary, terminal.paintOut),
    );
    return EXIT.ok;
  },
} satisfies Command;
