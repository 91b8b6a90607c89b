import assert from "node:assert/strict";
import test from "node:test";
import { aliveCounts } from "./handlers.ts";
import {
  counter,
  I420,
  NO_HANG,
  newPipeline,
  pictures,
  play,
  type Steps,
  sink,
  transform,
} from "./pipeline.fixture.ts";

type Box = { readonly label: string; readonly at: readonly number[] };

test("metadata is the same deeply frozen object downstream", NO_HANG, async () => {
  const written: Box[] = [];
  const mark = transform((frame) => {
    const box: Box = { label: `frame ${frame.index}`, at: [0, 1] };
    written.push(box);
    frame.write({ box });
    assert.equal(frame.meta.box, box);
  });
  const look = sink((frame) => {
    const box = frame.meta.box as Box;
    assert.equal(box, written[frame.index]);
    assert.deepEqual([frame.meta, box, box.at].map(Object.isFrozen), [true, true, true]);
  });
  await play({ ...pictures(20), mark: [mark], look: [look] });
  assert.equal(written.length, 20);
});

test("a frame without metadata has an empty frozen object", NO_HANG, async () => {
  await play({
    ...pictures(1),
    look: [
      sink(({ meta }) => {
        assert.deepEqual(meta, {});
        assert.ok(Object.isFrozen(meta));
      }),
    ],
  });
});

test("each element adds to the metadata of earlier ones", NO_HANG, async () => {
  const seen: unknown[] = [];
  const add = (key: string, value: number) => transform((frame) => frame.write({ [key]: value }));
  const look = sink((frame) => void seen.push(frame.meta));
  await play({
    ...pictures(1),
    first: [add("a", 1)],
    second: [add("b", 2)],
    third: [add("a", 3)],
    look: [look],
  });
  assert.deepEqual(seen, [{ a: 3, b: 2 }]);
});

for (const [name, between] of [
  ["videoconvert", { between: ["videoconvert"], pixels: ["capsfilter", { caps: "video/x-raw,format=RGB" }] }],
  ["videoscale", { between: ["videoscale"], size: ["capsfilter", { caps: "video/x-raw,width=32,height=24" }] }],
  ["x264enc", { between: ["x264enc", { tune: "zerolatency", "speed-preset": "ultrafast" }] }],
  ["x264enc with B-frames", { between: ["x264enc", { bframes: 2, "speed-preset": "ultrafast", "b-adapt": false }] }],
  ["x264enc and avdec_h264", { between: ["x264enc", { tune: "zerolatency" }], decoder: ["avdec_h264"] }],
  ["jpegenc", { between: ["jpegenc"] }],
  ["a queue", { between: ["queue"] }],
] as const satisfies readonly (readonly [string, Steps])[])
  test(`metadata survives ${name}, on the frame it was written to`, NO_HANG, async () => {
    const pairs: [unknown, unknown][] = [];
    const mark = transform((frame) => frame.write({ pts: String(frame.ptsNs) }));
    const look = sink((frame) => void pairs.push([frame.meta.pts, String(frame.ptsNs)]));
    await play({ ...pictures(12), mark: [mark], ...between, look: [look] });
    assert.equal(pairs.length, 12);
    // Encoders shift all times by the same amount.
    const shifts = new Set(pairs.map(([written, seen]) => BigInt(seen as string) - BigInt(written as string)));
    assert.equal(shifts.size, 1);
  });

test("branches after a tee share the object until one adds to it", NO_HANG, async () => {
  const pipeline = newPipeline();
  const done = counter();
  const seen: Record<string, Record<string, unknown>> = {};
  const look = (name: string) =>
    sink(({ meta }) => {
      seen[name] = meta;
      done.add();
    });
  await pipeline.build({
    nodes: [
      { name: "source", factory: "videotestsrc", properties: { "num-buffers": 1 } },
      { name: "mark", factory: transform((frame) => frame.write({ shared: { by: "both" } })), properties: {} },
      { name: "tee", factory: "tee", properties: {} },
      { name: "q1", factory: "queue", properties: {} },
      { name: "add", factory: transform((frame) => frame.write({ own: true })), properties: {} },
      { name: "one", factory: look("one"), properties: {} },
      { name: "q2", factory: "queue", properties: {} },
      { name: "two", factory: look("two"), properties: {} },
    ],
    links: [
      { from: "source", to: "mark" },
      { from: "mark", to: "tee" },
      { from: "tee", to: "q1" },
      { from: "q1", to: "add" },
      { from: "add", to: "one" },
      { from: "tee", to: "q2" },
      { from: "q2", to: "two" },
    ],
  });
  await pipeline.setState("PLAYING");
  await done.reached(2);
  await pipeline.close();
  assert.deepEqual(seen, { one: { shared: { by: "both" }, own: true }, two: { shared: { by: "both" } } });
  assert.equal(seen.one?.shared, seen.two?.shared);
});

test("an image that is not awaited does not lose the metadata of the frame", NO_HANG, async () => {
  const seen: unknown[] = [];
  const mark = transform((frame) => {
    void frame.image("image/png");
    frame.write({ index: frame.index });
  });
  const look = sink((frame) => void seen.push(frame.meta));
  await play({ ...pictures(3, I420), mark: [mark], look: [look] });
  assert.deepEqual(seen, [{ index: 0 }, { index: 1 }, { index: 2 }]);
});

test("no metadata is left when the pipeline is closed", NO_HANG, async () => {
  const mark = transform((frame) => frame.write({ index: frame.index }), { inFlight: 3 });
  await play({ ...pictures(200), mark: [mark], out: ["fakesink", { "enable-last-sample": true }] });
  assert.deepEqual(aliveCounts(), { metadata: 0, calls: 0, instances: 0 });
});
