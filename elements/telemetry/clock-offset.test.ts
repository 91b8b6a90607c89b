import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ClockOffset, ClockSkew } from "./clock-offset.ts";

const START = 1_760_000_000_000;

/** Messages with these delays, from a sender whose clock is behind the local one. */
function arrive(behindMs: number, delaysMs: readonly number[]): ClockSkew {
  const skew = new ClockSkew();
  for (const [i, delayMs] of delaysMs.entries()) {
    const sentMs = START + i * 500;
    skew.note(sentMs - behindMs, sentMs + delayMs);
  }
  return skew;
}

test("does not correct a correct clock, however slow its messages", () => {
  for (const delays of [[0], [50, 80, 1200, 60], [800, 900, 1000]]) assert.equal(arrive(0, delays).offsetMs, 0);
});

test("corrects a large clock offset by the fastest messages", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 2000, max: 1e9 }), fc.integer({ min: -1e9, max: -4000 })),
      fc.array(fc.integer({ min: 20, max: 2000 }), { minLength: 10, maxLength: 60 }),
      (behindMs, delays) => {
        const { offsetMs } = arrive(behindMs, delays);
        const [quickest, slowest] = [Math.min(...delays), Math.max(...delays)];
        assert.ok(offsetMs >= behindMs + quickest && offsetMs <= behindMs + slowest);
      },
    ),
  );
});

test("messages stored by an offline broker do not change the offset", () => {
  const skew = arrive(0, Array(20).fill(40));
  for (let i = 0; i < 600; i++) skew.note(START + 10_000 + i * 50, START + 40_000 + i / 10);
  assert.equal(skew.offsetMs, 0);
});

test("corrects a clock offset by the fast messages among slow ones", () => {
  const delays = Array.from({ length: 60 }, (_, i) => (i % 5 === 0 ? 40 : 900));
  assert.equal(arrive(60_000, delays).offsetMs, 60_040);
});

test("does not toggle the correction of a clock near the threshold", () => {
  const skew = arrive(1600, [10, 10]);
  assert.ok(skew.differs);
  for (let i = 0; i < 200; i++) skew.note(START + i * 500, START + i * 500 + 1200);
  assert.ok(skew.differs);
  for (let i = 0; i < 200; i++) skew.note(START + 1e5 + i * 500, START + 1e5 + i * 500 + 900);
  assert.ok(!skew.differs);
});

test("applies a set offset at once", () => {
  const offset = new ClockOffset(250);
  offset.noteArrival(START, START + 10_000);
  assert.equal(offset.read(0).offsetMs, 250);
  offset.set(-40);
  assert.equal(offset.read(1).offsetMs, -40);
  offset.set("auto");
  assert.equal(offset.read(2).offsetMs, 10_000);
});

test("ignores a single match, accepts two that agree, and follows them slowly", () => {
  const offset = new ClockOffset("auto");
  offset.noteArrival(START, START + 100);
  assert.equal(offset.read(0).offsetMs, 0);
  offset.noteMatch({ offsetMs: 200, errorMs: 20 });
  assert.equal(offset.read(1000).offsetMs, 0);
  offset.noteMatch({ offsetMs: 210, errorMs: 20 });
  const after = offset.read(2000);
  assert.ok(after.offsetMs > 0 && after.offsetMs < 100, `${after.offsetMs}`);
  assert.equal(after.errorMs, 20);
  for (let ms = 2000; ms <= 10_000; ms += 40) offset.read(ms);
  assert.equal(offset.read(10_000).offsetMs, 210);
  offset.noteMatch({ offsetMs: 900, errorMs: 20 });
  assert.equal(offset.targetMs, 210, "one that differs is not believed either");
});

test("adds matches to the offset by arrivals", () => {
  const offset = new ClockOffset("auto");
  offset.noteArrival(START, START + 60_000);
  for (const offsetMs of [59_700, 59_700]) offset.noteMatch({ offsetMs, errorMs: 20 });
  assert.equal(offset.targetMs, 59_700);
  offset.restart();
  offset.noteArrival(START, START + 5);
  assert.equal(offset.targetMs, 0);
});

test("keeps the offset by matches when clocks start to differ, and to agree again", () => {
  const offset = new ClockOffset("auto");
  let ms = 0;
  const arrive = (untilMs: number, delayMs: number): void => {
    for (; ms < untilMs; ms += 500) offset.noteArrival(START + ms - 1400, START + ms + delayMs);
  };
  arrive(30_000, 80);
  for (const offsetMs of [1400, 1400]) offset.noteMatch({ offsetMs, errorMs: 15 });
  assert.equal(offset.targetMs, 1400);
  arrive(120_000, 120);
  assert.equal(offset.targetMs, 1400);
  arrive(240_000, -450);
  assert.ok(Math.abs(offset.targetMs - 1400) < 600, `${offset.targetMs}`);
});

test("before a match, received telemetry has the error of arrivals, telemetry of a file does not", () => {
  const file = new ClockOffset("auto");
  assert.equal(file.read(0).errorMs, 40);
  for (const [skewMs, errorMs] of [
    [60, 400],
    [-1200, 1200],
    [60_000, 400],
  ] as const) {
    const offset = new ClockOffset("auto");
    offset.noteArrival(START, START + skewMs);
    assert.equal(offset.read(0).errorMs, errorMs);
    const match = { offsetMs: offset.targetMs, errorMs: 15 };
    for (const one of [match, match]) offset.noteMatch(one);
    assert.equal(offset.read(1).errorMs, 15);
  }
});
