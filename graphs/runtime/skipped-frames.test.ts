import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Type } from "typebox";
import { defineElement } from "../../elements/element.ts";
import { pictures, play } from "../../native/pipeline.fixture.ts";
import { collector, compiledText, start, temporaryFolder } from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";

const GOP = 10;
const FPS = 25;
const SECONDS = 20;
const clip = join(temporaryFolder(), "b-frames.mp4");

await play({
  ...pictures(FPS * SECONDS, `video/x-raw,format=I420,width=64,height=48,framerate=${FPS}/1`, { pattern: "ball" }),
  encoder: ["x264enc", { "key-int-max": GOP, "option-string": "bframes=2:b-adapt=0:b-pyramid=0:scenecut=0" }],
  parser: ["h264parse"],
  muxer: ["mp4mux"],
  file: ["filesink", { location: clip }],
});

/** A sink of results: it does not need all frames. */
function results(seen: (ptsNs: bigint) => void) {
  return defineElement({
    name: "results",
    about: "Test: a sink that reads no images.",
    example: "graph: none\nchains: {}\n",
    kind: "sink",
    caps: "ANY",
    properties: Type.Object({ all: Type.Boolean({ default: false, live: true }) }),
    needsAllFrames: ({ all }) => all,
    create: () => ({ process: (frame) => seen(frame.ptsNs ?? -1n), update() {} }),
  });
}

const graphText = (frames: string, all = false) => `
graph: skipping
chains:
  main:
    - source: { uri: "${clip}", pace: realtime }
    - tee: { name: packets }
    - decode: { frames: ${frames}, every: ${GOP} }
    - tee: { name: frames }
  data: [{ from: frames }, stage, { results: { all: ${all} } }]
slots:
  viewer: { chain: [{ from: frames }, stage, collect] }
  original: { chain: [{ from: packets }, stage, collect] }
`;

const FRAME_NS = 1_000_000_000n / BigInt(FPS);
const numberOf = (ptsNs: bigint): number => Math.round(Number(ptsNs) / Number(FRAME_NS));

/** Whether the last frames follow each other without a gap, or are all keyframes. */
const areAll = (numbers: readonly number[], count: number): boolean =>
  numbers.length > count &&
  numbers.slice(-count).every((number, index, last) => index === 0 || number === (last[index - 1] ?? 0) + 1);
const areKeyframes = (numbers: readonly number[], count: number): boolean =>
  numbers.length > count &&
  numbers.slice(-count).every((number, index, last) => index === 0 || number === (last[index - 1] ?? 0) + GOP);

for (const frames of ["auto", "keyframes"])
  test(`${frames}: frames are decoded while a viewer needs them, and no longer`, async () => {
    const numbers: number[] = [];
    const shown: number[] = [];
    const watch = new Watch();
    const see = (into: number[]) => (ptsNs: bigint) => {
      into.push(numberOf(ptsNs));
      watch.check();
    };
    const extra = [results(see(numbers)), collector(({ ptsNs }) => see(shown)(ptsNs ?? -1n))];
    const graph = await start(compiledText(graphText(frames), ...extra), extra);
    await watch.until("keyframes only", () => areKeyframes(numbers, 3));
    const original = await graph.attach("original", {});
    await watch.until("packets of the source", () =>
      areAll(
        [...shown].sort((a, b) => a - b),
        5,
      ),
    );
    await graph.detach(original);
    assert.ok(areKeyframes(numbers, 3), "a reader of packets needs no decoded frames");
    shown.length = 0;
    const viewer = await graph.attach("viewer", {});
    await watch.until("all frames", () => areAll(shown, 2 * GOP));
    await graph.detach(viewer);
    await watch.until("keyframes only again", () => areKeyframes(numbers, 3));
    await graph.stop();
  });

test("a live property of a sink changes what is decoded", async () => {
  const numbers: number[] = [];
  const watch = new Watch();
  const extra = [
    results((ptsNs) => {
      numbers.push(numberOf(ptsNs));
      watch.check();
    }),
    collector(() => {}),
  ];
  const graph = await start(compiledText(graphText("keyframes"), ...extra), extra);
  await watch.until("keyframes only", () => areKeyframes(numbers, 3));
  await graph.apply(compiledText(graphText("keyframes", true), ...extra));
  await watch.until("all frames", () => areAll(numbers, GOP));
  await graph.stop();
});
