import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { Tracks } from "../../schemas/detections.ts";
import type { Frame, FrameMetadata } from "../element.ts";
import { detection, detections } from "../marks.fixture.ts";
import { FrameClock, TrackHandler } from "./handler.ts";

const MS = 1_000_000n;

test("the clock follows the PTS, however late frames arrive", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: 5000n * MS, captureNs: 100_000n * MS, discontinuity: false });
  assert.equal(clock.read({ ptsNs: 5040n * MS, captureNs: 100_900n * MS, discontinuity: false }), 40n * MS);
});

test("after a gap the clock follows the capture time if the PTS advance less", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: 0n, captureNs: 100_000n * MS, discontinuity: true });
  assert.equal(clock.read({ ptsNs: 40n * MS, captureNs: 109_000n * MS, discontinuity: true }), 9000n * MS);
  assert.equal(clock.read({ ptsNs: 80n * MS, captureNs: 109_040n * MS, discontinuity: false }), 9040n * MS);
});

test("without PTS the clock follows the capture time", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: null, captureNs: 7n * MS, discontinuity: false });
  assert.equal(clock.read({ ptsNs: null, captureNs: 47n * MS, discontinuity: false }), 40n * MS);
});

test("a frame without PTS among others does not cause a jump", () => {
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

test("a capture clock that is set back does not turn time back", () => {
  const clock = new FrameClock();
  clock.read({ ptsNs: null, captureNs: 90_000n * MS, discontinuity: false });
  assert.equal(clock.read({ ptsNs: null, captureNs: 30_000n * MS, discontinuity: false }), 0n);
});

const validate = new Ajv2020({ strict: true }).compile(Tracks);

test("writes valid tracks: seen, predicted, at the edge, and ended", () => {
  let lastId = 0;
  const handler = new TrackHandler({ maxAgeMs: 500, showPredictedMs: 100, cameraMotion: "none" }, () => ++lastId);
  const format = { caps: "", mediaType: "video/x-raw", pixels: "I420", width: 640, height: 360, fps: 25 };
  const written: Tracks[] = [];
  for (let index = 0; index < 120; index++) {
    const inferred = index % 3 === 0;
    const objects =
      inferred && index < 60 ? [detection([0.85, 0.4, 0.1, 0.2]), detection([0.01 * index, 0.1, 0.1, 0.2])] : [];
    const timeNs = BigInt(index) * 40_000_000n;
    const frame: Partial<Frame> = {
      ...{ ptsNs: timeNs, captureNs: timeNs, discontinuity: false, format, planes: [] },
      meta: { detections: detections(objects, { inferred }) },
      write: ({ tracks }: FrameMetadata) => void written.push(tracks as Tracks),
    };
    handler.process(frame as Frame);
  }
  for (const tracks of written) assert.ok(validate(tracks), JSON.stringify(validate.errors));
  assert.ok(written.some(({ objects }) => objects.some(({ predicted }) => !predicted)));
  assert.ok(written.some(({ objects }) => objects.some(({ predicted }) => predicted)));
  assert.ok(written.some(({ ended }) => ended.length > 0));
});
