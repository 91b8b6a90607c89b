import assert from "node:assert/strict";
import test from "node:test";
import { measureThroughput, type Passage } from "./measure.ts";

const INTERVAL_MS = 40;
const LOOK_MS = 500;

/** A clip through a model that lets frames go in bursts, twice a second. */
const play = (change: (index: number, leftMs: number) => number | null): readonly Passage[] =>
  Array.from({ length: 300 }, (_, index) => {
    const arrivedMs = index * INTERVAL_MS;
    return { arrivedMs, leftMs: change(index, Math.ceil((arrivedMs + 1) / LOOK_MS) * LOOK_MS) };
  });

const near = (value: number, expected: number): void => assert.ok(Math.abs(value - expected) < 0.02, `${value}`);

test("does not count bursts as loss, in any phase", () => {
  for (let phase = 0; phase < 12; phase++) {
    const { kept, inFps, outFps } = measureThroughput(play((_, leftMs) => leftMs).slice(phase));
    near(kept, 1);
    near(outFps / inFps, 1);
    assert.equal(inFps, 25);
  }
});

test("frames lost in the middle count, those of the start and those still inside at the end do not", () => {
  near(measureThroughput(play((index, leftMs) => (index % 10 === 0 ? null : leftMs))).kept, 0.9);
  near(measureThroughput(play((index, leftMs) => (index < 40 || index > 260 ? null : leftMs))).kept, 1);
});

test("a stream that falls behind is slower out than in, though nothing is lost", () => {
  const { kept, outFps } = measureThroughput(play((index) => 200 + index * INTERVAL_MS * 1.25));
  near(kept, 0.8);
  near(outFps, 20);
});

test("reports NaN when no frame left", () => {
  assert.ok(!(measureThroughput(play(() => null)).kept >= 0.95));
});
