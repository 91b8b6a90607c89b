import assert from "node:assert/strict";
import test from "node:test";
import { H264 } from "./film.fixture.ts";
import { build, counter, gate, I420, NO_HANG, newPipeline, pictures, sink } from "./pipeline.fixture.ts";
import type { Pipeline, TappedBuffer } from "./pipeline.ts";

/** The main pipeline, which parses the data of an ingest, and all its buffers. */
async function lasting(
  isOpen: Promise<void> = Promise.resolve(),
): Promise<{ pipeline: Pipeline; seen: TappedBuffer[]; arrived: ReturnType<typeof counter> }> {
  const arrived = counter();
  const process = async (): Promise<void> => {
    await isOpen;
    arrived.add();
  };
  const seen: TappedBuffer[] = [];
  const pipeline = await build({
    in: ["appsrc", { "is-live": true, format: "time", "max-time": 0, "max-bytes": 0 }],
    out: [sink(process)],
  });
  pipeline.tap("in", (buffer) => void seen.push(buffer));
  await pipeline.setState("PLAYING", 0);
  return { pipeline, seen, arrived };
}

/** A camera whose stream starts at its own time. */
async function ingest(into: Pipeline, offsetNs: number, caps = I420): Promise<Pipeline> {
  const pipeline = await build({
    ...pictures(-1, caps, { "is-live": true, "timestamp-offset": offsetNs }),
    ...H264,
    stream: ["capsfilter", { caps: "video/x-h264,stream-format=byte-stream,alignment=au" }],
    end: ["appsink", { sync: false, "max-buffers": 8, drop: false }],
  });
  into.relayFrom("in", pipeline, "end");
  await pipeline.setState("PLAYING", 0);
  return pipeline;
}

function assertGrows(seen: readonly TappedBuffer[]): void {
  seen.forEach(({ ptsNs }, index) => {
    const before = seen[index - 1]?.ptsNs ?? -1n;
    assert.ok(ptsNs !== null && before !== null && ptsNs > before, `${ptsNs} after ${before}`);
  });
}

test("a replaced ingest continues in time, with a gap marked and a keyframe first", NO_HANG, async () => {
  const { pipeline, seen, arrived } = await lasting();
  const starts: number[] = [];
  for (const offsetNs of [0, 5_000_000_000_000, 1_000, 90_000_000_000]) {
    const camera = await ingest(pipeline, offsetNs);
    starts.push(seen.length);
    await arrived.reached(arrived.count + 8);
    await camera.close();
    assert.equal(pipeline.relayStatus("in").flowing, true);
  }
  await pipeline.close();
  assertGrows(seen);
  const gaps = seen.flatMap(({ discontinuity }, index) => (discontinuity ? [index] : []));
  assert.equal(gaps.length, 4, `gaps at ${gaps}`);
  for (const index of gaps) assert.equal(seen[index]?.keyframe, true);
  assert.ok(seen.some(({ keyframe }) => !keyframe));
});

for (const [what, size, decoder, threads] of [
  ["small pictures are decoded in one thread", "width=640,height=360,framerate=25/1", {}, "1"],
  ["large and frequent ones in several", "width=1920,height=1080,framerate=60/1", {}, "0"],
  ["a decoder has the threads that the graph sets", "width=640,height=360,framerate=25/1", { "max-threads": 3 }, "3"],
] as const)
  test(what, NO_HANG, async () => {
    const arrived = counter();
    const process = async (): Promise<void> => arrived.add();
    const pipeline = await build({
      in: ["appsrc", { "is-live": true, format: "time", "max-time": 0, "max-bytes": 0 }],
      parse: ["h264parse", {}],
      decode: ["avdec_h264", decoder],
      out: [sink(process)],
    });
    await pipeline.setState("PLAYING", 0);
    const camera = await ingest(pipeline, 0, `video/x-raw,format=I420,${size}`);
    await arrived.reached(3);
    assert.equal(await pipeline.get("decode", "max-threads"), threads);
    await camera.close();
    await pipeline.close();
  });

test("an ingest that joins a running stream starts with its next keyframe", NO_HANG, async () => {
  const { pipeline, seen, arrived } = await lasting();
  const before = counter();
  const camera = newPipeline("camera");
  await camera.build({
    nodes: [
      { name: "source", factory: "videotestsrc", properties: { "is-live": true } },
      { name: "format", factory: "capsfilter", properties: { caps: I420 } },
      { name: "encoder", factory: "x264enc", properties: { tune: "zerolatency", "key-int-max": 12 } },
      { name: "end", factory: "appsink", properties: { sync: false, "max-buffers": 1, drop: true } },
    ],
    links: [
      { from: "source", to: "format" },
      { from: "format", to: "encoder" },
      { from: "encoder", to: "end" },
    ],
  });
  camera.tap("encoder", () => before.add());
  await camera.setState("PLAYING", 0);
  await before.reached(4);
  pipeline.relayFrom("in", camera, "end");
  assert.equal(pipeline.relayStatus("in").flowing, false);
  await arrived.reached(3);
  const { dropped, frames, flowing } = pipeline.relayStatus("in");
  await Promise.all([camera.close(), pipeline.close()]);
  assert.deepEqual([seen[0]?.keyframe, seen[0]?.discontinuity, flowing], [true, true, true]);
  assert.ok(dropped > 0 && frames >= 3, `${dropped} dropped, ${frames} carried`);
});

