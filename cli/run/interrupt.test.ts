import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { onInterrupt } from "./interrupt.ts";

test("a signal that arrives twice at once, as from Ctrl-C below npm, is one; later it is the second", async (t) => {
  const calls: string[] = [];
  t.after(
    onInterrupt(
      () => calls.push("first"),
      () => calls.push("second"),
    ),
  );
  // Not SIGINT or SIGTERM, which end the test.
  process.emit("SIGHUP", "SIGHUP");
  process.emit("SIGHUP", "SIGHUP");
  assert.deepEqual(calls, ["first"]);
  await sleep(300);
  process.emit("SIGHUP", "SIGHUP");
  assert.deepEqual(calls, ["first", "second"]);
});
