import assert from "node:assert/strict";
import test from "node:test";
import jpeg from "jpeg-js";
import { type EdgeBuffer, SPAN } from "./addon.ts";
import {
  build,
  counter,
  ending,
  gate,
  I420,
  NO_HANG,
  newPipeline,
  pictures,
  play,
  type Steps,
  sink,
  transform,
} from "./pipeline.fixture.ts";
import type { Pipeline, TappedBuffer } from "./pipeline.ts";

/** PTS of the frames that arrive when the stream is limited at a node. */
async function arrivals(node: string, limits: Parameters<Pipeline["limit"]>[1], steps: Steps = {}): Promise<bigint[]> {
  const seen: bigint[] = [];
  const out = sink((frame) => void seen.push(frame.ptsNs ?? -1n));
  await play({ ...pictures(-1, I420.replace("30/1", "10/1")), ...steps, out: [out] }, (pipeline) =>
    pipeline.limit(node, limits),
  );
  return seen;
}
const tenths = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index) * 100_000_000n);

test("a limit of frames is exact and ends the stream", NO_HANG, async () => {
  assert.deepEqual(await arrivals("source", { frames: 7 }), tenths(7));
  assert.deepEqual(await arrivals("source", { frames: 1 }), tenths(1));
});

test("a limit of time is exact and exclusive", NO_HANG, async () => {
  assert.deepEqual(await arrivals("format", { untilNs: 500_000_000n }), tenths(5));
  assert.deepEqual(await arrivals("format", { untilNs: 500_000_001n }), tenths(6));
});

test("the earlier of two limits counts", NO_HANG, async () => {
  assert.deepEqual(await arrivals("source", { frames: 3, untilNs: 1_000_000_000n }), tenths(3));
  assert.deepEqual(await arrivals("source", { frames: 30, untilNs: 200_000_000n }), tenths(2));
});

test("a limit works behind an element with several frames in flight", NO_HANG, async () => {
  const work = transform(async () => new Promise((resolve) => setImmediate(resolve)), { inFlight: 4 });
  assert.deepEqual(await arrivals("work", { frames: 5 }, { work: [work] }), tenths(5));
});

test("a limit at a tee applies to all its branches", NO_HANG, async () => {
  assert.deepEqual(await arrivals("tee", { frames: 4 }, { tee: ["tee"], queue: ["queue"] }), tenths(4));
});

test("rejects a limit at a sink", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(1), out: ["fakesink"] });
  assert.throws(() => pipeline.limit("out", { frames: 1 }), /only be limited at a node that has an output/);
  assert.throws(() => pipeline.limit("missing", { frames: 1 }), /no node "missing"/);
  await pipeline.close();
});

test("a tap reports every buffer with times, size, caps and metadata", NO_HANG, async () => {
  const seen: TappedBuffer[] = [];
  const mark = transform((frame) => frame.write({ index: frame.index }));
  await play({ ...pictures(3), mark: [mark], out: ["fakesink"] }, (pipeline) =>
    pipeline.tap("mark", (buffer) => void seen.push(buffer)),
  );
  assert.equal(seen.length, 3);
  assert.deepEqual(
    seen.map(({ ptsNs, bytes, keyframe, discontinuity, lost, meta }) => ({
      ptsNs,
      bytes,
      keyframe,
      discontinuity,
      lost,
      meta,
    })),
    [0n, 33_333_333n, 66_666_666n].map((ptsNs, index) => ({
      ptsNs,
      bytes: (64 * 48 * 3) / 2,
      keyframe: true,
      discontinuity: index === 0,
      lost: 0,
      meta: { index },
    })),
  );
  assert.match(seen[0]?.caps ?? "", /^video\/x-raw, .*width=\(int\)64/);
});

for (const node of ["out", "tee"])
  test(`a ${node === "out" ? "sink" : "tee"} can be tapped and reports each frame once`, NO_HANG, async () => {
    const seen: unknown[] = [];
    const pipeline = newPipeline();
    await pipeline.build({
      nodes: [
        { name: "source", factory: "videotestsrc", properties: { "num-buffers": 5 } },
        { name: "tee", factory: "tee", properties: {} },
        { name: "q1", factory: "queue", properties: {} },
        { name: "out", factory: "fakesink", properties: {} },
        { name: "q2", factory: "queue", properties: {} },
        { name: "other", factory: "fakesink", properties: {} },
      ],
      links: [
        { from: "source", to: "tee" },
        { from: "tee", to: "q1" },
        { from: "q1", to: "out" },
        { from: "tee", to: "q2" },
        { from: "q2", to: "other" },
      ],
    });
    pipeline.tap(node, ({ ptsNs }) => void seen.push(ptsNs));
    await pipeline.setState("PLAYING");
    await ending(pipeline);
    await pipeline.close();
    assert.equal(seen.length, 5);
  });

