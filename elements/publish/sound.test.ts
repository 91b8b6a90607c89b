import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_FRAMES, play } from "./sound.fixture.ts";

const FLASHES = 3;
/** A busy machine drops frames, and with them flashes. */
const MAX_SECONDS = 120;

test("a flash and its beep begin together in an output, as in its source with B-frames", async (t) => {
  const encoding = { sampleRate: 44_100, bFrames: 2 };
  const { codecs, apart, detail } = await play(t, "published", "rtsp", encoding, MAX_SECONDS, FLASHES);
  assert.deepEqual([codecs, detail], [["aac", "h264"], null]);
  // Where the first frame of a flash was dropped, it begins late: not in most of them.
  const middle = apart.map(Math.abs).sort((a, b) => a - b)[Math.floor(apart.length / 2)] ?? assert.fail("no flash");
  assert.ok(
    middle <= MAX_FRAMES,
    `beeps after flashes, in frames: ${apart.map((frames) => frames.toFixed(2)).join(" ")}`,
  );
});
