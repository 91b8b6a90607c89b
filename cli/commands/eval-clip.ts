import { basename, extname } from "node:path";
import { didYouMean } from "../../schemas/suggest.ts";
import { type Command, CommandFailure, EXIT, expectPositionals, type Given, UsageFault } from "../command.ts";
import { writeText } from "../draw-svg.ts";
import { runClip } from "../eval/clip/run-clip.ts";
import { type ClipScores, scoreClip } from "../eval/clip/score-clip.ts";
import { readTruth, readUnscored } from "../eval/mot/frames.ts";
import { toJson, toPercent } from "../eval/mot/report.ts";
import { readRows } from "../eval/mot/rows.ts";
import { MOST_FRAMES } from "../eval/mot/sequence-folder.ts";
import { drawScores } from "../eval/plot/draw-scores.ts";
import { Progress } from "../eval/progress.ts";
import { alignTable } from "../eval/table.ts";
import { expectRoom } from "../expect-room.ts";
import { loadKnowledge } from "../knowledge.ts";
import { telling } from "../models/told.ts";
import { formatRate } from "../run/progress.ts";
import { expectFile } from "../run/source-file.ts";
import type { Terminal } from "../terminal.ts";

export default {
  name: "eval clip",
  about: "Runs the graph detect on a clip and scores what it finds, detections and tracks, against the ground truth.",
  usage: "CLIP --gt FILE [--model NAME]",
  options: {
    gt: { type: "string", value: "FILE", about: "Ground truth: rows of frame,id,left,top,width,height,confidence." },
    model: { type: "string", value: "NAME", about: "Which model looks, or the path of a card; default: default." },
    class: {
      type: "string",
      value: "NAME",
      about: "What the ground truth has, as the model calls it; default: person.",
    },
    plot: {
      type: "string",
      value: "FILE.svg",
      about: "Draw the scores over the overlap, and every object's tracks over time.",
    },
    whole: {
      type: "boolean",
      about: "Score the clip to its end: what is found beyond the ground truth is wrong.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes: [
    "Frame n of the ground truth, from 1, is frame n of the clip; boxes are in its pixels. Rows with confidence 0 mark what need not be found: AP50 takes finding it neither for right nor for wrong, and the scores of tracking leave it out as published ones do. Frames beyond the last of the ground truth are not scored either, unless --whole asks for it. The graph runs at pace fast: every frame is looked at, and the same clip has the same scores.",
    "AP50 is of the class's detections down to a confidence of 0.01, at an overlap of 0.5, the mean over 101 recalls as COCO has it. The other scores are of the tracks, as `eval mot` has them; all in percent. frames/s is the whole graph.",
  ].join("\n"),
  examples: [
    "eval clip street.mp4 --gt gt.txt --model quality",
    "eval clip street.mp4 --gt gt.txt --plot street.svg --json",
  ],
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "one CLIP");
    const clip = given.positionals[0] ?? "";
    const truthFile = given.text("gt");
    if (truthFile === undefined) throw new UsageFault("missing: --gt FILE, the ground truth to score against");
    const plot = given.text("plot");
    if (plot !== undefined) expectRoom("plot", plot);
    expectFile(clip);
    const frameCount = findLastFrame(truthFile);
    const truth = readTruth(truthFile, frameCount);
    const unscored = readUnscored(truthFile, frameCount);
    const { model, className, weak } = await chooseModel(given);
    const progress = new Progress(terminal, "frames");
    const onFrame = (count: number): void => progress.show(count, Math.max(count, frameCount));
    const { frames, framesPerSecond } = await runClip({ clip, model, weak, onFrame }, await loadKnowledge(terminal));
    progress.end();
    const isWhole = given.flag("whole");
    const misfit = describeMisfit(frameCount, frames.length, isWhole);
    if (misfit !== null) note(terminal, misfit);
    const scored = isWhole ? frames : frames.slice(0, frameCount);
    const scores = scoreClip(basename(clip, extname(clip)), truth, scored, className, unscored);
    if (plot !== undefined) await writeText(plot, drawScores([scores.tracking], scores.tracking));
    const asked = { clip, model, class: className };
    await terminal.print(
      given.flag("json") ? asJson(asked, scores, framesPerSecond) : asTable(asked, scores, framesPerSecond, terminal),
    );
    return EXIT.ok;
  },
} satisfies Command;

function findLastFrame(truthFile: string): number {
  const { frame, line } = readRows(truthFile, Number.POSITIVE_INFINITY).reduce(
    (last, row) => (row.frame > last.frame ? row : last),
    { frame: 0, line: 0 },
  );
  if (frame <= MOST_FRAMES) return frame;
  throw new CommandFailure(`${truthFile}:${line}: frame is ${frame}; expected at most ${MOST_FRAMES}`);
}

async function chooseModel(
  given: Given,
): Promise<{ readonly model: string; readonly className: string; readonly weak: number }> {
  const model = given.text("model") ?? "default";
  const className = given.text("class") ?? "person";
  const { openModel } = await import("../../models/open.ts");
  const { card, labels } = await telling(() => openModel(model));
  if (!labels.includes(className))
    throw new UsageFault(
      `the model "${card.model}" knows no "${className}"${didYouMean(className, labels)}\n  \`windhover models show ${model}\` lists what it knows`,
    );
  return { model, className, weak: card.thresholds.weak };
}

function describeMisfit(trueCount: number, clipCount: number, isWhole: boolean): string | null {
  const counts = `the ground truth has ${trueCount} frames, the clip`;
  if (clipCount < trueCount) return `${counts} only ${clipCount}: what it lacks counts as missed`;
  if (clipCount === trueCount) return null;
  return isWhole
    ? `${counts} ${clipCount}: whatever is found beyond it counts as wrong`
    : `${counts} ${clipCount}: the rest is not scored; --whole scores it too`;
}

function note(terminal: Terminal, text: string): void {
  terminal.say(terminal.isJson ? JSON.stringify({ type: "note", text }) : text);
}

interface Asked {
  readonly clip: string;
  readonly model: string;
  readonly class: string;
}

function asJson(asked: Asked, { ap50, tracking }: ClipScores, framesPerSecond: number): string {
  const { frames } = tracking;
  const { framesPerSecond: _, ...scores } = toJson({ scores: tracking, frames, framesPerSecond });
  return JSON.stringify(
    { ...asked, AP50: toPercent(ap50), ...scores, framesPerSecond: Math.round(framesPerSecond * 10) / 10 },
    null,
    2,
  );
}

function asTable(
  asked: Asked,
  { ap50, tracking }: ClipScores,
  framesPerSecond: number,
  { paintOut }: Terminal,
): string {
  const { hota, detA, assA, mota, idf1, switches, frames } = tracking;
  const shares = [ap50, hota, detA, assA, mota, idf1].map((share) => (share * 100).toFixed(1));
  const heads = ["", "AP50", "HOTA", "DetA", "AssA", "MOTA", "IDF1", "IDSW", "frames", "frames/s"];
  const row = [
    `${asked.class}, ${asked.model}`,
    ...shares,
    String(switches),
    String(frames),
    formatRate(framesPerSecond),
  ];
  return alignTable(heads, [row], paintOut);
}
