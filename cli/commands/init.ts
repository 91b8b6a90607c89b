/** `init`: a new workspace, with a first graph, element, test, clip and golden file. */
import { basename, join, relative, resolve } from "node:path";
import { quoteShell } from "../../graphs/compiler/plan-to-text.ts";
import { type Command, CommandFailure, EXIT, expectPositionals, Given } from "../command.ts";
import { loadKnowledge } from "../compile-graph.ts";
import { defaultGolden, writeGolden } from "../golden/golden.ts";
import { makeRecording } from "../golden/recording.ts";
import { emptyFolder, expectEmpty, writeTemplate } from "../init/write-template.ts";
import { onStopSignal } from "../run/interrupt.ts";
import { readSettings } from "../run/settings.ts";
import type { Terminal } from "../terminal.ts";
import { openWorkspace } from "../workspace.ts";
import { runGraphFile } from "./run.ts";

const GRAPH = "first";
const CLIP = join("clips", "ball.mp4");
const PATTERN = "test:ball?width=320&height=180&fps=25&seconds=4";

export default {
  name: "init",
  about: "Create a workspace: a folder for graphs, elements and models of your own.",
  usage: "FOLDER",
  options: {},
  notes:
    "FOLDER must be new or empty. The workspace has a first graph with an element, its test, a clip, and a golden file. All commands that run in it find its graphs and models by name, and its elements.",
  examples: ["init my-site"],
  standalone: true,
  async run(given, terminal) {
    expectPositionals(given, 1, 1, "the FOLDER to create");
    const folder = resolve(given.positionals[0] ?? "");
    const home = process.cwd();
    expectEmpty(folder);
    const removeSignals = onStopSignal(() => {
      emptyFolder(folder);
      process.exit(EXIT.failed);
    });
    try {
      writeTemplate(folder, basename(folder));
      process.chdir(folder);
      await recordFirst(terminal);
    } catch (error) {
      emptyFolder(folder);
      throw error;
    } finally {
      removeSignals();
      process.chdir(home);
    }
    await terminal.print(describeNext(relative(home, folder) || "."));
    return EXIT.ok;
  },
} satisfies Command;

/** The clip, and the messages of the first graph on it. */
async function recordFirst(terminal: Terminal): Promise<void> {
  await openWorkspace();
  const quiet = { ...readSettings(new Given([], {})), quiet: true };
  const recording = { graph: "record", source: PATTERN, params: { path: CLIP } };
  const code = await runGraphFile(recording, quiet, () => loadKnowledge(terminal), terminal);
  const golden =
    code === EXIT.ok && (await makeRecording({ graph: GRAPH, clip: CLIP, params: {}, frames: null }, terminal));
  if (!golden) throw new CommandFailure("the first clip could not be recorded, for the reason above");
  writeGolden(defaultGolden(GRAPH, CLIP), golden);
}

const describeNext = (folder: string): string =>
  [
    `Created a workspace in ${folder}.`,
    "",
    "Try next:",
    `  cd ${quoteShell(folder)}`,
    `  npx windhover run ${GRAPH} ${CLIP}`,
    `  npx windhover run ${GRAPH} ${CLIP} --watch --pace realtime`,
    "      while it runs, change elements/brightness/brightness.ts and save it",
    "  npm install && npm test",
    "      types for your editor, and the tests of the elements",
    "  README.md says what is where.",
  ].join("\n");
