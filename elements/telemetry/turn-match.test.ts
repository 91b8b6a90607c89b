import assert from "node:assert/strict";
import { test } from "node:test";
import { TurnMatch } from "./turn-match.ts";

/** Position of the middle of the image during a pan that stops and starts, in heights of the frame. */
const pan = (seconds: number): number => 0.4 * Math.sin(seconds * 0.9) + 0.15 * Math.sin(seconds * 2.3 + 1);
const still = (): number => 0;
const steady = (seconds: number): number => 0.3 * seconds;

/** Observations at 10 fps of a pan whose telemetry is `aheadMs` early. */
function watch(seen: (seconds: number) => number, aheadMs: number, noise = 0) {
  const match = new TurnMatch();
  for (let ms = 0; ms < 12_000; ms += 100) {
    const moved = seen((ms + 100) / 1000) - seen(ms / 1000);
    match.add({
      fromMs: ms,
      toMs: ms + 100,
      right: moved + noise * Math.sin(ms * 12.9898),
      down: noise * Math.cos(ms * 78.233),
    });
  }
  const covered = { fromMs: -3000, toMs: 15_000 };
  return (nearMs = 0) =>
    match.find(nearMs, covered, (fromMs, toMs) => [seen((toMs + aheadMs) / 1000) - seen((fromMs + aheadMs) / 1000), 0]);
}

for (const aheadMs of [0, 50, -130, 700, -1200]) {
  test(`finds that telemetry is ${aheadMs} ms ahead, to a few milliseconds`, () => {
    const found = watch(pan, aheadMs, 0.003)();
    assert.ok(found !== null && Math.abs(found.offsetMs - aheadMs) < 8, JSON.stringify(found));
    assert.ok(found.errorMs < 50);
  });
}

test("finds no match for an offset beyond the search range", () => {
  assert.equal(watch(pan, 2500, 0.003)(), null);
  const found = watch(pan, 2500, 0.003)(2200);
  assert.ok(found !== null && Math.abs(found.offsetMs - 2500) < 8, JSON.stringify(found));
});

test("finds no match for a still camera or a steady pan", () => {
  assert.equal(watch(still, 0, 0.0005)(), null);
  assert.equal(watch(steady, 300, 0.0005)(), null);
});

test("finds no match if the image moves independently of telemetry", () => {
  const match = new TurnMatch();
  for (let ms = 0; ms < 12_000; ms += 100)
    match.add({ fromMs: ms, toMs: ms + 100, right: 0.05 * Math.sin(ms * 12.9898), down: 0.05 * Math.cos(ms * 78.233) });
  const covered = { fromMs: -3000, toMs: 15_000 };
  assert.equal(
    match.find(0, covered, (fromMs, toMs) => [pan(toMs / 1000) - pan(fromMs / 1000), 0]),
    null,
  );
});

test("finds no match outside the range of telemetry", () => {
  const match = new TurnMatch();
  for (let ms = 0; ms < 12_000; ms += 100)
    match.add({ fromMs: ms, toMs: ms + 100, right: pan((ms + 100) / 1000) - pan(ms / 1000), down: 0 });
  assert.equal(
    match.find(0, { fromMs: 6000, toMs: 9000 }, () => [0, 0]),
    null,
  );
  assert.equal(
    match.find(0, { fromMs: -3000, toMs: 15_000 }, () => null),
    null,
  );
});
