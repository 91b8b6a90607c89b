import { quoteShell } from "../../graphs/compiler/plan-to-text.ts";
import { DECODERS } from "../../models/decode/options.ts";
import { type Command, EXIT, type Given, UsageFault } from "../command.ts";
import { whileFetching } from "../models/fetching.ts";
import { type Import, importModel } from "../models/import-model.ts";
import { readSize } from "../models/picture-input.ts";
import { readLabels } from "../models/read-labels.ts";
import { formatSummary, type Summary, summarise } from "../models/summary.ts";
import { telling } from "../models/told.ts";

export default {
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
