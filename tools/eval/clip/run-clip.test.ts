import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import detect from "../../../elements/detect/detect.ts";
import { defineElement } from "../../../elements/element.ts";
import track from "../../../elements/track/track.ts";
import type { Detection } from "../../../schemas/detections.ts";
import { inputWith, typeOf } from "../../../test/graph.fixture.ts";
import { runClip } from "./run-clip.ts";

const CLIP = "test:ball?width=64&height=48&fps=10&seconds=2";
const FRAMES = 20;

const at = (left: number, confidence: number): Detection => ({
  classId: 0,
  className: "person",
  confidence,
  box: [left, 0.2, 0.2, 0.5],
});

/** In the place of the real one: two objects that are sure, and as many as that are hardly there. */
const asked: object[] = [];
const sham = defineElement({
  kind: "transform",
  name: "detect",
  about: "Test: sees the same in every frame.",
  example: "",
  ...typeOf(detect),
  properties: Type.Object({
    model: Type.String(),
    confidence: Type.Union([Type.Number(), Type.Null()]),
    weak: Type.Union([Type.Number(), Type.Null()], { default: null }),
    classes: Type.Array(Type.String()),
    every: Type.Union([Type.Literal("auto"), Type.Integer()]),
  }),
  writes: ["detections"],
  create: (properties) => {
    asked.push(properties);
    const weakest = properties.weak ?? 0;
    return {
      process: (frame) =>
        frame.write({
          detections: {
            inferred: true,
            model: "sham",
            confidence: 0.5,
            objects: [at(0.1, 0.9), at(0.6, 0.8)],
            weak: [at(0.3, 0.3), at(0.4, 0.05), at(0.35, 0.02), at(0.45, 0.005)].filter(
              ({ confidence }) => confidence >= weakest,
            ),
          },
        }),
    };
  },
});

/** Stands where the tracker's input can be seen. */
const given: number[] = [];
const shamTrack = defineElement({
  kind: "transform",
  name: "track",
  about: "Test: notes how many weak detections it was given.",
  example: "",
  ...typeOf(track),
  properties: Type.Object({}),
  reads: ["detections"],
  writes: ["tracks"],
  create: () => ({
    process(frame) {
      given.push((frame.meta.detections as { weak: unknown[] }).weak.length);
      frame.write({ tracks: { inferred: true, objects: [], ended: [] } });
    },
  }),
});

test("every frame is watched, down to detections that are hardly there", async () => {
  asked.length = 0;
  const counts: number[] = [];
  const order = { clip: CLIP, model: "some", weak: 0.1, onFrame: (count: number) => counts.push(count) };
  const { frames, framesPerSecond } = await runClip(order, inputWith(sham));
  assert.equal(frames.length, FRAMES);
  assert.deepEqual(
    counts,
    Array.from({ length: FRAMES }, (_, index) => index + 1),
  );
  for (const { width, height, detections } of frames) assert.deepEqual([width, height, detections.length], [64, 48, 5]);
  assert.deepEqual(new Set(frames.at(-1)?.tracks.map(({ className }) => className)), new Set(["person"]));
  assert.ok(framesPerSecond > 0);
  assert.deepEqual(asked, [{ model: "some", confidence: null, weak: 0.01, classes: [], every: "auto" }]);
});

test("the tracker is given what it would be given without being watched", async () => {
  given.length = 0;
  await runClip({ clip: CLIP, model: "some", weak: 0.1, onFrame: () => {} }, inputWith(sham, shamTrack));
  assert.deepEqual(given, Array(FRAMES).fill(1));
});

test("a card that goes lower than precision is measured keeps what it gives the tracker", async () => {
  given.length = 0;
  const order = { clip: CLIP, model: "some", weak: 0.001, onFrame: () => {} };
  const { frames } = await runClip(order, inputWith(sham, shamTrack));
  assert.deepEqual(given, Array(FRAMES).fill(4));
  assert.deepEqual(new Set(frames.map(({ detections }) => detections.length)), new Set([5]));
});

test("a graph that breaks is a failure in words", async () => {
  const broken = defineElement({
    ...shamTrack,
    create: () => ({
      process() {
        throw new Error("out of ideas");
      },
    }),
  } as typeof shamTrack);
  await assert.rejects(
    runClip({ clip: CLIP, model: "some", weak: 0.1, onFrame: () => {} }, inputWith(sham, broken)),
    (error: Error) => error.name === "CommandFailure" && /out of ideas/.test(error.message),
  );
});
