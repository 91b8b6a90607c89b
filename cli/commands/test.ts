/** `test`: runs the tests of graph files, one after the other in this process. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { compile } from "../../graphs/compiler/compile.ts";
import type { GraphTest } from "../../graphs/compiler/document.ts";
import { GraphFaults } from "../../graphs/compiler/fault.ts";
import { MAX_TEXT_BYTES } from "../../graphs/compiler/limits.ts";
import { readFolders } from "../../schemas/folders.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type Command, EXIT, UsageFault } from "../command.ts";
import { loadKnowledge } from "../compile-graph.ts";
import { showFaults } from "../faults.ts";
import { expectRoom, writeText } from "../files.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { type PreparedTest, prepareTest, type TestWorld } from "../graph-tests/prepare-test.ts";
import { formatJunit, formatResult, formatTap, formatTotal } from "../graph-tests/report.ts";
import { type FileTestResult, runTest } from "../graph-tests/run-test.ts";
import { listKnownClasses } from "../replay/play-clip.ts";
import { onInterrupt } from "../run/interrupt.ts";
import type { Terminal } from "../terminal.ts";

/** Without a workspace. */
const FOLDER = "graphs";
const TIMEOUT_SECONDS = 600;

export default {
  name: "test",
  about: "Run the tests that graph files have, and report what differs from their expectations.",
  usage: "[FILE…]",
  options: {
    only: { type: "string", multiple: true, value: "NAME", about: "Run only the tests of this name." },
    timeout: { type: "string", value: "SECONDS", about: `Time limit of each test; default: ${TIMEOUT_SECONDS}.` },
    record: {
      type: "boolean",
      about: "Write the golden files that the tests name, instead of comparing with them. Review the difference.",
    },
    tap: { type: "boolean", about: "Print the results in the Test Anything Protocol (TAP 14)." },
    junit: { type: "string", value: "FILE", about: "Also write the results as JUnit XML." },
  },
  notes: [
    `FILE is a graph file, or the name of a template; default: all graph files with \`tests:\` of the workspace, or below the folder ${FOLDER}.`,
    "Clips are searched beside the graph file, then in `clips` of the workspace, then among the downloaded clips in the cache.",
    "Exit codes: 0 all tests passed, 1 a test failed, 2 a graph or test is invalid, or there is nothing to run.",
  ].join("\n"),
  examples: ["test", "test yard.yaml --only people-cross", "test --tap --junit results.xml", "test yard.yaml --record"],
  async run(given, terminal) {
    const junit = given.text("junit");
    if (junit !== undefined) expectRoom("junit", junit);
    const only = given.texts("only");
    const timeoutSeconds = given.number("timeout", "any") ?? TIMEOUT_SECONDS;
    const names = given.positionals.length > 0 ? given.positionals.map(locateGraph) : findGraphs();
    const world = { ...(await loadKnowledge(terminal)), classNames: await listKnownClasses() };
    const found = names.map((name) => prepareFile(new GraphFiles(name), only, world, terminal));
    const tests = found.flatMap(({ prepared }) => prepared);
    const isInvalid = found.some((file) => file.isInvalid);
    if (tests.length === 0 && !isInvalid)
      throw new UsageFault(
        explainNothing(
          only,
          found.flatMap(({ all }) => all),
        ),
      );
    const settings = { timeoutSeconds, isTap: given.flag("tap"), isRecording: given.flag("record") };
    const results = await runAll(tests, settings, world, terminal);
    if (junit !== undefined) await writeText(junit, formatJunit(results));
    if (isInvalid) return EXIT.refused;
    const isComplete = results.length === tests.length;
    return isComplete && results.every(({ failures }) => failures.length === 0) ? EXIT.ok : EXIT.failed;
  },
} satisfies Command;

/** Graph files with tests, in the order of their names. */
function findGraphs(): readonly string[] {
  const { graphs } = readFolders();
  if (graphs.length > 0) return graphs.flatMap((folder) => listTested(relative("", folder)));
  if (!statSync(FOLDER, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageFault(`there is no workspace and no folder ${FOLDER} here; name the FILEs with tests`);
  return listTested(FOLDER);
}

const listTested = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ya?ml$/i.test(name) && !name.includes("node_modules"))
    .map((name) => join(folder, name))
    .filter(mayHaveTests)
    .sort();

/** A file that is too large is reported by the compiler. */
function mayHaveTests(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() !== true) return false;
  return found.size > MAX_TEXT_BYTES || /^tests:/m.test(readFileSync(file, "utf8"));
}

interface PreparedFile {
  readonly prepared: readonly PreparedTest[];
  /** Names of all tests of the file. */
  readonly all: readonly string[];
  /** It has faults, which were shown. */
  readonly isInvalid: boolean;
}

function prepareFile(files: GraphFiles, only: readonly string[], world: TestWorld, terminal: Terminal): PreparedFile {
  try {
    const { faults, tests } = compile(files.read(), { ...world, load: files.loader(), mode: "check" });
    showFaults(faults, files.textOf, terminal);
    const chosen = tests.filter(({ name }: GraphTest) => only.length === 0 || only.includes(name));
    const ready = chosen.map((test) => prepareTest(test, files, world));
    for (const preparation of ready) showFaults(preparation.faults, files.textOf, terminal);
    return {
      prepared: ready.flatMap(({ prepared }) => prepared ?? []),
      all: tests.map(({ name }) => name),
      isInvalid: faults.length > 0 || ready.some(({ prepared }) => prepared === null),
    };
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    showFaults(error.faults, files.textOf, terminal);
    return { prepared: [], all: [], isInvalid: true };
  }
}

function explainNothing(only: readonly string[], all: readonly string[]): string {
  if (all.length === 0) return "there are no tests; add `tests:` to a graph file";
  const hint = only.map((name) => didYouMean(name, all)).join("");
  return `no test is named ${only.map((name) => `"${name}"`).join(" or ")}; there are ${all.join(", ")}${hint}`;
}

interface RunSettings {
  readonly timeoutSeconds: number;
  readonly isTap: boolean;
  readonly isRecording: boolean;
}

/** An interrupt ends the current test and leaves out the rest. */
async function runAll(
  tests: readonly PreparedTest[],
  { timeoutSeconds, isTap, isRecording }: RunSettings,
  world: TestWorld,
  terminal: Terminal,
): Promise<readonly FileTestResult[]> {
  const stop = new AbortController();
  const removeSignals = onInterrupt(
    () => stop.abort(),
    () => process.exit(EXIT.failed),
  );
  const results: FileTestResult[] = [];
  try {
    if (isTap) await terminal.print(`TAP version 14\n1..${tests.length}`);
    for (const prepared of tests) {
      if (stop.signal.aborted) break;
      const settings = { timeoutSeconds, isRecording, signal: stop.signal };
      const result = await runTest(prepared, settings, world, terminal);
      if (!isTap && results.at(-1)?.file !== result.file) await terminal.print(result.file);
      results.push(result);
      await terminal.print(isTap ? formatTap(result, results.length) : formatResult(result, terminal.paintOut));
    }
    if (!isTap) await terminal.print(formatTotal(results));
  } finally {
    removeSignals();
  }
  return results;
}
