import assert from "node:assert/strict";
import { test } from "node:test";
import {
  readAudio,
  readVideo,
  type VideoBody,
  writeAudioConfig,
  writeAudioFrame,
  writePicture,
  writeVideoConfig,
} from "./flv.ts";

const bytes = (...values: readonly (number | string)[]): Buffer =>
  Buffer.concat(values.map((value) => (typeof value === "string" ? Buffer.from(value) : Buffer.of(value))));

test("video: reads what was written", () => {
  const nals = [Buffer.from([0x65, 1, 2]), Buffer.from([0x65, 3])];
  const config = bytes(1, 2, 3);
  assert.deepEqual(readVideo(Buffer.from(writeVideoConfig(config))), { kind: "config", config });
  const picture = Buffer.from(writePicture(nals, true, 80));
  const joined = bytes(0, 0, 0, 3, 0x65, 1, 2, 0, 0, 0, 2, 0x65, 3);
  assert.deepEqual(readVideo(picture), { kind: "picture", compositionMs: 80, nals: joined });
  assert.equal(picture[0], 0x17);
  assert.equal(writePicture(nals, false, 0)[0], 0x27);
});

test("video: every form of it", () => {
  const nals = bytes(0, 0, 0, 1, 0x65);
  const rows: [Buffer, VideoBody | RegExp][] = [
    [bytes(), { kind: "nothing" }],
    [bytes(0x27, 1, 0xff, 0xff, 0xd8, ...nals), { kind: "picture", compositionMs: -40, nals }],
    [bytes(0x17, 2, 0, 0, 0), { kind: "nothing" }],
    [bytes(0x57, 0), { kind: "nothing" }],
    [bytes(0x17, 1, 0), /truncated/],
    [bytes(0x1c, 0, 0, 0, 0), { kind: "unsupported", codec: "H.265" }],
    [bytes(0x12, 0, 0), { kind: "unsupported", codec: "Sorenson H.263" }],
    [bytes(0x90, "hvc1", 1, 2), { kind: "unsupported", codec: "H.265" }],
    [bytes(0x91, "av01", 1, 2), { kind: "unsupported", codec: "AV1" }],
    [bytes(0x91, "x\u0000y!", 1, 2), { kind: "unsupported", codec: 'codec "x\\u0000y!"' }],
    [bytes(0x96, 0, "avc1"), { kind: "unsupported", codec: "enhanced RTMP with packets of type 6" }],
    [bytes(0x90, "avc1", 1, 2), { kind: "config", config: bytes(1, 2) }],
    [bytes(0x91, "avc1", 0, 0, 40, ...nals), { kind: "picture", compositionMs: 40, nals }],
    [bytes(0x93, "avc1", ...nals), { kind: "picture", compositionMs: 0, nals }],
    [bytes(0x92, "avc1"), { kind: "nothing" }],
    [bytes(0x91, "avc1", 0), /truncated/],
    [bytes(0x91, "av"), /truncated/],
  ];
  for (const [body, expected] of rows) {
    if (expected instanceof RegExp) assert.throws(() => readVideo(body), expected, body.toString("hex"));
    else assert.deepEqual(readVideo(body), expected, body.toString("hex"));
  }
});

test("audio: every form of it", () => {
  const config = bytes(0x12, 0x10);
  assert.deepEqual(readAudio(Buffer.from(writeAudioConfig(config))), { kind: "config", config });
  assert.deepEqual(readAudio(Buffer.from(writeAudioFrame(config))), { kind: "frame", frame: config });
  assert.deepEqual(readAudio(bytes(0x90, "mp4a", ...config)), { kind: "config", config });
  assert.deepEqual(readAudio(bytes(0x91, "mp4a", ...config)), { kind: "frame", frame: config });
  assert.deepEqual(readAudio(bytes(0x91, "Opus", 1)), { kind: "unsupported", codec: "Opus" });
  assert.deepEqual(readAudio(bytes(0x2f, 1)), { kind: "unsupported", codec: "MP3" });
  for (const body of [bytes(), bytes(0xaf), bytes(0xaf, 1), bytes(0xaf, 9, 1)]) {
    assert.deepEqual(readAudio(body), { kind: "nothing" });
  }
});
