/** Runs a prepared test to the end of its clip, in this process, and compares what was found with what is expected. */
import { compareNumbers, failAt, failuresOf } from "../../graphs/compiler/check-expectations.ts";
import { Tally } from "../../graphs/runtime/tally.ts";
import { ALERT_CHANNEL } from "../../schemas/alerts.ts";
import type { TestFailure, TestResult } from "../../schemas/graph-tests.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { TRACK_REPORT_CHANNEL } from "../../schemas/track-report.ts";
import { CommandFailure } from "../command.ts";
import type { Knowledge } from "../compile-graph.ts";
import { compareGoldens } from "../golden/compare.ts";
import { readGolden, type Said, writeGolden } from "../golden/golden.ts";
import { compareOrigins, identify, inOrder, MOST_MESSAGES, toRecorded } from "../golden/recording.ts";
import { describe as describeDifference } from "../golden/report.ts";
import { chooseLevel } from "../golden/tolerance.ts";
import { playClip } from "../replay/play-clip.ts";
import { Reporter } from "../run/reporter.ts";
import type { Terminal } from "../terminal.ts";
import type { PreparedTest } from "./prepare-test.ts";

export interface FileTestResult extends TestResult {
  readonly file: string;
}

interface TestSettings {
  readonly timeoutSeconds: number;
  /** Write golden files instead of comparing with them. */
  readonly isRecording: boolean;
  /** Ends the run; the test then fails. */
  readonly signal: AbortSignal;
}

export async function runTest(
  prepared: PreparedTest,
  { timeoutSeconds, isRecording, signal }: TestSettings,
  knowledge: Knowledge,
  terminal: Terminal,
): Promise<FileTestResult> {
  const { test, compiled, plan, flight, aliases } = prepared;
  const tally = new Tally(aliases);
  const said: Said[] = [];
  const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
  const beganMs = performance.now();
  const outcome = await playClip(
    {
      ...{ compiled, plan, startMs: 0, flight, isQuiet: true, frames: test.frames },
      signal: AbortSignal.any([signal, timeout]),
      async onMessage(channel: string, message: JsonRecord, node: string) {
        tally.see(channel, message);
        if (prepared.golden !== null && isRecorded(channel, prepared) && said.length < MOST_MESSAGES)
          said.push({ node, channel, message: toRecorded(message, channel) });
      },
    },
    knowledge,
    new Reporter(terminal, { json: false, quiet: true }),
    terminal,
  );
  const why = outcome.failure ?? explainEnd(signal.aborted, timeout.aborted, timeoutSeconds, outcome.errors);
  const found = test.expect.map(({ metric }) => tally.read(metric, outcome));
  const numbers = why === null ? compareNumbers(test, found) : [];
  const failures =
    why === null
      ? [...failuresOf(numbers), ...(await checkGolden(prepared, said, isRecording))]
      : [failAt(why, test.at)];
  const seconds = (performance.now() - beganMs) / 1000;
  const passed = failures.length === 0;
  return {
    ...{ file: test.at.file ?? plan.graph, name: test.name, passed, seconds, numbers: [...numbers], failures },
  };
}

function explainEnd(isInterrupted: boolean, isLate: boolean, limitSeconds: number, errors: number): string | null {
  if (isInterrupted) return "interrupted";
  if (isLate) return `the run did not end within ${limitSeconds} s; --timeout SECONDS allows more`;
  return errors === 0 ? null : `the run had ${errors} errors, shown above`;
}

/** As `golden record` does. It runs without the alerts of the test. */
const isRecorded = (channel: string, { aliases }: PreparedTest): boolean =>
  channel !== TRACK_REPORT_CHANNEL && !(channel === ALERT_CHANNEL && aliases.size > 0);

async function checkGolden(
  prepared: PreparedTest,
  said: readonly Said[],
  isRecording: boolean,
): Promise<readonly TestFailure[]> {
  const { test, plan, clip, params, golden: file } = prepared;
  if (test.golden === null || file === null || clip === null) return [];
  const { at } = test.golden;
  if (said.length >= MOST_MESSAGES)
    return [failAt(`the graph sends more than ${MOST_MESSAGES} messages; limit it with \`frames\``, at)];
  try {
    const now = { header: await identify(plan, clip, params, test.frames), said: inOrder(said) };
    if (isRecording) {
      writeGolden(file, now);
      return [];
    }
    const golden = readGolden(file, `test ${test.at.file ?? plan.graph} --only ${test.name} --record`);
    const streams = compareGoldens(golden, now, chooseLevel(golden.header, now.header));
    const differences = streams.flatMap((stream) => stream.differences);
    const [first] = differences;
    if (first === undefined) return [];
    const notes = compareOrigins(golden.header, now.header);
    const message = `golden has ${differences.length} differences from ${file}, the first: ${describeDifference(first)}`;
    const accept = `if this is right, accept it with \`windhover test ${test.at.file ?? plan.graph} --only ${test.name} --record\``;
    return [failAt([message, ...notes, accept].join("; "), at)];
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return [failAt(error.message, at)];
  }
}
