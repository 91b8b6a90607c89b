import { type Command, EXIT } from "../command.ts";
import { compareGoldens } from "../golden/compare.ts";
import { defaultGolden, readGolden } from "../golden/golden-file.ts";
import { compareOrigins } from "../golden/identify.ts";
import { makeRecording } from "../golden/recording.ts";
import { reportComparison, summarise } from "../golden/report.ts";
import { chooseLevel, LEVELS, readLevel } from "../golden/tolerance.ts";
import { readGoldenWords, writeRecordWords } from "../golden/words.ts";

const { margin, iou, pixels, points, share, frames, overall, relative } = LEVELS.other;

export default {
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
