import assert from "node:assert/strict";
import test from "node:test";
import { NO_HANG, pictures, play } from "./pipeline.fixture.ts";

const SECOND = 1_000_000_000;
const ENCODER = { tune: "zerolatency", "speed-preset": "ultrafast", "key-int-max": 1_000_000 };

/** Indices of the keyframes. */
async function keyFrames(framesPerSecond: number, frames: number, intervalNs: number): Promise<number[]> {
  const seen: boolean[] = [];
  const caps = `video/x-raw,format=I420,width=32,height=32,framerate=${framesPerSecond}/1`;
  await play(
    {
      ...pictures(frames, caps, { pattern: "snow" }),
      keys: ["keyframes", { interval: intervalNs }],
      encoder: ["x264enc", ENCODER],
      out: ["fakesink"],
    },
    (pipeline) => pipeline.tap("encoder", ({ keyframe }) => void seen.push(keyframe)),
  );
  assert.equal(seen.length, frames);
  return seen.flatMap((key, index) => (key ? [index] : []));
}

for (const rate of [10, 25, 60])
  test(`requests a keyframe every second at ${rate} fps`, NO_HANG, async () => {
    assert.deepEqual(await keyFrames(rate, rate * 3 + 1, SECOND), [0, rate, rate * 2, rate * 3]);
  });

test("an interval that is not a whole number of frames does not drift", NO_HANG, async () => {
  // 0, 0.25, 0.5 … seconds at 10 fps: the first frame at or after each.
  assert.deepEqual(await keyFrames(10, 21, SECOND / 4), [0, 3, 5, 8, 10, 13, 15, 18, 20]);
});

test("an interval of 0 leaves only the encoder's own keyframes", NO_HANG, async () => {
  assert.deepEqual(await keyFrames(10, 21, 0), [0]);
});
