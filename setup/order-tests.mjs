/**
 * The order in which test files are started: those that take longest first, so that none of them is waited for at the end.
 * A run of all tests ends with a list of the slowest files, by which this one is kept.
 */
import { relative, sep } from "node:path";

const SLOWEST = [
  "test/browser/console.test.ts",
  "cli/commands/serve.test.ts",
  "test/crash/crash.test.ts",
  "test/flight/flight.test.ts",
  "test/api/outputs.test.ts",
  "test/api/interface.test.ts",
  "test/soak/media.soak.ts",
  "test/browser/players.test.ts",
  "cli/commands/golden.test.ts",
  "test/browser/console-alerts.test.ts",
  "test/browser/console-map.test.ts",
  "test/soak/faults.soak.ts",
  "test/browser/demo.test.ts",
  "test/api/tracks.test.ts",
  "test/golden/detect.test.ts",
  "graphs/runtime/runner/runner.test.ts",
  "test/soak/fuzz.soak.ts",
  "test/api/client.test.ts",
  "test/api/alerts.test.ts",
  "test/soak/notices.soak.ts",
];

/** @param {readonly string[]} files @param {string} root */
export function orderTests(files, root) {
  const rankOf = (file) => {
    const name = relative(root, file).split(sep).join("/");
    const rank = SLOWEST.indexOf(name);
    if (rank >= 0) return rank;
    // Tests of the whole service take longer than those beside the code.
    return SLOWEST.length + (name.startsWith("test/") ? 0 : 1);
  };
  return files
    .map((file) => ({ file, rank: rankOf(file) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ file }) => file);
}
