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
  process.emit("SIGINT", "SIGINT");
  process.emit("SIGINT", "SIGINT");
  assert.deepEqual(calls, ["first"]);
  await sleep(300);
  process.emit("SIGINT", "SIGINT");
  assert.deepEqual(calls, ["first", "second"]);
});

test("another signal is never a repetition", (t) => {
  const calls: string[] = [];
  t.after(
    onInterrupt(
      () => calls.push("first"),
      () => calls.push("second"),
    ),
  );
  process.emit("SIGTERM", "SIGTERM");
  process.emit("SIGINT", "SIGINT");
  assert.deepEqual(calls, ["first", "second"]);
});
