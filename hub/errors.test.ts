import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { guardBy } from "./errors.ts";

test("passes arguments through, and passes errors to the handler", () => {
  const failed: unknown[] = [];
  const fault = new Error("a fault");
  const guard = guardBy((error) => failed.push(error));
  const sums: number[] = [];
  guard((a: number, b: number) => void sums.push(a + b))(2, 3);
  guard(() => {
    throw fault;
  })();
  assert.deepEqual([sums, failed], [[5], [fault]]);
});

test("logs uncaught errors of timers and promises, and the process continues", async () => {
  const program = `
    import { logUncaught } from ${JSON.stringify(new URL("errors.ts", import.meta.url).href)};
    const logged = [];
    logUncaught((level, message, { error }) => {
      logged.push(level + " " + message + " " + error.split("\\n")[0]);
      if (logged.length === 2) console.log(logged.join("\\n"));
    });
    setTimeout(() => { throw new Error("in a timer"); });
    setTimeout(() => void Promise.reject(new Error("in a promise")), 1);
  `;
  const args = ["--import", "tsx", "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  assert.deepEqual(stdout.trim().split("\n"), [
    "error uncaught exception Error: in a timer",
    "error uncaught exception Error: in a promise",
  ]);
});
