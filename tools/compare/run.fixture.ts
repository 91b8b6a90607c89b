/** Runs of graphs, made up. */
import type { Track } from "../../schemas/detections.ts";
import type { GraphRun, SeenFrame } from "./watched-graph.ts";

const MS = 1_000_000n;

export const track = (id: number, left: number, className = "person", confidence = 0.9): Track => ({
  ...{ id, className, confidence, classId: 0, box: [left, 0.2, 0.1, 0.3] },
  ...{ predicted: false, ageMs: 0, velocity: [0, 0] },
});

export const frameAt = (index: number, tracks: readonly Track[]): SeenFrame => ({
  ...{ ptsNs: BigInt(index) * 40n * MS, width: 640, height: 360 },
  ...{ detections: tracks, tracks },
});

export const runOf = (...frames: readonly (readonly Track[])[]): GraphRun => ({
  frames: frames.map((tracks, index) => frameAt(index, tracks)),
  ...{ hasTracks: true, framesPerSecond: 10, inputSize: { width: 640, height: 360 } },
});
