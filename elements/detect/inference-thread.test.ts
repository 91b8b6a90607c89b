import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { Watchdog } from "./inference-thread.ts";

/** A watchdog, its calls, and mocked time in steps of a tick. */
function watch({ mock: { timers } }: TestContext) {
  timers.enable({ apis: ["setTimeout"] });
  const late: number[] = [];
  const watchdog = new Watchdog((limitMs) => late.push(limitMs));
  const pass = (ms: number) => {
    for (let step = 0; step < ms / 100; step++) timers.tick(100);
  };
  return { watchdog, late, pass };
}

test("the watchdog calls back once when the limit is exceeded", (context) => {
  const { watchdog, late, pass } = watch(context);
  watchdog.arm(800);
  pass(700);
  assert.deepEqual(late, []);
  pass(100);
  assert.deepEqual(late, [800]);
  pass(5000);
  assert.deepEqual(late, [800]);
});

test("the watchdog restarts when armed again, and stops when disarmed", (context) => {
  const { watchdog, late, pass } = watch(context);
  watchdog.arm(800);
  pass(700);
  watchdog.arm(800);
  pass(700);
  watchdog.disarm();
  pass(5000);
  assert.deepEqual(late, []);
});

test("the watchdog counts a suspend of the machine as one tick", (context) => {
  const { watchdog, late, pass } = watch(context);
  watchdog.arm(800);
  context.mock.timers.tick(100_000);
  assert.deepEqual(late, []);
  pass(800);
  assert.deepEqual(late, [800]);
});
