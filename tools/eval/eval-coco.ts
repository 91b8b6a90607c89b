import { CommandFailure, EXIT, expectPositionals, type Given, UsageFault } from "../../cli/command.ts";
import { loadKnowledge } from "../../cli/compile-graph.ts";
import { expectRoom, writeText } from "../../cli/files.ts";
import { explainModelFaults } from "../../cli/models/fetching.ts";
import { Progress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type Dataset, readDataset } from "./coco/dataset.ts";
import { detectImages } from "./coco/detect-images.ts";
import { drawPrecisions, formatScores, toJson } from "./coco/report.ts";
import { groupByClass, scoreCoco } from "./coco/score.ts";

/** Precision is measured down to this confidence. */
const LEAST_CONFIDENCE = 0.01;

export async function evalCoco(given: Given, terminal: Terminal): Promise<number> {
  expectPositionals(given, 1, 1, "one DIR, with images/ and instances.json");
  const folder = given.positionals[0] ?? "";
  const confidence = readConfidence(given);
  const plot = given.text("plot");
  if (plot !== undefined) expectRoom("plot", plot);
  const dataset = readDataset(folder);
  const model = given.text("model") ?? "default";
  const { name, classNames } = await matchClasses(dataset, model, terminal);
  const progress = new Progress(terminal, "images");
  const { pictures } = dataset;
  const onPicture = (count: number, file: string): void => progress.show(count, pictures.length, file);
  const seen = await detectImages({ pictures, model, confidence, onPicture }, await loadKnowledge(terminal));
  progress.end();
  const found = pictures.map((picture, index) => groupByClass(seen[index] ?? [], picture));
  const scores = scoreCoco(pictures, found, classNames);
  if (scores === null) throw new CommandFailure(`${folder} has no objects of the classes of ${model}`);
  if (plot !== undefined) await writeText(plot, drawPrecisions(`${name}: ${pictures.length} pictures`, scores));
  const asked = { model, pictures: pictures.length, confidence };
  await terminal.print(
    given.flag("json")
      ? JSON.stringify({ ...asked, ...toJson(scores) }, null, 2)
      : formatScores(name, scores, terminal.paintOut),
  );
  return EXIT.ok;
}

function readConfidence(given: Given): number {
  const confidence = given.number("confidence", "any") ?? LEAST_CONFIDENCE;
  if (confidence < 1) return confidence;
  throw new UsageFault(`--confidence is "${given.text("confidence")}"; expected a number between 0 and 1`);
}

/** The name of the model, and the common classes. Throws if there are none. */
async function matchClasses(
  { classNames }: Dataset,
  model: string,
  terminal: Terminal,
): Promise<{ readonly name: string; readonly classNames: readonly string[] }> {
  const { openModel } = await import("../../models/open.ts");
  const { card, labels } = await explainModelFaults(() => openModel(model));
  const known = classNames.filter((name) => labels.includes(name));
  if (known.length === 0)
    throw new CommandFailure(
      `the model "${card.model}" has none of the classes of the dataset: ${classNames.slice(0, 10).join(", ")}\n  \`windhover models show ${model}\` lists its classes`,
    );
  const unknown = classNames.filter((name) => !labels.includes(name));
  if (unknown.length > 0) {
    const text = `skipped, because ${card.model} does not have them: ${unknown.join(", ")}`;
    terminal.say(terminal.isJson ? JSON.stringify({ type: "note", text }) : text);
  }
  return { name: card.model, classNames: known };
}
