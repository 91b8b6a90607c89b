import assert from "node:assert/strict";
import { test } from "node:test";
import { CODECS } from "../codecs.ts";
import { TRACKS } from "../tracks.fixture.ts";
import {
  readAudio,
  readVideo,
  type VideoBody,
  videoCodecId,
  writeAudioConfig,
  writeAudioFrame,
  writePicture,
  writeVideoConfig,
} from "./flv.ts";

const bytes = (...values: readonly (number | string)[]): Buffer =>
  Buffer.concat(values.map((value) => (typeof value === "string" ? Buffer.from(value) : Buffer.of(value))));

test("video: reads what was written", () => {
  const nals = [Buffer.from([0x65, 1, 2]), Buffer.from([0x65, 3])];
  const joined = bytes(0, 0, 0, 3, 0x65, 1, 2, 0, 0, 0, 2, 0x65, 3);
  for (const [codec, key, inter] of [
    [CODECS.h264, "1701", "2701"],
    // Packet type 1 and frame type 1 or 2 of enhanced RTMP, and `hvc1`.
    [CODECS.h265, "9168766331", "a168766331"],
  ] as const) {
    const picture = Buffer.from(writePicture(codec, nals, true, 80));
    assert.deepEqual(readVideo(picture), { kind: "picture", codec: codec.name, compositionMs: 80, nals: joined });
    assert.ok(picture.toString("hex").startsWith(key));
    assert.ok(
      Buffer.from(writePicture(codec, nals, false, 0))
        .toString("hex")
        .startsWith(inter),
    );
  }
  const { sets } = TRACKS.video;
  const written = readVideo(Buffer.from(writeVideoConfig(CODECS.h264, sets)));
  assert.deepEqual(written, { kind: "config", codec: "h264", config: CODECS.h264.writeConfig(sets) });
  assert.equal(videoCodecId(CODECS.h264), 7);
  assert.equal(videoCodecId(CODECS.h265), 0x68766331);
});

test("video: every form of it", () => {
  const nals = bytes(0, 0, 0, 1, 0x65);
  const rows: [Buffer, VideoBody | RegExp][] = [
    [bytes(), { kind: "nothing" }],
    [bytes(0x27, 1, 0xff, 0xff, 0xd8, ...nals), { kind: "picture", codec: "h264", compositionMs: -40, nals }],
    [bytes(0x17, 2, 0, 0, 0), { kind: "nothing" }],
    [bytes(0x57, 0), { kind: "nothing" }],
    [bytes(0x17, 1, 0), /truncated/],
    // H.265 by number, as some encoders send it, and by name.
    [bytes(0x1c, 0, 0, 0, 0, 1, 2), { kind: "config", codec: "h265", config: bytes(1, 2) }],
    [bytes(0x2c, 1, 0, 0, 40, ...nals), { kind: "picture", codec: "h265", compositionMs: 40, nals }],
    [bytes(0x90, "hvc1", 1, 2), { kind: "config", codec: "h265", config: bytes(1, 2) }],
    [bytes(0x91, "hvc1", 0, 0, 40, ...nals), { kind: "picture", codec: "h265", compositionMs: 40, nals }],
    [bytes(0xa1, "hvc1", 0xff, 0xff, 0xd8, ...nals), { kind: "picture", codec: "h265", compositionMs: -40, nals }],
    [bytes(0xa3, "hvc1", ...nals), { kind: "picture", codec: "h265", compositionMs: 0, nals }],
    [bytes(0x92, "hvc1"), { kind: "nothing" }],
    // Metadata has the frame type of a command; a command has no codec.
    [bytes(0xd4, "hvc1", 2, 0, 1), { kind: "nothing" }],
    [bytes(0xd0, 1), { kind: "nothing" }],
    [bytes(0x91, "hvc1", 0), /truncated/],
    [bytes(0x12, 0, 0), { kind: "unsupported", codec: "Sorenson H.263" }],
    [bytes(0x91, "av01", 1, 2), { kind: "unsupported", codec: "AV1" }],
    [bytes(0x91, "x\u0000y!", 1, 2), { kind: "unsupported", codec: 'codec "x\\u0000y!"' }],
    [bytes(0x96, 0, "avc1"), { kind: "unsupported", codec: "enhanced RTMP with packets of type 6" }],
    [bytes(0x90, "avc1", 1, 2), { kind: "config", codec: "h264", config: bytes(1, 2) }],
    [bytes(0x91, "avc1", 0, 0, 40, ...nals), { kind: "picture", codec: "h264", compositionMs: 40, nals }],
    [bytes(0x93, "avc1", ...nals), { kind: "picture", codec: "h264", compositionMs: 0, nals }],
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
