/** `GRAPH CLIP [FILE] [param=value…]`. */

import { existsSync } from "node:fs";
import { quoteShell } from "../../graphs/compiler/gst-launch.ts";
import { type Command, CommandFailure, EXIT, UsageFault } from "../command.ts";
import { readGraphWords } from "../compile-graph.ts";
import { expectRoom } from "../files.ts";
import { compareGoldens } from "../golden/compare.ts";
import { defaultGolden, readGolden, writeGolden } from "../golden/golden.ts";
import { compareOrigins, makeRecording } from "../golden/recording.ts";
import { reportComparison, summarise } from "../golden/report.ts";
import { chooseLevel, LEVELS, readLevel } from "../golden/tolerance.ts";

export interface GoldenWords {
  readonly graph: string;
  readonly clip: string;
  readonly file: string | null;
  readonly params: Readonly<Record<string, string>>;
}

const isParam = (word: string): boolean => /^[A-Za-z][\w-]*=/.test(word);

/** `files` is how many words may follow CLIP. */
export function readGoldenWords(positionals: readonly string[], files: 0 | 1): GoldenWords {
  const words = positionals.filter((word) => !isParam(word));
  const [graph, clip, file, extra] = words;
  if (graph === undefined || clip === undefined) throw new UsageFault("missing: GRAPH and CLIP, as in detect clip.mp4");
  const tooMuch = files === 0 ? file : extra;
  if (tooMuch !== undefined)
    throw new UsageFault(
      `"${tooMuch}" is too much; expected GRAPH CLIP${files === 0 ? "" : " [FILE]"}, and parameters as name=value`,
    );
  if (/^(rtsps?|rtmps?|test):/i.test(clip))
    throw new UsageFault(`CLIP is "${clip}"; expected a file: only a file gives the same frames every time`);
  const { params } = readGraphWords([graph, ...positionals.filter(isParam)]);
  return { graph, clip, file: file ?? null, params };
}

/** The command line that records what is missing. */
export function writeRecordWords({ graph, clip, params }: GoldenWords, file: string, isDefault: boolean): string {
  const assignments = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  return ["golden", "record", graph, clip, ...assignments, ...(isDefault ? [] : ["-o", file])]
    .map(quoteShell)
    .join(" ");
}

export const goldenRecord = {
  name: "golden record",
  about: "Runs a graph on a clip and keeps every message it sends, for `golden check` to compare with.",
  usage: "GRAPH CLIP [param=value…] [-o FILE]",
  options: {
    output: {
      type: "string",
      short: "o",
      value: "FILE",
      about: "Where to; default CLIP.GRAPH.golden.ndjson beside the clip.",
    },
    frames: { type: "string", value: "N", about: "Only the first N frames of the clip." },
    force: { type: "boolean", about: "Replace a golden that is there." },
    json: { type: "boolean", about: "Say what was written as JSON on standard output." },
  },
  notes: [
    "The file is lines of JSON: what it was recorded from (graph, parameters, digests of the clip, of the model's weights and of the network that runs), then one line a message. Keep it under version control: what changes shows there.",
    "It holds what the graph says today. Whether that is right is for eyes: `windhover run GRAPH CLIP --video out.mp4`.",
  ].join("\n"),
  examples: [
    "golden record detect clip.mp4",
    "golden record detect clip.mp4 model=quality --frames 200 -o yard.golden.ndjson",
  ],
  async run(given, terminal) {
    const words = readGoldenWords(given.positionals, 0);
    const file = given.text("output") ?? defaultGolden(words.graph, words.clip);
    expectRoom("output", file);
    if (existsSync(file) && !given.flag("force"))
      throw new CommandFailure(`there is a golden already: ${file}\n  --force replaces it, -o FILE writes another`);
    const golden = await makeRecording({ ...words, frames: given.number("frames", "whole") ?? null }, terminal);
    if (golden === null) return EXIT.refused;
    writeGolden(file, golden);
    const messages = golden.said.length;
    if (given.flag("json")) await terminal.print(JSON.stringify({ file, messages, ...golden.header }));
    else await terminal.print(`recorded: ${file}, ${messages} messages`);
    return EXIT.ok;
  },
} satisfies Command;

const { margin, iou, pixels, points, share, frames, overall, relative } = LEVELS.other;

export const goldenCheck = {
  name: "golden check",
  about: "Runs a graph on a clip again and says what is different from its golden.",
  usage: "GRAPH CLIP [FILE] [param=value…]",
  options: {
    tolerance: {
      type: "string",
      value: "exact|same|other",
      about: "How much may differ: nothing, what rounds differently on one machine, or on another; see below.",
    },
    json: { type: "boolean", about: "Print the comparison as JSON on standard output." },
  },
  notes: [
    "FILE is what `golden record` wrote; default CLIP.GRAPH.golden.ndjson beside the clip. Parameters and the number of frames are taken from it; parameters given here go before.",
    `The same kind of machine that runs the same network gives the same: boxes within ${LEVELS.same.pixels} pixels, confidences within ${LEVELS.same.points} points, every id. That is \`same\`; \`exact\` is every byte.`,
    `Another processor rounds differently, or runs weights that are stored for it. So \`other\` compares what a user would call the same: objects that one of the runs is confident of, ${margin} points above the threshold of the model. Each must be there in the other run, of the same class, with an overlap (IoU) of at least ${iou} or edges at most ${pixels} pixels apart, a confidence within ${points} points, and must keep its id from frame to frame. Up to ${share} % of them may differ, none for more than ${frames} frames in a row; an object that was hidden may come back with another id. Over all of them: confidence within ${overall.points} point, each edge within ${overall.percent} % of the box, overlap at least ${overall.iou}, at least ${overall.identity} % of one track in both runs, and the highest id within ${overall.ids} %. Any other number may differ by ${relative * 100} %.`,
    "Without --tolerance the golden says whether it is of the same kind of machine and network.",
    "Exit codes: 0 the same, 1 different or failed, 2 bad graph or bad command line.",
  ].join("\n"),
  examples: [
    "golden check detect clip.mp4",
    "golden check detect clip.mp4 yard.golden.ndjson --tolerance exact",
    "golden check detect clip.mp4 confidence=0.5 --json",
  ],
  async run(given, terminal) {
    const words = readGoldenWords(given.positionals, 1);
    const asked = readLevel(given.text("tolerance"));
    const file = words.file ?? defaultGolden(words.graph, words.clip);
    const golden = readGolden(file, writeRecordWords(words, file, words.file === null));
    const { params: kept, frames } = golden.header;
    const now = await makeRecording({ ...words, kept, frames }, terminal);
    if (now === null) return EXIT.refused;
    const tolerance = asked ?? chooseLevel(golden.header, now.header);
    const streams = compareGoldens(golden, now, tolerance);
    const notes = [
      ...Object.entries(words.params).map(
        ([name, value]) => `with ${name}=${value}, which the golden was not recorded with`,
      ),
      ...compareOrigins(golden.header, now.header),
    ];
    const same = streams.every(({ differences }) => differences.length === 0);
    if (given.flag("json")) {
      const summaries = streams.map((stream) => ({ ...summarise(stream), differences: stream.differences }));
      await terminal.print(JSON.stringify({ same, golden: file, notes, tolerance, streams: summaries }));
    } else {
      for (const note of notes) await terminal.print(`${terminal.paintOut("yellow", "note:")} ${note}`);
      for (const line of reportComparison(streams, terminal.paintOut)) await terminal.print(line);
    }
    return same ? EXIT.ok : EXIT.failed;
  },
} satisfies Command;
