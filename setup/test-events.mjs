/**
 * A reporter for `node --test` that records what the spec reporter does not print: how many tests each file ran, which
 * failed, and which were still running when the run was ended.
 */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { findPlace } from "./test-report.mjs";

export default async function* writeEvents(events) {
  for await (const { type, data } of events) {
    if (!["test:dequeue", "test:complete", "test:pass", "test:fail"].includes(type)) continue;
    const { name, nesting, details } = data;
    const { file } = findPlace(data);
    const isOwn = details?.error?.failureType !== "subtestsFailed";
    const suite = details?.type === "suite";
    yield `${JSON.stringify({ type, name, file, nesting, suite, isOwn, skip: Boolean(data.skip), ms: details?.duration_ms })}\n`;
  }
}

/**
 * @param {ReadonlyMap<string, readonly string[]>} runs maps each module that was run to its test files
 * @param {string} root working directory of the run
 * @returns {{
 *   executed: number,
 *   slowest: { run: string, files: readonly string[], ms: number }[],
 *   silent: string[],
 *   running: string[],
 *   failed: { file: string, tests: string[], hanging: string[] }[],
 * }} `slowest` are all runs, slowest first; `silent` are files that succeeded without a test; `failed` are files with the
 * names of their failed tests, which are empty when the file failed as a whole, and of those that ran when it was ended
 */
export function readEvents(path, runs, root) {
  const took = new Map([...runs.keys()].map((run) => [run, 0]));
  const tests = new Map(
    [...runs.values()]
      .flat()
      .map((file) => [file, { registered: 0, hasFailed: false, failing: [], done: false, running: new Set() }]),
  );
  let executed = 0;
  /** Modules that have started and not ended. */
  const underWay = new Set();
  for (const line of (existsSync(path) ? readFileSync(path, "utf8") : "").split("\n")) {
    // The last line may be truncated when the run was ended.
    if (!line.endsWith("}")) continue;
    const event = JSON.parse(line);
    // Events of tests name the source file, and events of a whole file the module that was run.
    const run = resolve(root, event.name);
    if (runs.has(run)) {
      if (event.type === "test:dequeue") underWay.add(run);
      if (event.type === "test:complete") underWay.delete(run);
      if (event.type === "test:complete") took.set(run, event.ms ?? 0);
      for (const file of runs.get(run)) {
        if (event.type === "test:complete") tests.get(file).done = true;
        if (event.type === "test:fail") tests.get(file).hasFailed = true;
      }
      continue;
    }
    // In a shared process, each file is a suite with its name.
    if (tests.has(run)) {
      if (event.type !== "test:fail") continue;
      tests.get(run).hasFailed = true;
      if (event.isOwn) tests.get(run).failing.push("(the file as a whole)");
      continue;
    }
    // A soak may import tests of another file. They are its own, as soaks run one after the other.
    const [only, ...others] = underWay;
    const importing = others.length === 0 ? only : undefined;
    const test = tests.get(event.file) ?? tests.get(runs.get(event.file)?.[0]) ?? tests.get(runs.get(importing)?.[0]);
    if (test === undefined) continue;
    if (event.type === "test:dequeue") test.running.add(event.name);
    if (event.type === "test:complete") test.running.delete(event.name);
    if (event.type === "test:fail") {
      test.hasFailed = true;
      if (event.isOwn) test.failing.push(event.name);
    }
    if ((event.type === "test:pass" || event.type === "test:fail") && !event.suite) {
      test.registered++;
      if (!event.skip) executed++;
    }
  }
  const entries = [...tests];
  const hasOwn = ({ failing, running }) => failing.length > 0 || running.size > 0;
  // In a shared process, files with a failed test are at fault; without a failed test, any file may have ended it.
  const isAtFault = (file, test) => {
    const together = [...runs.values()].find((files) => files.includes(file)) ?? [];
    return hasOwn(test) || !together.some((other) => hasOwn(tests.get(other)));
  };
  return {
    executed,
    slowest: [...runs].map(([run, files]) => ({ run, files, ms: took.get(run) })).sort((a, b) => b.ms - a.ms),
    silent: entries.filter(([, test]) => test.done && !test.hasFailed && test.registered === 0).map(([file]) => file),
    running: entries
      .filter(([, test]) => !test.done && test.running.size > 0)
      .map(([file, test]) => `${file}: ${[...test.running].join(" > ")}`),
    failed: entries
      .filter(([file, test]) => test.hasFailed && isAtFault(file, test))
      .map(([file, { failing, running }]) => ({ file, tests: failing, hanging: [...running] })),
  };
}
