import { basename, extname } from "node:path";
import { EXIT, expectPositionals, type Given, UsageFault } from "../../cli/command.ts";
import { loadKnowledge } from "../../cli/compile-graph.ts";
import { expectFile, expectRoom, writeText } from "../../cli/files.ts";
import { explainModelFaults } from "../../cli/models/fetching.ts";
import { Progress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable, formatRate } from "../../cli/text.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import {
  type Compared,
  type EveryScores,
  formatEvery,
  readDecode,
  readEvery,
  readTiles,
  scoreEvery,
  toJson as scoresToJson,
} from "./clip/compare-every.ts";
import { runClip } from "./clip/run-clip.ts";
import { type ClipScores, scoreClip } from "./clip/score-clip.ts";
import { drawScores } from "./mot/plot.ts";
import { toJson, toPercent } from "./mot/report.ts";
import { findLastFrame, readTruth, readUnscored } from "./mot/sequences.ts";

export async function evalClip(given: Given, terminal: Terminal): Promise<number> {
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
  const compared = readCompared(given);
  if (compared.length > 0 && (plot !== undefined || given.flag("whole")))
    throw new UsageFault("--every, --decode and --tiles compare runs; they cannot be combined with --plot or --whole");
  const { model, className, weak } = await chooseModel(given);
  const asked = { clip, model, class: className };
  const progress = new Progress(terminal, "frames");
  const onFrame = (count: number): void => progress.show(count, Math.max(count, frameCount));
  const knowledge = await loadKnowledge(terminal);
  if (compared.length > 0) {
    const scores: EveryScores[] = [];
    for (const values of compared) {
      const run = await runClip({ clip, model, weak, ...values, onFrame }, knowledge);
      progress.end();
      scores.push(scoreEvery(values, run, { truth, unscored, className }));
    }
    const runs = scores.map(scoresToJson);
    await terminal.print(
      given.flag("json") ? JSON.stringify({ ...asked, runs }, null, 2) : formatEvery(scores, terminal.paintOut),
    );
    return EXIT.ok;
  }
  const { frames, framesPerSecond } = await runClip({ clip, model, weak, onFrame }, knowledge);
  progress.end();
  const isWhole = given.flag("whole");
  const misfit = describeMisfit(frameCount, frames.length, isWhole);
  if (misfit !== null) note(terminal, misfit);
  const scored = isWhole ? frames : frames.slice(0, frameCount);
  const scores = scoreClip(basename(clip, extname(clip)), truth, scored, className, unscored);
  if (plot !== undefined) await writeText(plot, drawScores([scores.tracking], scores.tracking));
  await terminal.print(
    given.flag("json") ? asJson(asked, scores, framesPerSecond) : asTable(asked, scores, framesPerSecond, terminal),
  );
  return EXIT.ok;
}

/** Every combination; empty without these options. */
function readCompared(given: Given): readonly Compared[] {
  const every = given.text("every");
  const decode = given.text("decode");
  const tiles = given.text("tiles");
  if (every === undefined && decode === undefined && tiles === undefined) return [];
  const decoded = decode === undefined ? (["all"] as const) : readDecode(decode);
  const values = every === undefined ? ([1] as const) : readEvery(every);
  const tilings = tiles === undefined ? (["none"] as const) : readTiles(tiles);
  if (tilings.includes("motion") && values.some((value) => value !== "motion"))
    throw new UsageFault("--tiles motion needs --every motion, and no other value of --every");
  return values.flatMap((value) =>
    decoded.flatMap((one) => tilings.map((tiling) => ({ every: value, decode: one, tiles: tiling }))),
  );
}

async function chooseModel(
  given: Given,
): Promise<{ readonly model: string; readonly className: string; readonly weak: number }> {
  const model = given.text("model") ?? "default";
  const className = given.text("class") ?? "person";
  const { openModel } = await import("../../models/open.ts");
  const { card, labels } = await explainModelFaults(() => openModel(model));
  if (!labels.includes(className))
    throw new UsageFault(
      `the model "${card.model}" has no class "${className}"${didYouMean(className, labels)}\n  \`windhover models show ${model}\` lists its classes`,
    );
  return { model, className, weak: card.thresholds.weak };
}

function describeMisfit(trueCount: number, clipCount: number, isWhole: boolean): string | null {
  const counts = `the ground truth has ${trueCount} frames, the clip`;
  if (clipCount < trueCount) return `${counts} only ${clipCount}: missing frames count as missed`;
  if (clipCount === trueCount) return null;
  return isWhole
    ? `${counts} ${clipCount}: detections beyond it are false positives`
    : `${counts} ${clipCount}: the rest is not scored; use --whole to score it`;
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
