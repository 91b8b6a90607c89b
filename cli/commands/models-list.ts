import { cacheFolder } from "../../models/cache.ts";
import { CardFault } from "../../models/fault.ts";
import { type CardFile, listCardFiles } from "../../models/find-card.ts";
import { isInstalled } from "../../models/open.ts";
import { readCard } from "../../models/read-card.ts";
import { type Command, EXIT, expectPositionals } from "../command.ts";
import { formatMegabytes } from "../models/summary.ts";
import { fit, padTo } from "../text.ts";

export default {
  name: "models list",
  about: "Lists the models: those that come with Windhover and your own.",
  usage: "",
  options: { json: { type: "boolean", about: "Print as JSON." } },
  notes:
    "The size is that of the file that is fetched. Weights and your own cards are kept in $WINDHOVER_CACHE_DIR, else in windhover in your cache folder ($XDG_CACHE_HOME or ~/.cache), else in .cache in the checkout.",
  examples: ["models list", "models list --json | jq -r '.[] | select(.installed).name'"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no argument");
    const rows = await Promise.all(listCardFiles().map(describe));
    if (given.flag("json")) {
      await terminal.print(JSON.stringify(rows, null, 2));
      return EXIT.ok;
    }
    const table = rows.map((row) =>
      row.fault === undefined
        ? [
            row.name,
            row.installed ? "installed" : "-",
            row.licence,
            row.bytes === null ? "?" : formatMegabytes(row.bytes),
            row.input,
            row.about,
          ]
        : [row.name, "faulty", "", "", "", row.fault],
    );
    const head = ["NAME", "", "LICENCE", "SIZE", "INPUT", "ABOUT"];
    const widths = head.map((title, i) =>
      Math.max(...[head, ...table].slice(0).map((cells) => (cells[i] ?? title).length)),
    );
    for (const cells of [head, ...table]) {
      const line = cells.map((cell, i) => (i === cells.length - 1 ? cell : padTo(cell, widths[i] ?? 0))).join("  ");
      const cut = terminal.isOutLive ? fit(line, terminal.columns) : line;
      await terminal.print(cells === head ? terminal.paintOut("dim", cut) : cut);
    }
    if (terminal.isOutLive) terminal.say(terminal.paintErr("dim", `kept in ${cacheFolder()}`));
    return EXIT.ok;
  },
} satisfies Command;

/** One bad card of the user hides no other. */
async function describe({ name, file, origin }: CardFile) {
  try {
    const card = readCard(file);
    const { licence, about, bytes = null, input } = card;
    const installed = await isInstalled({ card, file, origin, askedFor: name });
    return { name, origin, card: file, licence, bytes, input: `${input.width}×${input.height}`, installed, about };
  } catch (error) {
    if (!(error instanceof CardFault)) throw error;
    return { name, origin, card: file, installed: false, fault: error.message };
  }
}
