import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLine, type PrintedFrame } from "./line.ts";

const frame: PrintedFrame = {
  index: 7,
  ptsNs: 333_333_333n,
  captureNs: 1_700_000_000_123_456_789n,
  format: { caps: "video/x-raw", mediaType: "video/x-raw", pixels: "I420", width: 640, height: 360, fps: 30 },
  meta: {},
};

test("a line begins with frame, time and size", () => {
  assert.equal(
    formatLine(frame),
    '{"frame":7,"pts_ms":333.333,"time":"2023-11-14T22:13:20.123Z","width":640,"height":360}',
  );
});

test("a frame without a time says null", () => {
  assert.equal(JSON.parse(formatLine({ ...frame, ptsNs: null })).pts_ms, null);
});

test("metadata follows in order of its keys, however deep, lists as they are", () => {
  const line = formatLine({
    ...frame,
    meta: { tracks: [{ id: 2, age: 1 }], detections: [3, 1], alarm: { z: 1, a: null } },
  });
  assert.ok(line.endsWith('"alarm":{"a":null,"z":1},"detections":[3,1],"tracks":[{"age":1,"id":2}]}'), line);
});

test("metadata cannot stand in for the frame's own keys", () => {
  assert.equal(formatLine({ ...frame, meta: { frame: 99, width: 1 } }), formatLine(frame));
});

test("only the metadata asked for is printed", () => {
  const line = formatLine({ ...frame, meta: { tracks: [], detections: [1], speed: 2 } }, ["speed", "tracks"]);
  assert.ok(line.endsWith('"height":360,"speed":2,"tracks":[]}'), line);
});
