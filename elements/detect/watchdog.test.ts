import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { readActivity, Watchdog } from "./watchdog.ts";

/** A watchdog, its calls, and mocked time in steps of a tick. */
function watch({ mock: { timers } }: TestContext) {
  timers.enable({ apis: ["setTimeout"] });
  const late: string[] = [];
  const watchdog = new Watchdog({ late: (reason) => late.push(reason), starved: () => late.push("starved") });
  const pass = (ms: number) => {
    for (let step = 0; step < ms / 100; step++) timers.tick(100);
  };
  return { watchdog, late, pass };
}

test("the watchdog calls back once when the limit is exceeded", (context) => {
  const { watchdog, late, pass } = watch(context);
  watchdog.arm({ limitMs: 800 });
  pass(700);
  assert.deepEqual(late, []);
  pass(100);
  assert.deepEqual(late, ["no result within 800 ms"]);
  pass(5000);
  assert.deepEqual(late, ["no result within 800 ms"]);
});

test("the watchdog restarts when armed again, and stops when disarmed", (context) => {
  const { watchdog, late, pass } = watch(context);
  watchdog.arm({ limitMs: 800 });
  pass(700);
  watchdog.arm({ limitMs: 800 });
  pass(700);
  watchdog.disarm();
  pass(5000);
  assert.deepEqual(late, []);
});

test("the watchdog counts a suspend of the machine as one tick", (context) => {
  const { watchdog, late, pass } = watch(context);
  watchdog.arm({ limitMs: 800 });
  context.mock.timers.tick(100_000);
  assert.deepEqual(late, []);
  pass(800);
  assert.deepEqual(late, ["no result within 800 ms"]);
});

const BUSY = { isRunnable: true, isBlocked: false };
const BLOCKED = { isRunnable: false, isBlocked: true };
const DISK = { isRunnable: false, isBlocked: false };

test("time in which the thread waits for a processor does not count", (context) => {
  const { watchdog, late, pass } = watch(context);
  let calls = 0;
  watchdog.arm({ limitMs: 800, blockedMs: 400, activity: () => ({ ...BUSY, ranMs: 10 * calls++ }) });
  pass(3100);
  assert.deepEqual(late, []);
  pass(100);
  assert.deepEqual(late, ["starved"]);
  pass(4700);
  assert.deepEqual(late, ["starved"]);
  pass(100);
  assert.deepEqual(late, ["starved", "no result within 800 ms"]);
});

test("a thread that neither runs nor waits for a processor or a disk is blocked", (context) => {
  const { watchdog, late, pass } = watch(context);
  const states = [BLOCKED, BLOCKED, BLOCKED, DISK, BLOCKED, BLOCKED, BLOCKED, BLOCKED];
  watchdog.arm({ limitMs: 8000, blockedMs: 400, activity: () => ({ ...(states.shift() ?? BLOCKED), ranMs: 7 }) });
  pass(600);
  assert.deepEqual(late, []);
  pass(100);
  assert.deepEqual(late, ["its thread was blocked for 400 ms"]);
});

test("a thread that runs now and then is not blocked", (context) => {
  const { watchdog, late, pass } = watch(context);
  let calls = 0;
  watchdog.arm({ limitMs: 2000, blockedMs: 400, activity: () => ({ ...BLOCKED, ranMs: Math.floor(calls++ / 3) }) });
  pass(1900);
  assert.deepEqual(late, []);
  pass(100);
  assert.deepEqual(late, ["no result within 2000 ms"]);
});

test("reads what the kernel shows of this thread, and nothing of one that does not exist", () => {
  const before = readActivity("/proc/thread-self");
  assert.equal(before?.isRunnable, true);
  assert.equal(before?.isBlocked, false);
  for (const untilMs = performance.now() + 20; performance.now() < untilMs; );
  assert.ok((readActivity("/proc/thread-self")?.ranMs ?? 0) > (before?.ranMs ?? 0));
  assert.equal(readActivity("/proc/0/task/0"), null);
});
