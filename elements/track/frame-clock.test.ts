import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameClock } from "./frame-clock.ts";

const MS = 1_000_000n;

test("goes by the stream, however late frames arrive", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: 5000n * MS, captureNs: 100_000n * MS, discontinuity: false });
  assert.equal(clock.read({ ptsNs: 5040n * MS, captureNs: 100_900n * MS, discontinuity: false }), 40n * MS);
});

test("after a gap goes by the world, when the stream says less", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: 0n, captureNs: 100_000n * MS, discontinuity: true });
  assert.equal(clock.read({ ptsNs: 40n * MS, captureNs: 109_000n * MS, discontinuity: true }), 9000n * MS);
  assert.equal(clock.read({ ptsNs: 80n * MS, captureNs: 109_040n * MS, discontinuity: false }), 9040n * MS);
});

test("without times in the stream goes by those of the pictures", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: null, captureNs: 7n * MS, discontinuity: false });
  assert.equal(clock.read({ ptsNs: null, captureNs: 47n * MS, discontinuity: false }), 40n * MS);
});

test("a frame without a time in the stream, among others that have one, makes no jump", () => {
  const clock = new FrameClock();
  const start = 1_700_000_000_000n * MS;
  const times = [0n, 40n, null, 120n, null, null, 240n].map((ptsMs, i) =>
    clock.read({
      ptsNs: ptsMs === null ? null : ptsMs * MS,
      captureNs: start + BigInt(i) * 40n * MS,
      discontinuity: false,
    }),
  );
  assert.deepEqual(
    times,
    times.map((_, i) => BigInt(i) * 40n * MS),
  );
});

test("a clock of the world that is put back does not turn time back", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: null, captureNs: 90_000n * MS, discontinuity: false });
  assert.equal(clock.read({ ptsNs: null, captureNs: 30_000n * MS, discontinuity: false }), 0n);
});
