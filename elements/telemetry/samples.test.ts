import assert from "node:assert/strict";
import { test } from "node:test";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import { Samples } from "./samples.ts";

const START = 1_760_000_000_000;
const sample = (timeMs: number | null, receivedMs: number | null): TelemetrySample => ({
  timeMs,
  receivedMs,
  hfov: 60,
  vfov: 34,
  position: null,
  attitude: { yaw: 0, pitch: 0, roll: 0 },
});

/** Adds one sample for each pair of times, in seconds: sent, received. */
const take = (samples: Samples, ...times: readonly (readonly [sent: number, received: number])[]) =>
  times.map(([sent, received]) => samples.take(sample(START + sent * 1000, START + received * 1000)));

test("inserts a late sample in order, and ignores one that is far too late", () => {
  const samples = new Samples();
  assert.deepEqual(take(samples, [100, 100], [101, 101], [99, 101.2], [50, 101.3]), [
    "taken",
    "taken",
    "taken",
    "ignored",
  ]);
  assert.equal(samples.attitudes.first?.timeMs, START + 99_000);
  assert.equal(samples.attitudes.size, 3);
});

test("ignores a single message with an absurd time", () => {
  const samples = new Samples();
  take(samples, [100, 100], [101, 101]);
  assert.deepEqual(take(samples, [9_000_000, 101.5], [102, 102]), ["ignored", "taken"]);
  assert.equal(samples.attitudes.last?.timeMs, START + 102_000);
});

for (const [what, by] of [
  ["back", -3600],
  ["forward", 3600],
] as const) {
  test(`accepts a clock that was set ${what} once it runs on from there`, () => {
    const samples = new Samples();
    take(samples, [100, 100], [101, 101]);
    assert.deepEqual(take(samples, [102 + by, 102], [102.5 + by, 102.5], [103 + by, 103], [103.5 + by, 103.5]), [
      "ignored",
      "ignored",
      "restarted",
      "taken",
    ]);
    assert.equal(samples.attitudes.size, 2);
    assert.equal(samples.attitudes.first?.timeMs, START + (103 + by) * 1000);
  });
}

test("stored messages that arrive all at once do not count as a set clock", () => {
  const samples = new Samples();
  take(samples, [1000, 1000]);
  assert.deepEqual(take(samples, [10, 1001], [20, 1001.5], [30, 1002], [40, 1002.5]), Array(4).fill("ignored"));
});

test("accepts a sender that was offline for long", () => {
  const samples = new Samples();
  assert.deepEqual(take(samples, [100, 100], [4000, 4000]), ["taken", "taken"]);
});

test("keeps received samples for a minute, samples of a file for ever", () => {
  const samples = new Samples();
  take(samples, [0, 0], [30, 30], [60, 60], [61, 61]);
  assert.equal(samples.attitudes.first?.timeMs, START + 30_000);
  const flight = new Samples();
  for (const minutes of [60, 0, 30]) flight.take(sample(START + minutes * 60_000, null));
  assert.equal(flight.attitudes.size, 3);
  assert.equal(flight.fileStartMs, START);
});
