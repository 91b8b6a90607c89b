/**
 * Video outputs with the sound of their source: in the source, a flash and a beep begin together every second, and they
 * must begin together in what a player receives, at the beginning and at the end. `npm test` plays one of these
 * (elements/publish/sound.test.ts).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Encoding,
  MAX_FRAMES,
  type OutputKind,
  play,
  type SourceKind,
} from "../../elements/publish/sound.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const SECONDS = rounds(6, 30);
const NO_HANG = { timeout: 600_000 };

const ALL: readonly (readonly [SourceKind, OutputKind, Encoding])[] = [
  ["published", "rtsp", { sampleRate: 44_100, bFrames: 2 }],
  ["file", "rtmp", { sampleRate: 48_000, bFrames: 2 }],
  ["published", "rtsp", { sampleRate: 48_000, bFrames: 0 }],
  ["published", "srt", { sampleRate: 48_000, bFrames: 2 }],
  ["published", "rtmp", { sampleRate: 44_100, bFrames: 0 }],
  ["published", "mpegts", { sampleRate: 48_000, bFrames: 0 }],
  ["file", "rtsp", { sampleRate: 44_100, bFrames: 0 }],
  ["file", "srt", { sampleRate: 44_100, bFrames: 2 }],
];

for (const [source, output, encoding] of ALL.slice(0, rounds(2, ALL.length))) {
  const what = `${source} at ${encoding.sampleRate} Hz with ${encoding.bFrames} B-frames, sent by ${output}`;
  test(`flash and beep begin together: ${what}`, NO_HANG, async (t) => {
    const played = await play(t, source, output, encoding, SECONDS);
    const shown = played.apart.map((frames) => frames.toFixed(2)).join(" ");
    process.stderr.write(`${what}: beeps after flashes, in frames: ${shown}\n`);
    assert.deepEqual([played.codecs, played.detail], [["aac", "h264"], null]);
    assert.ok(played.apart.length >= SECONDS - 4, `${played.apart.length} flashes in ${SECONDS} s`);
    for (const frames of played.apart) assert.ok(Math.abs(frames) <= MAX_FRAMES, shown);
  });
}

test("a source without sound gives an output without it, and the output says so", NO_HANG, async (t) => {
  const { codecs, detail } = await play(t, "published", "rtsp", { sampleRate: 0, bFrames: 0 }, SECONDS);
  assert.deepEqual([codecs, detail], [["h264"], "without sound: the source has no sound"]);
});
