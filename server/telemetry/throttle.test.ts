import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Throttle } from "./throttle.ts";

function setUp(perSecond: number) {
  mock.timers.enable({ apis: ["setTimeout"] });
  let nowMs = 0;
  const passed: number[] = [];
  const dropped: number[] = [];
  const pass = (item: number) => void passed.push(item);
  const drop = (item: number) => void dropped.push(item);
  const throttle = new Throttle<number>({ perSecond, pass, drop, now: () => nowMs });
  return {
    ...{ passed, dropped, throttle },
    wait(ms: number) {
      nowMs += ms;
      mock.timers.tick(ms);
    },
  };
}

test("passes slow items at once, bursts included", () => {
  const { throttle, passed, dropped, wait } = setUp(10);
  for (let i = 0; i < 50; i++) {
    throttle.put(i);
    if (i % 5 === 4) wait(500);
  }
  assert.deepEqual([passed.length, dropped.length], [50, 0]);
  mock.timers.reset();
});

test("passes up to the limit a second of fast items: the newest each time, and the very last one", () => {
  const { throttle, passed, dropped, wait } = setUp(10);
  for (let i = 0; i < 2000; i++) {
    throttle.put(i);
    wait(1);
  }
  wait(1000);
  assert.ok(passed.length >= 28 && passed.length <= 31, `${passed.length} passed`);
  assert.equal(passed.at(-1), 1999);
  assert.equal(passed.length + dropped.length, 2000);
  assert.deepEqual(
    passed,
    [...passed].sort((a, b) => a - b),
  );
  mock.timers.reset();
});

test("passes nothing after it is closed", () => {
  const { throttle, passed, wait } = setUp(1);
  throttle.put(1);
  throttle.put(2);
  throttle.close();
  wait(5000);
  assert.deepEqual(passed, [1]);
  mock.timers.reset();
});
