/** `run` and `launch`: a graph in the foreground, from a file or from one line. */
import { compileLaunch } from "../../graphs/compiler/compile.ts";
import { type Command, UsageFault } from "../command.ts";
import {
  compileAtPace,
  compileGraph,
  type GraphWords,
  type LoadedKnowledge,
  loadKnowledge,
  readGraphWords,
} from "../compile-graph.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { runGraph } from "../run/run-graph.ts";
import { RUN_NOTES, RUN_OPTIONS, type RunSettings, readSettings } from "../run/settings.ts";
import type { Terminal } from "../terminal.ts";

export const run = {
  name: "run",
  about: "Run a graph on a source.",
  usage: "GRAPH [SOURCE] [param=value…] [option…]",
  options: {
    ...RUN_OPTIONS,
    watch: {
      type: "boolean",
      about:
        "Apply the graph file, and elements of the workspace, to the running graph whenever they are saved. A source that ends starts again, until Ctrl-C or the limit of --frames or --seconds.",
    },
  },
  notes: [
    "GRAPH is a file (a path with a slash, or a name ending in .yaml) or the name of a template. SOURCE is a file, an rtsp or rtmp URL, or test:PATTERN; leave it out if the graph names its own source.",
    RUN_NOTES,
  ].join("\n"),
  examples: [
    "run demo test:ball --frames 50",
    "run record rtsp://camera/stream path=yard.mp4 --seconds 60",
    "run preview clip.mp4 poster=poster.jpg --watch --stats",
    "run demo clip.mp4 --snapshot decode@12.5s=frame.png --quiet",
    "run preview clip.mp4 --attach recording:path=out.mp4,bitrate=800",
    "run detect clip.mp4 classes=person,car --video out.mp4",
    "run detect clip.mp4 --frames 200 --trace trace.json",
    "run detect flight.mp4 --telemetry flight.ndjson telemetry_offset_ms=-200",
    "run detect flight.mp4 --telemetry flight.ndjson --tracks flight.kml",
  ],
  async run(given, terminal) {
    const settings = readSettings(given);
    const words = readGraphWords(given.positionals);
    return runGraphFile(words, settings, () => loadKnowledge(terminal), terminal);
  },
} satisfies Command;

export const launch = {
  name: "launch",
  about: "Run a graph written as one line, as gst-launch does.",
  usage: "'ELEMENT property=value ! ELEMENT …' [option…]",
  options: RUN_OPTIONS,
  notes: [
    "Quote the line: shells interpret the character !. Elements are Windhover's and GStreamer's; `name=x` names one, `x.` continues from it, `x.video_0` from one of its pads; `sink_1::xpos=320` is a property of a pad.",
    "As with gst-launch -e, Ctrl-C ends the stream; --log corresponds to --gst-debug.",
    RUN_NOTES,
  ].join("\n"),
  examples: [
    "launch 'source uri=test:ball ! decode ! print' --frames 50",
    "launch 'source uri=clip.mp4 ! decode ! encode ! record path=out.mp4' --stats",
    "launch 'videotestsrc num-buffers=100 ! tee name=t ! queue ! print t. ! queue ! fakesink'",
  ],
  async run(given, terminal) {
    const settings = readSettings(given);
    const line = joinWords(given.positionals);
    if (line.trim() === "") throw new UsageFault("missing: the line to launch, 'element ! element'");
    const knowledge = await loadKnowledge(terminal);
    const origin = {
      compile: () => compileAtPace((source) => compileLaunch(line, { ...knowledge, source }), null, settings.pace),
      textOf: () => line,
      files: () => [],
    };
    return runGraph(origin, settings, knowledge, terminal);
  },
} satisfies Command;

/** Resolves with the exit code. `print` receives the lines that the graph prints, in place of standard output. */
export async function runGraphFile(
  words: GraphWords,
  settings: RunSettings,
  load: () => Promise<LoadedKnowledge>,
  terminal: Terminal,
  print?: (line: string) => Promise<void>,
): Promise<number> {
  const files = new GraphFiles(locateGraph(words.graph));
  const knowledge = await load();
  const origin = {
    compile: () =>
      compileAtPace((source) => compileGraph(files, words, { ...knowledge, source }), words.source, settings.pace),
    textOf: files.textOf,
    files: () => files.files,
    ...(print && { print }),
  };
  return runGraph(origin, settings, knowledge, terminal);
}

/** A quoted line is one word. Without quotes the shell has split it and removed the quotes around spaces. */
const joinWords = (words: readonly string[]): string =>
  words.length === 1 ? words.join() : words.map((word) => word.replace(/\s/g, "\\$&")).join(" ");
