import assert from "node:assert/strict";
import { test } from "node:test";
import { readRounds, run } from "./harness.ts";

test("rejects invalid numbers of rounds", () => {
  assert.equal(readRounds([]), 5);
  assert.equal(readRounds(["2"]), 2);
  for (const text of ["x", "0", "-1", "1.5", ""])
    assert.throws(() => readRounds([text]), /expected a whole number from 1 to 1000/);
  assert.throws(() => readRounds(["1", "2"]), /unexpected argument "2"/);
});

test("kills a program that hangs and reports it", () =>
  assert.rejects(run(process.execPath, ["-e", "setInterval(() => {}, 1000)"], 100), /did not end within 0\.1 s/));

test("reports the output of a failed program", () =>
  assert.rejects(
    run(process.execPath, ["-e", "console.error('no such clip'); process.exit(1)"]),
    /failed: no such clip/,
  ));

test("passes arguments with spaces unchanged", async () =>
  assert.equal(await run(process.execPath, ["-p", "process.argv[1]", "a b/c.mp4"]), "a b/c.mp4\n"));
