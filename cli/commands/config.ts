import { showValue, writeExample } from "../../server/config/keys.ts";
import { loadConfig } from "../../server/config/load.ts";
import { type Command, EXIT, expectPositionals, UsageFault } from "../command.ts";
import { alignColumns } from "../text.ts";
import { configSources } from "../workspace.ts";

export default {
  name: "config",
  about: "Show the effective configuration of the service, and where each value comes from.",
  usage: "",
  options: {
    config: {
      type: "string",
      value: "FILE",
      about: "Configuration file; default: windhover.yaml in the working directory, or the nearest one above it.",
    },
    example: { type: "boolean", about: "Print a configuration file with every key, its description and its default." },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "Environment variables override the file, which overrides the defaults. The variable of the key a.b_c is WINDHOVER_A_B_C; lists are separated by commas; an empty variable counts as not set. Secrets are shown as ***.",
  examples: ["config", "config --example > windhover.yaml", "config --json | jq '.[] | select(.from != \"default\")'"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no argument");
    if (given.flag("example")) {
      if (given.flag("json")) throw new UsageFault("--example prints YAML and cannot be combined with --json");
      await terminal.print(writeExample());
      return EXIT.ok;
    }
    const { settings } = loadConfig(configSources(given.text("config")));
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
    const cells = rows.map(({ key, value, from }) => [
      ...[key, JSON.stringify(value)],
      from === "default" ? terminal.paintOut("dim", from) : from,
    ]);
    for (const line of alignColumns(cells)) await terminal.print(line);
    return EXIT.ok;
  },
} satisfies Command;
