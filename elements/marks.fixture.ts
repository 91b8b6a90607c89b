/** Metadata of `detect` and `track`, and an element that writes it, for tests of elements that read it. */
import { Type } from "typebox";
import type { Box, Detection, Detections, Track, Tracks } from "../schemas/detections.ts";
import { type AnyElement, defineElement, type Frame, type FrameMetadata } from "./element.ts";

export const detection = (box: Box, change: Partial<Detection> = {}): Detection => ({
  classId: 0,
  className: "person",
  confidence: 0.87,
  box,
  ...change,
});

export const track = (id: number, box: Box, change: Partial<Track> = {}): Track => ({
  ...detection(box),
  id,
  predicted: false,
  ageMs: 1000,
  velocity: [0, 0],
  ...change,
});

export const detections = (objects: Detection[], change: Partial<Detections> = {}): Detections => ({
  inferred: true,
  model: "test",
  confidence: 0.4,
  objects,
  weak: [],
  ...change,
});

export const tracks = (objects: Track[], change: Partial<Tracks> = {}): Tracks => ({
  inferred: true,
  objects,
  ended: [],
  ...change,
});

/** Replaces `detect` and `track`. */
export const marker = (mark: (frame: Frame) => FrameMetadata): AnyElement =>
  defineElement({
    kind: "transform",
    name: "mark",
    about: "Test: writes metadata given by the test.",
    example: "graph: none\nchains: {}\n",
    properties: Type.Object({}),
    writes: ["detections", "tracks"],
    caps: "video/x-raw",
    create: () => ({ process: (frame) => frame.write(mark(frame)) }),
  });
