import assert from "node:assert/strict";
import test from "node:test";
import type { NativePlane } from "./addon.ts";
import type { NativeFrame } from "./frame.ts";
import { counter, gate, NO_HANG, never, newPipeline, pictures, play, sink, transform } from "./pipeline.fixture.ts";

const WHITE = { pattern: "white" };
/** Odd sizes, with padded rows. */
const PADDED = "video/x-raw,format=I420,width=45,height=27,framerate=30/1";

test("planes are GStreamer's memory: an element reads what the one before wrote", NO_HANG, async () => {
  const read: number[] = [];
  const write = transform((frame) => frame.planes[0]?.data.fill(40 + frame.index, 10, 20), { access: "write" });
  const look = sink((frame) => void read.push(...(frame.planes[0]?.data.subarray(9, 11) ?? [])));
  await play({ ...pictures(3, undefined, WHITE), write: [write], look: [look] });
  assert.deepEqual(read, [235, 40, 235, 41, 235, 42]);
});

test("planes have size, stride and complete rows", NO_HANG, async () => {
  const shapes: unknown[] = [];
  const look = sink((frame) => {
    for (const { data, stride, width, height } of frame.planes)
      shapes.push({ stride, width, height, wholeRows: data.length === stride * (height - 1) + width });
    const compact = frame.copy();
    assert.equal(compact.length, 45 * 27 + 2 * 23 * 14);
    const rows = frame.planes.flatMap(({ data, stride, width, height }) =>
      Array.from({ length: height }, (_, y) => [...data.subarray(y * stride, y * stride + width)]),
    );
    assert.deepEqual([...compact], rows.flat());
  });
  await play({ ...pictures(1, PADDED), look: [look] });
  assert.deepEqual(shapes, [
    { stride: 48, width: 45, height: 27, wholeRows: true },
    { stride: 24, width: 23, height: 14, wholeRows: true },
    { stride: 24, width: 23, height: 14, wholeRows: true },
  ]);
});

test("NV12 and RGB have their own planes", NO_HANG, async () => {
  const shapes: Record<string, number[][]> = {};
  const note = (frame: NativeFrame) => {
    shapes[frame.format.pixels ?? ""] = frame.planes.map(({ width, height, data }) => [width, height, data.length]);
  };
  for (const pixels of ["NV12", "RGB"])
    await play({ ...pictures(1, PADDED.replace("I420", pixels)), look: [sink(note)] });
  assert.deepEqual(shapes, {
    NV12: [
      [45, 27, 48 * 26 + 45],
      [23, 14, 48 * 13 + 46],
    ],
    RGB: [[45, 27, 136 * 26 + 135]],
  });
});

for (const [when, process] of [
  ["its handler has returned", (keep: (planes: readonly NativePlane[]) => void) => (f: NativeFrame) => keep(f.planes)],
  [
    "its handler's promise has settled",
    (keep: (planes: readonly NativePlane[]) => void) => async (f: NativeFrame) => {
      await Promise.resolve();
      keep(f.planes);
    },
  ],
] as const)
  test(`a frame is invalid once ${when}: views are empty, methods throw`, NO_HANG, async () => {
    const kept: { frame: NativeFrame; planes: readonly NativePlane[] }[] = [];
    const hold = transform((frame) =>
      process((planes) => {
        assert.ok((planes[0]?.data.length ?? 0) > 0);
        kept.push({ frame, planes });
      })(frame),
    );
    await play({ ...pictures(2), hold: [hold], out: ["fakesink"] });
    assert.equal(kept.length, 2);
    for (const { frame, planes } of kept) {
      assert.deepEqual(
        planes.map(({ data }) => [data.length, data[0], data.byteLength]),
        [0, 1, 2].map(() => [0, undefined, 0]),
      );
      const dead = /the frame is no longer valid/;
      assert.throws(() => frame.copy(), dead);
      assert.throws(() => frame.write({ a: 1 }), /the frame has been passed on/);
      await assert.rejects(frame.draw([]), dead);
      await assert.rejects(frame.image("image/png"), dead);
      await assert.rejects(frame.tensor(new Float32Array(12), { width: 2, height: 2 }), dead);
      assert.equal(frame.signal.aborted, true);
    }
  });

