import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { limitTime } from "./time-limit.ts";

/** Resolves with the reason. */
const reasonOf = async (signal: AbortSignal): Promise<unknown> => {
  await once(signal, "abort");
  return signal.reason;
};

test("aborts after its time, however often garbage is collected meanwhile", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const reason = reasonOf(limitTime(200, new AbortController().signal));
  for (let i = 0; i < 5; i += 1) {
    collect();
    await wait(10);
  }
  // Its own timer does not keep the process running.
  const [found] = await Promise.all([reason, wait(250)]);
  assert.equal((found as Error).message, "took longer than 0.2 s");
});

test("aborts with the other signal, for its reason, also when that was aborted before", async () => {
  const controller = new AbortController();
  const limited = limitTime(60_000, controller.signal);
  assert.equal(limited.aborted, false);
  controller.abort("stopped");
  assert.equal(limited.reason, "stopped");
  assert.equal(limitTime(60_000, controller.signal).reason, "stopped");
});
