/** The tracker on a flight: the graph from the file to the tracks, with a detector that is the same each time. */
import assert from "node:assert/strict";
import { Type } from "typebox";
import { type AnyElement, defineElement } from "../../elements/element.ts";
import { compile } from "../../graphs/compiler/compile.ts";
import type { Detection, Tracks } from "../../schemas/detections.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { readNative } from "../../telemetry/native.ts";
import type { FrameBoxes } from "../../tools/eval/metrics/compare.ts";
import { type MotScores, scoreMot } from "../../tools/eval/metrics/score-mot.ts";
import { inputWith, start } from "../graph.fixture.ts";
import { PAPER_DETECTOR, paperDetector } from "./paper-detector.ts";
import type { Said } from "./telemetry.ts";
import type { Truth } from "./truth.ts";

export interface PanOrder {
  readonly clip: string;
  readonly truth: Truth;
  readonly seen: readonly (readonly Detection[])[];
  /** Of `track`: used where the frame brings no motion along. */
  readonly cameraMotion: "picture" | "detections" | "none";
  /** Null: none is sent. */
  readonly telemetry: readonly Said[] | null;
}

const NOTE = "note-tracks";

export async function trackPan({ clip, truth, seen, cameraMotion, telemetry }: PanOrder): Promise<MotScores> {
  const results: FrameBoxes[] = [];
  const { width, height } = truth.lens;
  const note = defineElement({
    kind: "sink",
    name: NOTE,
    about: "Test: takes tracks down.",
    example: "",
    caps: "video/x-raw",
    properties: Type.Object({}),
    reads: ["tracks"],
    create: () => ({
      process({ meta }) {
        const shown = (meta.tracks as Tracks).objects.filter(({ predicted }) => !predicted);
        const boxes = shown.flatMap(({ box: [x, y, w, h] }) => [x * width, y * height, w * width, h * height]);
        results.push({ ids: shown.map(({ id }) => id), boxes: Float64Array.from(boxes) });
      },
    }),
  });
  await run(clip, makeGraph(cameraMotion), [paperDetector(seen), note], telemetry ?? []);
  assert.equal(results.length, truth.frames.length);
  return scoreMot([{ name: cameraMotion, truth: truth.frames.map((_, index) => boxesOf(truth, index)), results }])
    .combined;
}

const makeGraph = (cameraMotion: PanOrder["cameraMotion"]): string => `
graph: pan
about: Tracks on a flight.
chains:
  main:
    - source
    - decode
    - ${PAPER_DETECTOR}
    - telemetry: { offset-ms: 0 }
    - track: { camera-motion: ${cameraMotion} }
    - ${NOTE}
`;

async function run(clip: string, text: string, extra: readonly AnyElement[], said: readonly Said[]): Promise<void> {
  const source = { uri: clip, pace: "fast" } as const;
  const compiled = compile({ file: "pan.yaml", text }, { ...inputWith(...extra), source });
  assert.deepEqual(compiled.faults, []);
  const samples = said.map(({ message }) => readNative(JSON.stringify(message), null).sample);
  const deliver = samples.map((message) => ({ channel: TELEMETRY_CHANNEL, message }));
  const graph = await start(compiled, extra, { send: async () => {}, deliver });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
}

/** Boxes of the truth as the detector would have them at its best: cut off at the edges. */
function boxesOf({ frames, lens }: Truth, index: number): FrameBoxes {
  const targets = frames[index]?.targets ?? [];
  const boxes = targets.flatMap(({ box: [left, top, width, height] }) => {
    const [x, y] = [Math.max(0, left), Math.max(0, top)];
    return [x, y, Math.min(left + width, lens.width) - x, Math.min(top + height, lens.height) - y];
  });
  return { ids: targets.map(({ id }) => id), boxes: Float64Array.from(boxes) };
}
