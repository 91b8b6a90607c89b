import { type Command, EXIT } from "../command.ts";
import { compareGoldens } from "../golden/compare.ts";
import { defaultGolden, readGolden } from "../golden/golden-file.ts";
import { compareOrigins } from "../golden/identify.ts";
import { makeRecording } from "../golden/recording.ts";
import { reportComparison, summarise } from "../golden/report.ts";
import { DEFAULT_TOLERANCE, readTolerance } from "../golden/tolerance.ts";
import { readGoldenWords, writeRecordWords } from "../golden/words.ts";

const { iou, pixels, points, frames, share, relative } = DEFAULT_TOLERANCE;

export default {
  name: "golden check",
  about: "Runs a graph on a clip again and says what is different from its golden.",
  usage: "GRAPH CLIP [FILE] [param=value…]",
  options: {
    tolerance: {
      type: "string",
      value: "name=value,…",
      about: "How much may differ, see below; exact for nothing at all.",
    },
    json: { type: "boolean", about: "Print the comparison as JSON on standard output." },
  },
  notes: [
    "FILE is what `golden record` wrote; default CLIP.GRAPH.golden.ndjson beside the clip. Parameters and the number of frames are taken from it; parameters given here go before.",
    `The same machine gives the same bytes, another one may not: an int8 model may come out a step of its scale higher or lower. So boxes are the same from an overlap (IoU) of ${iou} on or with edges ${pixels} pixels apart, confidences up to ${points} points. Objects that near to a threshold, and tracks that begin, end or pause up to ${frames} frames apart, may be on one side only, up to ${share} % of all; objects that appear that near to each other may have swapped ids. Any other number may differ by ${relative * 100} %.`,
    `As options: --tolerance iou=${iou},pixels=${pixels},points=${points},frames=${frames},share=${share},relative=${relative}`,
    "Exit codes: 0 the same, 1 different or failed, 2 bad graph or bad command line.",
  ].join("\n"),
  examples: [
    "golden check detect clip.mp4",
    "golden check detect clip.mp4 yard.golden.ndjson --tolerance iou=0.9,points=3",
    "golden check detect clip.mp4 confidence=0.5 --json",
  ],
  async run(given, terminal) {
    const words = readGoldenWords(given.positionals, 1);
    const tolerance = readTolerance(given.text("tolerance"));
    const file = words.file ?? defaultGolden(words.graph, words.clip);
    const golden = readGolden(file, writeRecordWords(words, file, words.file === null));
    const { params: kept, frames } = golden.header;
    const now = await makeRecording({ ...words, kept, frames }, terminal);
    if (now === null) return EXIT.refused;
    const streams = compareGoldens(golden, now, tolerance);
    const notes = [
      ...compareOrigins(golden.header, now.header),
      ...Object.entries(words.params).map(
        ([name, value]) => `with ${name}=${value}, which the golden was not recorded with`,
      ),
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
