import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame, Services } from "../element.ts";
import print, { formatLine, type PrintedFrame } from "./print.ts";

const frameAt = (index: number): Frame =>
  ({ index, ptsNs: 0n, captureNs: 0n, format: { width: 2, height: 2 }, meta: { speed: 1 } }) as unknown as Frame;

test("prints every Nth frame; N is mutable while PLAYING", async () => {
  assert.equal(print.kind, "sink");
  const lines: string[] = [];
  const services = { print: async (line: string) => void lines.push(line) } as Partial<Services> as Services;
  const handler = await print.create({ every: 3 }, services);
  for (let index = 0; index < 6; index++) await handler.process(frameAt(index));
  await handler.update?.({ every: 1, keys: [] });
  await handler.process(frameAt(7));
  assert.deepEqual(
    lines.map((line) => [JSON.parse(line).frame, JSON.parse(line).speed]),
    [
      [0, 1],
      [3, 1],
      [7, undefined],
    ],
  );
});

test("a frame waits until the output accepts the next line", async () => {
  assert.equal(print.kind, "sink");
  const lines: string[] = [];
  let release = (): void => {};
  const services = {
    print(line: string) {
      lines.push(line);
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
  } as Partial<Services> as Services;
  const handler = await print.create({ every: 1 }, services);
  let settled = false;
  const processed = Promise.resolve(handler.process(frameAt(0))).then(() => {
    settled = true;
  });
  await new Promise(setImmediate);
  assert.equal(lines.length, 1);
  assert.equal(settled, false);
  release();
  await processed;
});

const frame: PrintedFrame = {
  index: 7,
  ptsNs: 333_333_333n,
  captureNs: 1_700_000_000_123_456_789n,
  format: { caps: "video/x-raw", mediaType: "video/x-raw", pixels: "I420", width: 640, height: 360, fps: 30 },
  meta: {},
};

test("a line starts with frame, time and size", () => {
  assert.equal(
    formatLine(frame),
    '{"frame":7,"pts_ms":333.333,"time":"2023-11-14T22:13:20.123Z","width":640,"height":360}',
  );
});

test("prints null for a frame without a timestamp", () => {
  assert.equal(JSON.parse(formatLine({ ...frame, ptsNs: null })).pts_ms, null);
});

test("sorts metadata by key at every depth and keeps lists in order", () => {
  const line = formatLine({
    ...frame,
    meta: { tracks: [{ id: 2, age: 1 }], detections: [3, 1], alarm: { z: 1, a: null } },
  });
  assert.ok(line.endsWith('"alarm":{"a":null,"z":1},"detections":[3,1],"tracks":[{"age":1,"id":2}]}'), line);
});

test("metadata cannot override the frame's own keys", () => {
  assert.equal(formatLine({ ...frame, meta: { frame: 99, width: 1 } }), formatLine(frame));
});

test("prints only the requested metadata", () => {
  const line = formatLine({ ...frame, meta: { tracks: [], detections: [1], speed: 2 } }, ["speed", "tracks"]);
  assert.ok(line.endsWith('"height":360,"speed":2,"tracks":[]}'), line);
});
