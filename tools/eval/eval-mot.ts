import { EXIT, expectPositionals, type Given, UsageFault } from "../../cli/command.ts";
import { expectRoom, writeText } from "../../cli/files.ts";
import { Progress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { createTracker, PRESETS } from "../trackers/presets.ts";
import { type Evaluation, evaluateMot, type Origin } from "./mot/evaluate.ts";
import { drawScores } from "./mot/plot.ts";
import { formatScores, toJson } from "./mot/report.ts";
import { listSequences } from "./mot/sequences.ts";

export async function evalMot(given: Given, terminal: Terminal): Promise<number> {
  expectPositionals(given, 1, 1, "one DIR, with a folder for each sequence");
  const directory = given.positionals[0] ?? "";
  const origin = readOrigin(given);
  const plot = given.text("plot");
  if (plot !== undefined) expectRoom("plot", plot);
  const folders = listSequences(directory);
  const progress = new Progress(terminal, "sequences");
  const evaluation = await evaluateMot(folders, origin, (name, index) => progress.show(index, folders.length, name));
  progress.end();
  if (plot !== undefined)
    await writeText(
      plot,
      drawScores(
        evaluation.sequences.map(({ scores }) => scores),
        evaluation.combined.scores,
      ),
    );
  await print(evaluation, given, terminal);
  return EXIT.ok;
}

function readOrigin(given: Given): Origin {
  const file = given.text("detections");
  const folder = given.text("results");
  if ((file === undefined) === (folder === undefined))
    throw new UsageFault(
      "expected --detections FILE to track, or --results FOLDER to score the results of another tracker",
    );
  if (folder !== undefined) {
    const idle = ["tracker", "out"].find((name) => given.text(name) !== undefined);
    if (idle !== undefined) throw new UsageFault(`--${idle} needs --detections: with --results nothing is tracked`);
    return { kind: "results", folder };
  }
  const preset = given.choice("tracker", PRESETS) ?? "default";
  return { kind: "detections", file: file ?? "", createTracker: () => createTracker(preset), out: given.text("out") };
}

async function print({ sequences, combined, leftOut }: Evaluation, given: Given, terminal: Terminal): Promise<void> {
  if (leftOut > 0) {
    const text = `${leftOut} detections without area were skipped`;
    terminal.say(terminal.isJson ? JSON.stringify({ type: "note", text }) : text);
  }
  if (!given.flag("json")) return terminal.print(formatScores(sequences, combined, terminal.paintOut));
  const scored = {
    ...(given.text("results") === undefined
      ? { tracker: given.text("tracker") ?? "default", detections: given.text("detections") }
      : { results: given.text("results") }),
    combined: toJson(combined),
    sequences: sequences.map((sequence) => ({ name: sequence.name, ...toJson(sequence) })),
  };
  await terminal.print(JSON.stringify(scored, null, 2));
}
