/**
 * A reporter for `node --test` that keeps what its own report does not say: how many tests each file has run, and which
 * were still running when it had to be ended.
 */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

export default async function* writeEvents(events) {
  for await (const { type, data } of events) {
    if (!["test:dequeue", "test:complete", "test:pass", "test:fail"].includes(type)) continue;
    const { name, file, nesting } = data;
    yield `${JSON.stringify({ type, name, file, nesting, suite: data.details?.type === "suite", skip: Boolean(data.skip), ms: data.details?.duration_ms })}\n`;
  }
}

/**
 * @param {ReadonlyMap<string, string>} files from each that was run to the one it was written in
 * @param {string} root where the tests were started
 * @returns {{ executed: number, slowest: { file: string, ms: number }[], silent: string[], running: string[] }}
 * `slowest` are all files, those that took longest first; `silent` are files that
 * ended well without a test
 */
export function readEvents(path, files, root) {
  const tests = new Map(
    [...files.values()].map((file) => [file, { registered: 0, failed: false, done: false, running: new Set(), ms: 0 }]),
  );
  // With source maps a test is told of by the file it was written in, and the file as a whole by the one that was run.
  const sourceOf = (file) => files.get(file) ?? file;
  let executed = 0;
  for (const line of (existsSync(path) ? readFileSync(path, "utf8") : "").split("\n")) {
    // The last line may be cut off when the run was ended.
    if (!line.endsWith("}")) continue;
    const event = JSON.parse(line);
    const source = sourceOf(event.file);
    const test = tests.get(source);
    if (test === undefined) continue;
    const isFile = sourceOf(resolve(root, event.name)) === source;
    if (event.type === "test:dequeue" && !isFile) test.running.add(event.name);
    if (event.type === "test:complete") {
      if (isFile) {
        test.done = true;
        test.ms = event.ms ?? 0;
      } else test.running.delete(event.name);
    }
    if (event.type === "test:fail" && isFile) test.failed = true;
    if ((event.type === "test:pass" || event.type === "test:fail") && !isFile && !event.suite) {
      test.registered++;
      if (!event.skip) executed++;
    }
  }
  const entries = [...tests];
  return {
    executed,
    slowest: entries.map(([file, { ms }]) => ({ file, ms })).sort((a, b) => b.ms - a.ms),
    silent: entries.filter(([, test]) => test.done && !test.failed && test.registered === 0).map(([file]) => file),
    running: entries
      .filter(([, test]) => !test.done && test.running.size > 0)
      .map(([file, test]) => `${file}: ${[...test.running].join(" > ")}`),
  };
}
