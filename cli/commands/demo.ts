import { accessSync, constants, mkdirSync } from "node:fs";
import { mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, EXIT, expectPositionals, Given } from "../command.ts";
import { loadKnowledge } from "../compile-graph.ts";
import { type RunSettings, readSettings } from "../run/settings.ts";
import { formatBytes } from "../text.ts";
import { runGraphFile } from "./run.ts";

const CLIP_SECONDS = 4;
const PICTURE_SECONDS = 2;
const SHOWN_LINES = 2;

export default {
  name: "demo",
  about: "Run a first graph on a generated clip, and explain the result.",
  usage: "",
  options: {},
  examples: ["demo"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no arguments");
    const knowledge = await loadKnowledge(terminal);
    const folder = await makeFolder();
    const clip = join(folder, "clip.mp4");
    const picture = join(folder, "frame.png");
    const { paintErr: paint } = terminal;

    terminal.say(paint("bold", `Recording a clip: ${CLIP_SECONDS} s of a moving ball, with the graph "record" …`));
    const pattern = `test:ball?width=640&height=360&fps=25&seconds=${CLIP_SECONDS}`;
    const quiet = { ...readSettings(new Given([], {})), quiet: true };
    const load = async () => knowledge;
    const recording = { graph: "record", source: pattern, params: { path: clip } };
    const made = await runGraphFile(recording, quiet, load, terminal);
    if (made !== EXIT.ok) return made;
    terminal.say(`  ${clip}: H.264 in MP4, ${formatBytes((await stat(clip)).size)}`);

    terminal.say(paint("bold", '\nRunning the graph "demo" on it in real time …'));
    const lines: string[] = [];
    const print = async (line: string): Promise<void> => void lines.push(line);
    const settings: RunSettings = {
      ...readSettings(new Given([], { snapshot: [`decode@${PICTURE_SECONDS}s=${picture}`] })),
      pace: "realtime",
    };
    const ran = await runGraphFile({ graph: "demo", source: clip, params: {} }, settings, load, terminal, print);
    if (ran !== EXIT.ok) return ran;
    await terminal.print(report(clip, picture, lines));
    return EXIT.ok;
  },
} satisfies Command;

function report(clip: string, picture: string, lines: readonly string[]): string {
  return [
    "",
    "What happened:",
    "  GStreamer decoded the file. A TypeScript element received every frame and",
    `  printed a line about it, ${lines.length} lines in all, such as`,
    ...lines.slice(0, SHOWN_LINES).map((line) => `    ${line}`),
    `  The frame at ${PICTURE_SECONDS} s was saved to ${picture}`,
    "",
    "Try next:",
    `  npx windhover run demo ${clip} --frames 50`,
    "      run it again and print all lines",
    `  npx windhover run demo ${clip} --pace realtime --stats > /dev/null`,
    "      run it with statistics of every step",
    "  npx windhover explain demo",
    "      show the compiled plan",
    "  npx windhover inspect",
    "      list the elements that graphs are made of",
    "  npx windhover help",
  ].join("\n");
}

/** build/demo, or a temporary folder where that is not writable. */
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