test("a frame that was never mapped becomes invalid too", NO_HANG, async () => {
  const kept: NativeFrame[] = [];
  await play({ ...pictures(1), hold: [sink((frame) => void kept.push(frame))] });
  assert.throws(() => kept[0]?.planes, /the frame is no longer valid/);
});

test("a frame of a cancelled handler becomes invalid", NO_HANG, async () => {
  const held = gate<NativeFrame>();
  const pipeline = newPipeline();
  const hold = sink((frame) => {
    assert.ok(frame.planes.length > 0);
    held.open(frame);
    return never;
  });
  await pipeline.build({
    nodes: [
      { name: "source", factory: "videotestsrc", properties: {} },
      { name: "hold", factory: hold, properties: {} },
    ],
    links: [{ from: "source", to: "hold" }],
  });
  await pipeline.setState("PLAYING");
  const frame = await held.opened;
  await pipeline.close();
  assert.equal(frame.planes[0]?.data.length, 0);
  assert.throws(() => frame.copy(), /the frame is no longer valid/);
});

test("writing after a tee changes one branch only", NO_HANG, async () => {
  const pipeline = newPipeline();
  const seen: Record<string, Set<number>> = { written: new Set(), other: new Set() };
  const done = counter();
  const look = (name: string) =>
    sink((frame) => {
      for (const value of frame.copy().subarray(0, 64 * 48)) seen[name]?.add(value);
      done.add();
    });
  // Both branches have the frame before either passes it on.
  const both = gate();
  const meeting = counter();
  void meeting.reached(2).then(() => both.open());
  const write = transform(
    async (frame) => {
      meeting.add();
      frame.planes[0]?.data.fill(16);
      await both.opened;
      frame.planes[0]?.data.fill(17);
    },
    { access: "write" },
  );
  const wait = transform(async (frame) => {
    const before = frame.planes[0]?.data[0];
    meeting.add();
    await both.opened;
    assert.equal(frame.planes[0]?.data[0], before);
  });
  await pipeline.build({
    nodes: [
      { name: "source", factory: "videotestsrc", properties: { pattern: "white", "num-buffers": 5 } },
      {
        name: "format",
        factory: "capsfilter",
        properties: { caps: "video/x-raw,format=I420,width=64,height=48" },
      },
      { name: "tee", factory: "tee", properties: {} },
      { name: "one", factory: "queue", properties: {} },
      { name: "write", factory: write, properties: {} },
      { name: "written", factory: look("written"), properties: {} },
      { name: "two", factory: "queue", properties: {} },
      { name: "wait", factory: wait, properties: {} },
      { name: "other", factory: look("other"), properties: {} },
    ],
    links: [
      { from: "source", to: "format" },
      { from: "format", to: "tee" },
      { from: "tee", to: "one" },
      { from: "one", to: "write" },
      { from: "write", to: "written" },
      { from: "tee", to: "two" },
      { from: "two", to: "wait" },
      { from: "wait", to: "other" },
    ],
  });
  await pipeline.setState("PLAYING");
  await done.reached(10);
  await pipeline.close();
  assert.deepEqual(
    { written: [...(seen.written ?? [])], other: [...(seen.other ?? [])] },
    { written: [17], other: [235] },
  );
});

test("a frame has its times, with the capture time relative to the pipeline's epoch", NO_HANG, async () => {
  const times: unknown[] = [];
  const look = sink(
    ({ index, ptsNs, durationNs, captureNs, discontinuity }) =>
      void times.push({ index, ptsNs, durationNs, captureNs, discontinuity }),
  );
  await play({ ...pictures(2, "video/x-raw,format=I420,width=64,height=48,framerate=10/1"), look: [look] });
  const second = 100_000_000n;
  assert.deepEqual(times, [
    { index: 0, ptsNs: 0n, durationNs: second, captureNs: 0n, discontinuity: true },
    { index: 1, ptsNs: second, durationNs: second, captureNs: second, discontinuity: false },
  ]);
});