test("a stopped tap reports no more buffers", NO_HANG, async () => {
  let seen = 0;
  const frames = counter();
  const pipeline = await build({ ...pictures(-1), out: [sink(() => frames.add())] });
  const stop = pipeline.tap("source", () => {
    seen += 1;
    stop();
  });
  await pipeline.setState("PLAYING");
  await frames.reached(100);
  await pipeline.close();
  assert.equal(seen, 1);
});

test("a tap counts buffers lost while the event loop is blocked, and the stream continues", NO_HANG, async () => {
  const firstLoss = gate<number>();
  const passed = () => pipeline.meters(["source"]).source?.out ?? 0;
  let seen = 0;
  const pipeline = await build({ ...pictures(-1), out: ["fakesink"] });
  pipeline.meter("source", "source", "source");
  pipeline.tap("source", ({ lost }) => {
    seen += 1;
    if (lost > 0) firstLoss.open(lost);
    // Blocks the event loop while more buffers pass than are queued.
    if (seen === 1) while (passed() < 2000);
  });
  await pipeline.setState("PLAYING", 0);
  const lost = await firstLoss.opened;
  await pipeline.close();
  assert.ok(lost > 1000, `${lost} lost`);
});

test("grabs a frame at its time as an image", NO_HANG, async () => {
  const grabbed: { type: string; first: number[]; ptsNs: bigint | null }[] = [];
  const pipeline = await build({ ...pictures(30), out: ["fakesink"] });
  const orders = (["image/png", "image/jpeg"] as const).map(async (type) => {
    const { image, ptsNs } = await pipeline.grab("format", 500_000_000n, type);
    grabbed.push({ type, first: [...image.subarray(0, 4)], ptsNs });
  });
  await pipeline.setState("PLAYING");
  await Promise.all(orders);
  await pipeline.close();
  assert.deepEqual(
    grabbed.sort((a, b) => a.type.localeCompare(b.type)),
    [
      { type: "image/jpeg", first: [0xff, 0xd8, 0xff, 0xe0], ptsNs: 500_000_000n },
      { type: "image/png", first: [0x89, 0x50, 0x4e, 0x47], ptsNs: 500_000_000n },
    ],
  );
});

test("rejects grabbing audio as an image", NO_HANG, async () => {
  const pipeline = await build({ tone: ["audiotestsrc", { "num-buffers": 3 }], out: ["fakesink"] });
  const rejected = assert.rejects(pipeline.grab("tone", 0n, "image/png"), /cannot make image\/png of this frame/);
  await pipeline.setState("PLAYING");
  await rejected;
  await pipeline.close();
});

test("sees the next buffer of an edge once, with its metadata and a picture of raw video", NO_HANG, async () => {
  const seen: EdgeBuffer[] = [];
  const mark = transform((frame) => frame.write({ mark: { index: frame.index } }));
  let arrived = 0;
  const both = gate();
  await play(
    { ...pictures(60, I420.replace("width=64", "width=640")), mark: [mark], encode: ["jpegenc"], out: ["fakesink"] },
    (pipeline) => {
      pipeline.tap("encode", () => void arrived++);
      assert.throws(() => pipeline.seeEdge("mark", "out", 320, () => {}), /not linked/);
      const note = (buffer: EdgeBuffer) => {
        seen.push(buffer);
        if (seen.length === 2) both.open();
      };
      pipeline.seeEdge("mark", "encode", 320, note);
      pipeline.seeEdge("encode", "out", 320, note);
      pipeline.seeEdge("format", "mark", 320, () => assert.fail("was stopped"))();
    },
  );
  await both.opened;
  assert.equal(arrived, 60);
  const raw = seen.find(({ caps }) => caps.startsWith("video/x-raw")) ?? assert.fail();
  assert.deepEqual([raw.error, raw.meta], [null, { mark: { index: 0 } }]);
  const { width, height } = jpeg.decode(raw.image ?? assert.fail());
  assert.deepEqual([width, height], [320, 24]);
  const encoded = seen.find(({ caps }) => caps.startsWith("image/jpeg")) ?? assert.fail();
  assert.deepEqual([encoded.image, encoded.error], [null, null]);
});

test("a meter counts buffers in and out, and measures their time", NO_HANG, async () => {
  const half = transform((frame) => (frame.index % 2 === 0 ? undefined : "drop"));
  const pipeline = await build({ ...pictures(40), work: [half], queue: ["queue"], out: ["fakesink"] });
  pipeline.meter("work", "work", "work");
  pipeline.meter("both", "work", "queue");
  pipeline.meter("queue", "queue", "queue");
  await pipeline.setState("PLAYING");
  await ending(pipeline);
  const { work, both, queue, missing } = pipeline.meters(["work", "both", "queue", "missing"]);
  await pipeline.close();
  assert.deepEqual([work?.in, work?.out, work?.dropped], [40, 20, 20]);
  assert.deepEqual([both?.in, both?.out], [40, 20]);
  assert.deepEqual([queue?.in, queue?.out, queue?.queued, queue?.dropped], [20, 20, 0, 0]);
  assert.equal(queue?.capacity, 200);
  assert.ok((work?.meanMs ?? 0) > 0 && (work?.p95Ms ?? 0) > 0 && (queue?.meanMs ?? 0) > 0);
  assert.equal(missing, undefined);
  assert.deepEqual(pipeline.meters(["work"]), {});
});

