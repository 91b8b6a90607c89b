import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Thinner } from "./thinner.ts";

function thin(perSecond: number) {
  mock.timers.enable({ apis: ["setTimeout"] });
  let nowMs = 0;
  const passed: number[] = [];
  const dropped: number[] = [];
  const pass = (item: number) => void passed.push(item);
  const drop = (item: number) => void dropped.push(item);
  const thinner = new Thinner<number>({ perSecond, pass, drop, now: () => nowMs });
  return {
    ...{ passed, dropped, thinner },
    wait(ms: number) {
      nowMs += ms;
      mock.timers.tick(ms);
    },
  };
}

test("what comes slowly passes at once, in heaps too", () => {
  const { thinner, passed, dropped, wait } = thin(10);
  for (let i = 0; i < 50; i++) {
    thinner.put(i);
    if (i % 5 === 4) wait(500);
  }
  assert.deepEqual([passed.length, dropped.length], [50, 0]);
  mock.timers.reset();
});

test("of what comes fast so many pass a second, the newest of each time, and the very last one", () => {
  const { thinner, passed, dropped, wait } = thin(10);
  for (let i = 0; i < 2000; i++) {
    thinner.put(i);
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

test("after its end nothing passes", () => {
  const { thinner, passed, wait } = thin(1);
  thinner.put(1);
  thinner.put(2);
  thinner.close();
  wait(5000);
  assert.deepEqual(passed, [1]);
  mock.timers.reset();
});
