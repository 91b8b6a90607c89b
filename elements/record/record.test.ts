import assert from "node:assert/strict";
import { test } from "node:test";
import { makeContext } from "../registry.fixture.ts";
import record from "./record.ts";

for (const [codec, format] of [
  ["h264", "avc"],
  ["h265", "hvc1"],
] as const) {
  test(`records ${codec} in fragments that are written as soon as they are complete`, () => {
    assert.equal(record.kind, "composite");
    assert.deepEqual(record.expand({ path: "a b.mp4", codec }, makeContext()).nodes, [
      { suffix: "parse", factory: `${codec}parse`, properties: {} },
      {
        suffix: "format",
        factory: "capsfilter",
        properties: { caps: `video/x-${codec},stream-format=${format},alignment=au` },
      },
      { suffix: "times", factory: `${codec}timestamper`, properties: {} },
      { suffix: "mux", factory: "mp4mux", properties: { "fragment-duration": 1000, streamable: true } },
      {
        suffix: "file",
        factory: "filesink",
        properties: { location: "a b.mp4", "buffer-mode": "unbuffered", sync: false, async: false },
      },
    ]);
  });
}
