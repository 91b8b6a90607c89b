import { findBuiltIn, getCommand } from "../../models/find-card.ts";
import { isInstalled } from "../../models/open.ts";
import { type Command, EXIT, UsageFault } from "../command.ts";
import { expectOwn, type Removal, removeModel } from "../models/remove-model.ts";
import { formatMegabytes } from "../models/summary.ts";
import { telling } from "../models/told.ts";

export default {
  name: "models remove",
  about: "Removes models that you imported: their cards, weights and conversions.",
  usage: "NAME…",
  options: { json: { type: "boolean", about: "Print as JSON." } },
  notes:
    "Weights that another card needs stay, and so do the files that were imported. What comes with Windhover cannot be removed; where a model of yours has its name, it comes back.",
  examples: ["models remove yard", "models remove default"],
  async run(given, terminal) {
    const names = [...new Set(given.positionals)];
    if (names.length === 0) throw new UsageFault("missing: a NAME; `models list` tells them");
    for (const name of names) expectOwn(name);
    const done: Removal[] = [];
    await telling(async () => {
      for (const name of names) {
        const removal = await removeModel(name);
        done.push(removal);
        if (given.flag("json")) continue;
        for (const { file, bytes } of removal.removed)
          await terminal.print(`${name}  removed  ${formatMegabytes(bytes)}  ${file}`);
        if (removal.isBuiltIn) await terminal.print(await tellReturn(name));
      }
    });
    if (given.flag("json")) await terminal.print(JSON.stringify(done, null, 2));
    return EXIT.ok;
  },
} satisfies Command;

async function tellReturn(name: string): Promise<string> {
  const found = findBuiltIn(name);
  const next = (await isInstalled(found)) ? "" : `; to install it, run: ${getCommand(found)}`;
  return `${name}  is again the one that comes with Windhover${next}`;
}
