/** `golden record` and `golden check`: the messages of a graph on a clip, recorded and compared. */

import { existsSync } from "node:fs";
import { quoteShell } from "../../graphs/compiler/plan-to-text.ts";
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

/** Reads `GRAPH CLIP [FILE] [param=value…]`; FILE only if `files` is 1. */
export function readGoldenWords(positionals: readonly string[], files: 0 | 1): GoldenWords {
  const words = positionals.filter((word) => !isParam(word));
  const [graph, clip, file, extra] = words;
  if (graph === undefined || clip === undefined) throw new UsageFault("missing: GRAPH and CLIP, as in detect clip.mp4");
  const tooMuch = files === 0 ? file : extra;
  if (tooMuch !== undefined)
    throw new UsageFault(
      `unexpected argument "${tooMuch}"; expected GRAPH CLIP${files === 0 ? "" : " [FILE]"}, and parameters as name=value`,
    );
  if (/^(rtsps?|rtmps?|srt|udp|test):/i.test(clip))
    throw new UsageFault(`CLIP is "${clip}"; expected a file: only a file always gives the same frames`);
  const { params } = readGraphWords([graph, ...positionals.filter(isParam)]);
  return { graph, clip, file: file ?? null, params };
}

/** The command line that records a missing golden file. */
export function writeRecordWords({ graph, clip, params }: GoldenWords, file: string, isDefault: boolean): string {
  const assignments = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  return ["golden", "record", graph, clip, ...assignments, ...(isDefault ? [] : ["-o", file])]
    .map(quoteShell)
    .join(" ");
}

export const goldenRecord = {
  name: "golden record",
  about: "Run a graph on a clip and record every message it sends, for `golden check` to compare with.",
  usage: "GRAPH CLIP [param=value…] [-o FILE]",
  options: {
    output: {
      type: "string",
      short: "o",
      value: "FILE",
      about: "Golden file; default: CLIP.GRAPH.golden.ndjson beside the clip.",
    },
    frames: { type: "string", value: "N", about: "Record only the first N frames of the clip." },
    force: { type: "boolean", about: "Replace an existing golden file." },
    json: { type: "boolean", about: "Print a description of the recording as JSON." },
  },
  notes: [
    "The golden file has lines of JSON: a header (graph, parameters, digests of the clip, of the model weights and of the network), then one line per message. Keep it under version control to see changes.",
    "Images of alerts are left out. It records what the graph sends today. Check by eye that this is correct: `windhover run GRAPH CLIP --video out.mp4`.",
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
      throw new CommandFailure(`the golden file ${file} exists\n  --force replaces it, -o FILE writes another`);
    const golden = await makeRecording({ ...words, frames: given.number("frames", "whole") ?? null }, terminal);
    if (golden === null) return EXIT.refused;
    writeGolden(file, golden);
    const messages = golden.said.length;
    if (given.flag("json")) await terminal.print(JSON.stringify({ file, messages, ...golden.header }));
    else await terminal.print(`recorded: ${file}, ${messages} messages`);
    return EXIT.ok;
  },
} satisfies Command;

const { margin, iou, pixels, points, share, frames, overall, computed, eventsApartMs, relative } = LEVELS.other;

export const goldenCheck = {
  name: "golden check",
  about: "Run a graph on a clip again and report the differences from its golden file.",
  usage: "GRAPH CLIP [FILE] [param=value…]",
  options: {
    tolerance: {
      type: "string",
      value: "exact|same|other",
      about: "Allowed difference: none, rounding on the same kind of machine, or on another kind; see below.",
    },
    json: { type: "boolean", about: "Print the comparison as JSON on standard output." },
  },
  notes: [
    "FILE is the file written by `golden record`; default: CLIP.GRAPH.golden.ndjson beside the clip. It contains the parameters and the number of frames; parameters given here override them.",
    `The same kind of machine with the same network gives the same result: boxes within ${LEVELS.same.pixels} pixels, confidences within ${LEVELS.same.points} points, identical ids. That is \`same\`; \`exact\` compares every byte.`,
    `Another processor rounds differently, or uses weights converted for it. \`other\` therefore compares confident objects only: those with a confidence ${margin} points above the threshold of the model in one of the runs. Each must exist in the other run, with the same class, an overlap (IoU) of at least ${iou} or edges up to ${pixels} pixels apart, a confidence within ${points} points, and the same id from frame to frame. Up to ${share} % of them may differ, none for more than ${frames} consecutive frames; an object that was hidden may get another id. On average over all objects: confidence within ${overall.points} point, each edge within ${overall.percent} % of the box, overlap at least ${overall.iou}, at least ${overall.identity} % in the same track in both runs, and the highest id within ${overall.ids} %. Values that are computed from boxes, such as speeds, may differ by ${computed * 100} %. Rules of alerts send the same events in the same order, within ${eventsApartMs} ms, with the same number of tracks. Any other number may differ by ${relative * 100} %.`,
    "Without --tolerance, `same` or `other` is chosen by the machine and the network in the header.",
    "Exit codes: 0 no differences, 1 differences or failure, 2 invalid graph or command line.",
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
        ([name, value]) => `with ${name}=${value}, which differs from the golden file`,
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
