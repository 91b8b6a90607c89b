import { accessSync, constants, mkdirSync } from "node:fs";
import { mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, EXIT, expectPositionals, Given } from "../command.ts";
import { compileAtPace, compileGraph, type Knowledge, loadKnowledge } from "../compile-graph.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { runGraph } from "../run/run-graph.ts";
import { type RunSettings, readSettings } from "../run/settings.ts";
import type { Terminal } from "../terminal.ts";
import { formatBytes } from "../text.ts";

const CLIP_SECONDS = 4;
const PICTURE_SECONDS = 2;
const SHOWN_LINES = 2;

export default {
  name: "demo",
  about: "Runs the first graph on a clip made for it, and says what it did.",
  usage: "",
  options: {},
  examples: ["demo"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "nothing after demo");
    const knowledge = await loadKnowledge(terminal);
    const folder = await makeFolder();
    const clip = join(folder, "clip.mp4");
    const picture = join(folder, "frame.png");
    const { paintErr: paint } = terminal;

    terminal.say(paint("bold", `Making a clip: ${CLIP_SECONDS} s of a moving ball, with the graph "record" …`));
    const pattern = `test:ball?width=640&height=360&fps=25&seconds=${CLIP_SECONDS}`;
    const quiet = { ...readSettings(new Given([], {})), quiet: true };
    const made = await start("record", pattern, { path: clip }, quiet, knowledge, terminal);
    if (made !== EXIT.ok) return made;
    terminal.say(`  ${clip}: H.264 in MP4, ${formatBytes((await stat(clip)).size)}`);

    terminal.say(paint("bold", '\nRunning the graph "demo" on it at real pace …'));
    const lines: string[] = [];
    const print = async (line: string): Promise<void> => void lines.push(line);
    const settings: RunSettings = {
      ...readSettings(new Given([], { snapshot: [`decode@${PICTURE_SECONDS}s=${picture}`] })),
      pace: "realtime",
    };
    const ran = await start("demo", clip, {}, settings, knowledge, terminal, print);
    if (ran !== EXIT.ok) return ran;
    await terminal.print(report(clip, picture, lines));
    return EXIT.ok;
  },
} satisfies Command;

function report(clip: string, picture: string, lines: readonly string[]): string {
  return [
    "",
    "What happened:",
    `  A file was decoded, and every frame went through a TypeScript element that`,
    `  prints a line about it, ${lines.length} in all; among them`,
    ...lines.slice(0, SHOWN_LINES).map((line) => `    ${line}`),
    `  The picture at ${PICTURE_SECONDS} s is in ${picture}`,
    "",
    "What to type next:",
    `  npx windhover run demo ${clip} --frames 50`,
    "      the same, with all its lines",
    `  npx windhover run demo ${clip} --pace realtime --stats > /dev/null`,
    "      the same, with a table of what every step takes",
    "  npx windhover explain demo",
    "      what the graph becomes",
    "  npx windhover inspect",
    "      what graphs are made of",
    "  npx windhover help",
  ].join("\n");
}

function start(
  graph: string,
  uri: string,
  params: Readonly<Record<string, string>>,
  settings: RunSettings,
  knowledge: Knowledge,
  terminal: Terminal,
  print?: (line: string) => Promise<void>,
): Promise<number> {
  const files = new GraphFiles(locateGraph(graph));
  const origin = {
    compile: () =>
      compileAtPace((source) => compileGraph(files, { params }, { ...knowledge, source }), uri, settings.pace),
    textOf: (file: string | null) => files.textOf(file),
    files: () => files.files,
    ...(print && { print }),
  };
  return runGraph(origin, settings, knowledge, terminal);
}

/** Beside what else is built, or elsewhere where that may not be written. */
async function makeFolder(): Promise<string> {
  const folder = fileURLToPath(new URL("../../build/demo", import.meta.url));
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    const shown = relative(process.cwd(), folder);
    return shown.startsWith("..") ? folder : shown;
  } catch {
    return mkdtemp(join(tmpdir(), "windhover-demo-"));
  }
}
