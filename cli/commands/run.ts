import type { Command } from "../command.ts";
import { compileAtPace, compileGraph, loadKnowledge, readGraphWords } from "../compile-graph.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { runGraph } from "../run/run-graph.ts";
import { RUN_NOTES, RUN_OPTIONS, readSettings } from "../run/settings.ts";

export default {
  name: "run",
  about: "Runs a graph on a source.",
  usage: "GRAPH [SOURCE] [param=value…] [option…]",
  options: {
    ...RUN_OPTIONS,
    watch: { type: "boolean", about: "Apply the graph file to the running graph whenever it is saved." },
  },
  notes: [
    "GRAPH is a file (with a slash, or ending in .yaml) or the name of a template. SOURCE is a file, an rtsp or rtmp URL or test:PATTERN; it may be left out when the graph names its own.",
    RUN_NOTES,
  ].join("\n"),
  examples: [
    "run demo test:ball --frames 50",
    "run record rtsp://camera/stream path=yard.mp4 --seconds 60",
    "run preview clip.mp4 poster=poster.jpg --watch --stats",
    "run demo clip.mp4 --snapshot decode@12.5s=frame.png --quiet",
    "run preview clip.mp4 --attach recording:path=out.mp4,bitrate=800",
    "run detect clip.mp4 classes=person,car --video out.mp4",
    "run detect flight.mp4 --telemetry flight.ndjson telemetry_offset_ms=-200",
    "run detect flight.mp4 --telemetry flight.ndjson --tracks flight.kml",
  ],
  async run(given, terminal) {
    const settings = readSettings(given);
    const words = readGraphWords(given.positionals);
    const files = new GraphFiles(locateGraph(words.graph));
    const knowledge = await loadKnowledge(terminal);
    const origin = {
      compile: () =>
        compileAtPace((source) => compileGraph(files, words, { ...knowledge, source }), words.source, settings.pace),
      textOf: (file: string | null) => files.textOf(file),
      files: () => files.files,
    };
    return runGraph(origin, settings, knowledge, terminal);
  },
} satisfies Command;