/** Three frames to a queue of one, while the first is held behind it. */
async function dropOne() {
  const passed = gate();
  const out = sink(async (frame) => {
    if (frame.index === 0) await passed.opened;
  });
  const queue: Steps[string] = ["queue", { "max-size-buffers": 1, leaky: "downstream" }];
  const pipeline = await build({ ...pictures(3), queue, out: [out] });
  pipeline.meter("queue", "queue", "queue");
  await pipeline.setState("PLAYING", 0);
  while ((pipeline.meters(["queue"]).queue?.in ?? 0) < 3) await new Promise((resolve) => setImmediate(resolve));
  passed.open();
  await ending(pipeline);
  const { queue: reading = assert.fail() } = pipeline.meters(["queue"]);
  await pipeline.close();
  return reading;
}

test("a meter counts a single drop of a queue when the stream has ended", NO_HANG, async () => {
  // The third frame is counted before it is queued: the first may be released in between, and then none is dropped.
  for (;;) {
    const { in: entered, out: left, dropped } = await dropOne();
    assert.deepEqual([entered, dropped], [3, entered - left]);
    if (dropped === 1) return;
  }
});

test("a meter counts drops of a full queue", NO_HANG, async () => {
  const release = gate();
  const held = gate();
  const out = sink(async (frame) => {
    if (frame.index > 0) return;
    held.open();
    await release.opened;
  });
  const pipeline = await build({
    ...pictures(50),
    queue: ["queue", { "max-size-buffers": 4, leaky: "downstream" }],
    out: [out],
  });
  pipeline.meter("queue", "queue", "queue");
  await pipeline.setState("PLAYING");
  await held.opened;
  const full = () => pipeline.meters(["queue"]).queue;
  while (full()?.in !== 50) await new Promise((resolve) => setImmediate(resolve));
  const { out: left, queued = 0, capacity, dropped } = full() ?? assert.fail();
  assert.deepEqual({ left, capacity, known: queued + dropped }, { left: 1, capacity: 4, known: 49 });
  assert.ok(queued <= 4, `${queued} queued`);
  release.open();
  await ending(pipeline);
  await pipeline.close();
});

test("spans of buffers are kept once they are asked for, and agree with the meter", NO_HANG, async () => {
  const work = transform(() => undefined);
  const pipeline = await build({ ...pictures(40), work: [work], queue: ["queue"], out: ["fakesink"] });
  const names = ["source", "work", "queue", "out"];
  for (const name of names) pipeline.meter(name, name, name);
  pipeline.takeSpans(names, true);
  const beforeNs = Number(process.hrtime.bigint());
  await pipeline.setState("PLAYING");
  await ending(pipeline);
  const meters = pipeline.meters(names);
  const taken = pipeline.takeSpans([...names, "missing"], false);
  assert.deepEqual(pipeline.takeSpans(["work"], false).work?.spans.length, 0);
  await pipeline.close();
  assert.deepEqual(Object.keys(taken), names);
  for (const [name, { spans, lost }] of Object.entries(taken)) {
    const rows = Array.from({ length: spans.length / SPAN.length }, (_, row) =>
      spans.subarray(row * SPAN.length, (row + 1) * SPAN.length),
    );
    assert.deepEqual({ name, lost, count: rows.length }, { name, lost: 0, count: 40 });
    assert.equal(new Set(rows.map((row) => row[SPAN.pts])).size, 40);
    const times = rows.map((row) => (row[SPAN.to] ?? 0) - (row[SPAN.from] ?? 0));
    const meanMs = times.reduce((sum, ns) => sum + ns, 0) / times.length / 1e6;
    const isMoment = name === "source" || name === "out";
    assert.ok(isMoment ? meanMs === 0 : Math.abs(meanMs - (meters[name]?.meanMs ?? 0)) < 0.001, `${name}: ${meanMs}`);
    for (const row of rows)
      assert.ok((row[SPAN.from] ?? 0) > beforeNs && (row[SPAN.queued] ?? 0) >= (name === "queue" ? 0 : -1));
  }
});

test("spans that are not taken in time are counted", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(4200), out: ["fakesink"] });
  pipeline.meter("out", "out", "out");
  pipeline.takeSpans(["out"], true);
  await pipeline.setState("PLAYING");
  await ending(pipeline);
  const { spans, lost } = pipeline.takeSpans(["out"], true).out ?? assert.fail();
  await pipeline.close();
  assert.deepEqual([spans.length / SPAN.length, lost], [4096, 104]);
});
