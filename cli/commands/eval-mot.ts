import { createTracker, PRESETS } from "../../elements/track/presets.ts";
import { type Command, EXIT, expectPositionals, type Given, UsageFault } from "../command.ts";
import { writeText } from "../draw-svg.ts";
import { type Evaluation, evaluateMot, type Origin } from "../eval/mot/evaluate.ts";
import { formatScores, toJson } from "../eval/mot/report.ts";
import { listSequences } from "../eval/mot/sequence-folder.ts";
import { drawScores } from "../eval/plot/draw-scores.ts";
import { Progress } from "../eval/progress.ts";
import { expectRoom } from "../expect-room.ts";
import type { Terminal } from "../terminal.ts";

export default {
  name: "eval mot",
  about: "Tracks the detections of MOT sequences and scores the tracks against the ground truth.",
  usage: "DIR (--detections FILE | --results FOLDER)",
  options: {
    detections: {
      type: "string",
      value: "FILE",
      about: "Detections to be tracked: a file in the folder of each sequence.",
    },
    tracker: { type: "string", value: "NAME", about: `Settings of the tracker: ${PRESETS.join(", ")}.` },
    out: { type: "string", value: "FOLDER", about: "Write what was tracked there, as SEQUENCE.txt each." },
    results: {
      type: "string",
      value: "FOLDER",
      about: "Score the SEQUENCE.txt of this folder instead, made elsewhere.",
    },
    plot: {
      type: "string",
      value: "FILE.svg",
      about: "Draw the scores over the overlap, and every object's tracks over time.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes: [
    "DIR has a folder for each sequence, with seqinfo.ini (frameRate, seqLength), gt.txt and FILE. Rows are frame,id,left,top,width,height,confidence; rows of gt.txt with confidence 0 are not scored.",
    "HOTA, DetA, AssA and LocA are means over the overlaps 0.05 to 0.95; MOTA, IDF1 and what is counted hold at 0.5. All are as TrackEval has them without its preprocessing, in percent; IDSW are id switches. frames/s is the tracker alone, in a second pass over all sequences: the first, which gives the results, warms it up.",
  ].join("\n"),
  examples: [
    "eval mot sequences --detections det.txt",
    "eval mot sequences --detections det.txt --tracker byte --out tracked --plot byte.svg",
    "eval mot sequences --results tracked --json",
  ],
  async run(given, terminal) {
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
  },
} satisfies Command;

function readOrigin(given: Given): Origin {
  const file = given.text("detections");
  const folder = given.text("results");
  if ((file === undefined) === (folder === undefined))
    throw new UsageFault(
      "expected --detections FILE to track, or --results FOLDER to score what was tracked elsewhere",
    );
  if (folder !== undefined) {
    const idle = ["tracker", "out"].find((name) => given.text(name) !== undefined);
    if (idle !== undefined) throw new UsageFault(`--${idle} goes with --detections: with --results nothing is tracked`);
    return { kind: "results", folder };
  }
  const preset = given.choice("tracker", PRESETS) ?? "default";
  return { kind: "detections", file: file ?? "", createTracker: () => createTracker(preset), out: given.text("out") };
}

async function print({ sequences, combined, leftOut }: Evaluation, given: Given, terminal: Terminal): Promise<void> {
  if (leftOut > 0) {
    const text = `${leftOut} detections without area were left out`;
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
