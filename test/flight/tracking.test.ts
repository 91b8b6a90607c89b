/** The tracker while the camera pans fast: with telemetry it knows where to look for what it has lost. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { temporaryFolder } from "../graph.fixture.ts";
import type { Lens } from "./camera.ts";
import { detectOnPaper } from "./paper-detector.ts";
import { tellTelemetry, USUAL } from "./telemetry.ts";
import { type PanOrder, trackPan } from "./track-pan.ts";
import { FLIGHT } from "./trajectory.ts";
import { tellTruth } from "./truth.ts";
import { writeMp4 } from "./write-clip.ts";

const FPS = 15;
const LENS: Lens = { width: 640, height: 360, hfov: 30 };
/** At 30 degrees a second for the most part: within a second nothing is left of what was seen. */
const PAN = { ...FLIGHT, seconds: 12, panDeg: 20, panSeconds: 3.2 };
const SEEDS = [1, 2];
const EPOCH_MS = 1_780_000_000_000;

const clip = join(temporaryFolder(), "pan.mp4");
const truth = tellTruth(PAN, LENS, FPS);
const sampled = (hz: number) => tellTelemetry(PAN, LENS, { ...USUAL, clockAheadMs: 0, hz }, EPOCH_MS);

type Way = Pick<PanOrder, "cameraMotion" | "telemetry">;
const WAYS = {
  nothing: { cameraMotion: "none", telemetry: null },
  picture: { cameraMotion: "picture", telemetry: null },
  "telemetry at 10 Hz": { cameraMotion: "none", telemetry: sampled(10) },
} as const satisfies Readonly<Record<string, Way>>;

before(() => writeMp4(clip, { flight: PAN, lens: LENS, fps: FPS }));

test("on a fast pan, fewer ids are switched with telemetry than without, and hardly more than by the picture", async (t) => {
  const count = async (name: keyof typeof WAYS): Promise<number> => {
    let sum = 0;
    for (const seed of SEEDS) {
      const seen = detectOnPaper(truth, seed);
      const { switches, idf1 } = await trackPan({ clip, truth, seen, ...WAYS[name] });
      t.diagnostic(`camera motion by ${name}: ${switches} switches, IDF1 ${(idf1 * 100).toFixed(1)}`);
      sum += switches;
    }
    return sum;
  };
  const [without, picture, telemetry] = [
    await count("nothing"),
    await count("picture"),
    await count("telemetry at 10 Hz"),
  ];
  assert.ok(telemetry < without / 2, `${telemetry} switches with telemetry, ${without} without`);
  assert.ok(telemetry < picture * 1.25, `${telemetry} switches with telemetry, ${picture} by the picture`);
});

test("telemetry that is too seldom for the pan takes nothing from what the picture tells", async (t) => {
  const seen = detectOnPaper(truth, 1);
  const picture = await trackPan({ clip, truth, seen, cameraMotion: "picture", telemetry: null });
  const both = await trackPan({ clip, truth, seen, cameraMotion: "picture", telemetry: sampled(2) });
  t.diagnostic(`${picture.switches} switches by the picture, ${both.switches} with telemetry at 2 Hz besides`);
  assert.ok(both.switches < picture.switches * 1.5, `${both.switches} against ${picture.switches}`);
});
