/** The tracker while the camera pans fast: telemetry lets it predict where lost objects reappear. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Type } from "typebox";
import { type AnyElement, defineElement } from "../../elements/element.ts";
import { compile } from "../../graphs/compiler/compile.ts";
import type { Detection, Tracks } from "../../schemas/detections.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { readNative } from "../../telemetry/native.ts";
import type { FrameBoxes } from "../../tools/eval/metrics/compare.ts";
import { type MotScores, scoreMot } from "../../tools/eval/metrics/score-mot.ts";
import { inputWith, start } from "../graph.fixture.ts";
import type { Lens } from "./camera.ts";
import { keepMp4 } from "./render.ts";
import { SIMULATED_DETECTOR, simulateDetections, simulatedDetector } from "./simulated-detector.ts";
import { type Sample, simulateTelemetry, USUAL } from "./telemetry.ts";
import { describeTruth, type Truth } from "./truth.ts";
import { FLIGHT } from "./world.ts";

const FPS = 15;
const LENS: Lens = { width: 640, height: 360, hfov: 30 };
/** Mostly at 30 degrees per second: the whole view changes within a second. */
const PAN = { ...FLIGHT, seconds: 12, panDeg: 20, panSeconds: 3.2 };
const SEEDS = [1, 2];
const EPOCH_MS = 1_780_000_000_000;

const truth = describeTruth(PAN, LENS, FPS);
const sampled = (hz: number) => simulateTelemetry(PAN, LENS, { ...USUAL, clockAheadMs: 0, hz }, EPOCH_MS);

type MotionSource = Pick<PanOptions, "cameraMotion" | "telemetry">;
const SOURCES = {
  nothing: { cameraMotion: "none", telemetry: null },
  picture: { cameraMotion: "picture", telemetry: null },
  "telemetry at 10 Hz": { cameraMotion: "none", telemetry: sampled(10) },
} as const satisfies Readonly<Record<string, MotionSource>>;

let clip: string;
before(async () => {
  clip = await keepMp4({ flight: PAN, lens: LENS, fps: FPS });
});

/** With image motion only: each test compares with it. */
const scored = new Map<number, Promise<MotScores>>();
function trackPicture(seed: number): Promise<MotScores> {
  const known =
    scored.get(seed) ?? trackPan({ clip, truth, seen: simulateDetections(truth, seed), ...SOURCES.picture });
  scored.set(seed, known);
  return known;
}

test("on a fast pan telemetry nearly halves the id switches, to about as many as with image motion", async (t) => {
  const count = async (name: keyof typeof SOURCES): Promise<number> => {
    let sum = 0;
    for (const seed of SEEDS) {
      const seen = simulateDetections(truth, seed);
      const { switches, idf1 } = await (name === "picture"
        ? trackPicture(seed)
        : trackPan({ clip, truth, seen, ...SOURCES[name] }));
      t.diagnostic(`camera motion from ${name}: ${switches} switches, IDF1 ${(idf1 * 100).toFixed(1)}`);
      sum += switches;
    }
    return sum;
  };
  const [without, picture, telemetry] = [
    await count("nothing"),
    await count("picture"),
    await count("telemetry at 10 Hz"),
  ];
  assert.ok(telemetry < without * 0.6, `${telemetry} switches with telemetry, ${without} without`);
  assert.ok(telemetry < picture * 1.25, `${telemetry} switches with telemetry, ${picture} with image motion`);
});

test("telemetry at a rate too low for the pan does not degrade tracking with image motion", async (t) => {
  const seen = simulateDetections(truth, 1);
  const picture = await trackPicture(1);
  const both = await trackPan({ clip, truth, seen, cameraMotion: "picture", telemetry: sampled(2) });
  t.diagnostic(`${picture.switches} switches with image motion, ${both.switches} with telemetry at 2 Hz in addition`);
  assert.ok(both.switches < picture.switches * 1.5, `${both.switches} against ${picture.switches}`);
});

interface PanOptions {
  readonly clip: string;
  readonly truth: Truth;
  readonly seen: readonly (readonly Detection[])[];
  /** Property of `track`: used for frames without motion from telemetry. */
  readonly cameraMotion: "picture" | "detections" | "none";
  /** Null: no telemetry. */
  readonly telemetry: readonly Sample[] | null;
}

const NOTE = "note-tracks";

async function trackPan({ clip, truth, seen, cameraMotion, telemetry }: PanOptions): Promise<MotScores> {
  const results: FrameBoxes[] = [];
  const { width, height } = truth.lens;
  const note = defineElement({
    kind: "sink",
    name: NOTE,
    about: "Test: records tracks.",
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
  await run(clip, makeGraph(cameraMotion), [simulatedDetector(seen), note], telemetry ?? []);
  assert.equal(results.length, truth.frames.length);
  return scoreMot([{ name: cameraMotion, truth: truth.frames.map((_, index) => boxesOf(truth, index)), results }])
    .combined;
}

const makeGraph = (cameraMotion: PanOptions["cameraMotion"]): string => `
graph: pan
about: Tracks on a flight.
chains:
  main:
    - source
    - decode
    - ${SIMULATED_DETECTOR}
    - telemetry: { offset-ms: 0 }
    - track: { camera-motion: ${cameraMotion} }
    - ${NOTE}
`;

async function run(clip: string, text: string, extra: readonly AnyElement[], sent: readonly Sample[]): Promise<void> {
  const source = { uri: clip, pace: "fast" } as const;
  const compiled = compile({ file: "pan.yaml", text }, { ...inputWith(...extra), source });
  assert.deepEqual(compiled.faults, []);
  const samples = sent.map(({ message }) => readNative(JSON.stringify(message), null).sample);
  const deliver = samples.map((message) => ({ channel: TELEMETRY_CHANNEL, message }));
  const graph = await start(compiled, extra, { send: async () => {}, deliver });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
}

/** True boxes, clipped to the picture. */
function boxesOf({ frames, lens }: Truth, index: number): FrameBoxes {
  const targets = frames[index]?.targets ?? [];
  const boxes = targets.flatMap(({ box: [left, top, width, height] }) => {
    const [x, y] = [Math.max(0, left), Math.max(0, top)];
    return [x, y, Math.min(left + width, lens.width) - x, Math.min(top + height, lens.height) - y];
  });
  return { ids: targets.map(({ id }) => id), boxes: Float64Array.from(boxes) };
}
