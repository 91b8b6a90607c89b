import { showValue, writeExample } from "../../server/config/keys.ts";
import { loadConfig } from "../../server/config/load.ts";
import { type Command, EXIT, expectPositionals, UsageFault } from "../command.ts";
import { padTo } from "../text.ts";

export default {
  name: "config",
  about: "Shows the configuration of the service as it would hold now, and where each value comes from.",
  usage: "",
  options: {
    config: { type: "string", value: "FILE", about: "Instead of windhover.yaml in the working directory." },
    example: { type: "boolean", about: "Print a file with every key, what it means and its default." },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "Values come from the environment, else from the file, else from Windhover. A key a.b_c is the variable WINDHOVER_A_B_C; lists are written with commas; a variable that is empty counts as not set. Secrets are shown as ***.",
  examples: ["config", "config --example > windhover.yaml", "config --json | jq '.[] | select(.from != \"default\")'"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no argument");
    if (given.flag("example")) {
      if (given.flag("json")) throw new UsageFault("--example is YAML; expected it without --json");
      await terminal.print(writeExample());
      return EXIT.ok;
    }
    const { settings } = loadConfig({
      file: given.text("config") ?? null,
      folder: process.cwd(),
      env: process.env,
    });
    const rows = settings.map((setting) => ({
      key: setting.key.name,
      value: showValue(setting),
      variable: setting.key.variable,
      from: setting.origin.where,
    }));
    if (given.flag("json")) {
      await terminal.print(JSON.stringify(rows, null, 2));
      return EXIT.ok;
    }
    const cells = rows.map(({ key, value, from }) => [key, JSON.stringify(value), from] as const);
    const [first, second] = [0, 1].map((i) => Math.max(...cells.map((row) => (row[i] ?? "").length)));
    for (const [key, value, from] of cells) {
      const line = `${padTo(key, first ?? 0)}  ${padTo(value, second ?? 0)}`;
      await terminal.print(`${line}  ${from === "default" ? terminal.paintOut("dim", from) : from}`);
    }
    return EXIT.ok;
  },
} satisfies Command;
