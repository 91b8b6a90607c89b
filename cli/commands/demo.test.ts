import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT, windhover } from "../windhover.fixture.ts";

test("explains what ran, where the frame was saved and what to try next", async () => {
  const { code, stdout, stderr } = await windhover(["demo"]);
  assert.equal(code, 0, stderr);
  const picture = /The frame at 2 s was saved to (\S+)/.exec(stdout)?.[1] ?? assert.fail(stdout);
  assert.ok(existsSync(join(ROOT, picture)), stdout);
  // At real pace a machine that is busy may leave some out.
  const lines = Number(/printed a line about it, (\d+) lines in all/.exec(stdout)?.[1]);
  assert.ok(lines > 0 && lines <= 100, stdout);
  assert.match(stdout, /Try next:\n {2}npx windhover run demo /);
  assert.match(stderr, /demo: 100 frames in/);
});
