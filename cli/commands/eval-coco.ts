import { type Command, CommandFailure, EXIT, expectPositionals, type Given, UsageFault } from "../command.ts";
import { writeText } from "../draw-svg.ts";
import { type Dataset, readDataset } from "../eval/coco/dataset.ts";
import { groupByClass } from "../eval/coco/found.ts";
import { lookAt } from "../eval/coco/look.ts";
import { drawPrecisions } from "../eval/coco/plot.ts";
import { formatScores, toJson } from "../eval/coco/report.ts";
import { scoreCoco } from "../eval/coco/score.ts";
import { Progress } from "../eval/progress.ts";
import { expectRoom } from "../expect-room.ts";
import { loadKnowledge } from "../knowledge.ts";
import { telling } from "../models/told.ts";
import type { Terminal } from "../terminal.ts";

/** Precision is measured over all that a model is at all inclined to say. */
const LEAST_CONFIDENCE = 0.01;

export default {
  name: "eval coco",
  about: "Looks for objects in pictures and scores what is found against the ground truth, as COCO does.",
  usage: "DIR [--model NAME]",
  options: {
    model: { type: "string", value: "NAME", about: "Which model looks, or the path of a card; default: default." },
    confidence: {
      type: "string",
      value: "NUMBER",
      about: `Leave out what the model is less sure of; default: ${LEAST_CONFIDENCE}.`,
    },
    plot: {
      type: "string",
      value: "FILE.svg",
      about: "Draw precision over recall: all classes, and those with the most objects.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes: [
    "DIR has images/ and instances.json, in COCO's format. Each picture goes through the elements source, decode and detect, as a clip would. Classes are matched by name; those that the model does not know are left out and named.",
    "AP is the mean over classes and the overlaps 0.50 to 0.95, AP50 and AP75 hold at one overlap, AP small, medium and large for objects of up to 32², 96² and more pixels. AR is the share of objects found. At most 100 detections a class and picture; crowds count neither way. All in percent.",
  ].join("\n"),
  examples: ["eval coco val2017", "eval coco val2017 --model quality --plot quality.svg", "eval coco val2017 --json"],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "one DIR, with images/ and instances.json");
    const folder = given.positionals[0] ?? "";
    const confidence = readConfidence(given);
    const plot = given.text("plot");
    if (plot !== undefined) expectRoom("plot", plot);
    const dataset = readDataset(folder);
    const model = given.text("model") ?? "default";
    const { name, classNames } = await matchClasses(dataset, model, terminal);
    const progress = new Progress(terminal, "pictures");
    const { pictures } = dataset;
    const onPicture = (count: number, file: string): void => progress.show(count, pictures.length, file);
    const seen = await lookAt({ pictures, model, confidence, onPicture }, await loadKnowledge(terminal));
    progress.end();
    const found = pictures.map((picture, index) => groupByClass(seen[index] ?? [], picture));
    const scores = scoreCoco(pictures, found, classNames);
    if (scores === null) throw new CommandFailure(`${folder} has no objects of the classes that ${model} knows`);
    if (plot !== undefined) await writeText(plot, drawPrecisions(`${name}: ${pictures.length} pictures`, scores));
    const asked = { model, pictures: pictures.length, confidence };
    await terminal.print(
      given.flag("json")
        ? JSON.stringify({ ...asked, ...toJson(scores) }, null, 2)
        : formatScores(name, scores, terminal.paintOut),
    );
    return EXIT.ok;
  },
} satisfies Command;

function readConfidence(given: Given): number {
  const confidence = given.number("confidence", "any") ?? LEAST_CONFIDENCE;
  if (confidence < 1) return confidence;
  throw new UsageFault(`--confidence is "${given.text("confidence")}"; expected a number between 0 and 1`);
}

/** What the model is called, and the classes that both know. Throws when there are none. */
async function matchClasses(
  { classNames }: Dataset,
  model: string,
  terminal: Terminal,
): Promise<{ readonly name: string; readonly classNames: readonly string[] }> {
  const { openModel } = await import("../../models/open.ts");
  const { card, labels } = await telling(() => openModel(model));
  const known = classNames.filter((name) => labels.includes(name));
  if (known.length === 0)
    throw new CommandFailure(
      `the model "${card.model}" knows none of the classes of the pictures: ${classNames.slice(0, 10).join(", ")}\n  \`windhover models show ${model}\` lists what it knows`,
    );
  const unknown = classNames.filter((name) => !labels.includes(name));
  if (unknown.length > 0) {
    const text = `left out, because ${card.model} does not know them: ${unknown.join(", ")}`;
    terminal.say(terminal.isJson ? JSON.stringify({ type: "note", text }) : text);
  }
  return { name: card.model, classNames: known };
}
