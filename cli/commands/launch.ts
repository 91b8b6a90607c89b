import { compileLaunch } from "../../graphs/compiler/compile.ts";
import { type Command, UsageFault } from "../command.ts";
import { compileAtPace, loadKnowledge } from "../compile-graph.ts";
import { runGraph } from "../run/run-graph.ts";
import { RUN_NOTES, RUN_OPTIONS, readSettings } from "../run/settings.ts";

export default {
  name: "launch",
  about: "Runs a graph written as one line, as gst-launch does.",
  usage: "'ELEMENT property=value ! ELEMENT …' [option…]",
  options: RUN_OPTIONS,
  notes: [
    "Put the line into quotes: ! means something to shells. Elements are Windhover's and GStreamer's; `name=x` names one, `x.` goes on from it, `x.video_0` from one of its pads; `sink_1::xpos=320` is a property of a pad.",
    "As with gst-launch -e, Ctrl-C ends the stream; --log is its --gst-debug.",
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

/** A line in quotes is one word. Without them the shell has split it, and taken away the quotes around spaces. */
const joinWords = (words: readonly string[]): string =>
  words.length === 1 ? words.join() : words.map((word) => word.replace(/\s/g, "\\$&")).join(" ");