test("passes on a change of format by another ingest", NO_HANG, async () => {
  const { pipeline, seen, arrived } = await lasting();
  for (const caps of [I420, I420.replace("width=64", "width=96")]) {
    const camera = await ingest(pipeline, 0, caps);
    await arrived.reached(arrived.count + 4);
    await camera.close();
  }
  await pipeline.close();
  const widths = [...new Set(seen.map(({ caps }) => /width=\(int\)(\d+)/.exec(caps)?.[1]))];
  assert.deepEqual(widths, ["64", "96"]);
});

test("skips whole groups of pictures when decoding cannot keep up", NO_HANG, async () => {
  const { opened, open } = gate();
  const { pipeline, seen, arrived } = await lasting(opened);
  const camera = await ingest(pipeline, 0);
  while (pipeline.relayStatus("in").dropped < 15) await new Promise((resolve) => setTimeout(resolve, 20));
  const { frames } = pipeline.relayStatus("in");
  open();
  await arrived.reached(frames + 20);
  await Promise.all([camera.close(), pipeline.close()]);
  assertGrows(seen);
  const gaps = seen.filter(({ discontinuity }) => discontinuity);
  assert.ok(gaps.length >= 2 && gaps.every(({ keyframe }) => keyframe), `${gaps.length} gaps`);
  // Frames are 33 ms apart; a missing one that is not marked would be seen as a step of two.
  const steps = seen
    .slice(1)
    .map(({ ptsNs, discontinuity }, index) => (discontinuity ? 0n : (ptsNs ?? 0n) - (seen[index]?.ptsNs ?? 0n)));
  assert.ok(
    steps.every((ns) => ns < 60_000_000n),
    `${steps.map((ns) => ns / 1_000_000n).join(" ")} ms apart`,
  );
});

test("moves a stream whose clock has drifted without sending any picture twice", NO_HANG, async () => {
  const { pipeline, seen, arrived } = await lasting();
  // Three times slower than its timestamps say; groups of pictures are open.
  const camera = await build({
    ...pictures(-1),
    pace: ["identity", { "sleep-time": 100_000 }],
    encoder: [
      "x264enc",
      { "speed-preset": "ultrafast", "key-int-max": 8, "option-string": "open-gop=1:bframes=3:b-adapt=0" },
    ],
    parser: ["h264parse"],
    stream: ["capsfilter", { caps: "video/x-h264,stream-format=byte-stream,alignment=au" }],
    end: ["appsink", { sync: false, "max-buffers": 8, drop: false }],
  });
  pipeline.relayFrom("in", camera, "end");
  await camera.setState("PLAYING", 0);
  while (seen.filter(({ discontinuity }) => discontinuity).length < 2) await arrived.reached(arrived.count + 1);
  const { frames } = pipeline.relayStatus("in");
  await arrived.reached(frames);
  await Promise.all([camera.close(), pipeline.close()]);
  const keyframes = seen.filter(({ keyframe }) => keyframe).map(({ ptsNs }) => ptsNs ?? 0n);
  const steps = keyframes.slice(1).map((ns, index) => ns - (keyframes[index] ?? 0n));
  assert.ok(
    steps.every((ns) => ns > 1_000_000n),
    `keyframes ${steps.join(" ")} ns apart`,
  );
});

test("ignores buffers of an earlier ingest", NO_HANG, async () => {
  const { pipeline, seen, arrived } = await lasting();
  const first = await ingest(pipeline, 0);
  await arrived.reached(3);
  const second = await ingest(pipeline, 0, I420.replace("width=64", "width=96"));
  await arrived.reached(arrived.count + 10);
  await Promise.all([first.close(), second.close(), pipeline.close()]);
  const widths = seen.map(({ caps }) => /width=\(int\)(\d+)/.exec(caps)?.[1]);
  assert.equal(widths.lastIndexOf("64") + 1, widths.indexOf("96"));
  assertGrows(seen);
});

test("an ingest can be closed before or after the pipeline it feeds", NO_HANG, async () => {
  for (const order of ["lasting first", "ingest first"]) {
    const { pipeline, arrived } = await lasting();
    const camera = await ingest(pipeline, 0);
    await arrived.reached(2);
    const [a, b] = order === "lasting first" ? [pipeline, camera] : [camera, pipeline];
    await a.close();
    await b.close();
  }
});

test("ends the stream at the appsrc", NO_HANG, async () => {
  const ended = gate();
  const { pipeline, arrived } = await lasting();
  void (async () => {
    for await (const message of pipeline.messages()) if (message.type === "eos") ended.open();
  })();
  const camera = await ingest(pipeline, 0);
  await arrived.reached(2);
  await camera.close();
  pipeline.relayEnd("in");
  await ended.opened;
  await pipeline.close();
});

test("rejects elements that are not appsrc or appsink", NO_HANG, async () => {
  const { pipeline } = await lasting();
  const camera = await build({ ...pictures(1), out: ["fakesink"] });
  assert.throws(() => pipeline.relayFrom("out", camera, "out"), /the pipeline has no appsrc "out"/);
  assert.throws(() => pipeline.relayFrom("in", camera, "out"), /an ingest must end in an appsink/);
  assert.throws(() => pipeline.relayFrom("in", camera, "missing"), /no node "missing"/);
  assert.throws(() => pipeline.relayStatus("missing"), /no appsrc "missing"/);
  await Promise.all([camera.close(), pipeline.close()]);
});
