import { existsSync } from "node:fs";
import { type Command, CommandFailure, EXIT } from "../command.ts";
import { expectRoom } from "../expect-room.ts";
import { defaultGolden, writeGolden } from "../golden/golden-file.ts";
import { makeRecording } from "../golden/recording.ts";
import { readGoldenWords } from "../golden/words.ts";

export default {
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
