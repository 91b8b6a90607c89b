/** The tracker while the camera pans fast: with telemetry it knows where to look for what it has lost. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { MotScores } from "../../cli/eval/metrics/score-mot.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import type { Lens } from "./camera.ts";
import { detectOnPaper } from "./paper-detector.ts";
import { tellTelemetry, USUAL } from "./telemetry.ts";
import { trackPan } from "./track-pan.ts";
import { FLIGHT } from "./trajectory.ts";
import { tellTruth } from "./truth.ts";
import { writeMp4 } from "./write-clip.ts";

const FPS = 15;
const LENS: Lens = { width: 640, height: 360, hfov: 30 };
/** At 30 degrees a second for the most part: a quarter of the frames apart, nothing is where it was. */
const PAN = { ...FLIGHT, seconds: 12, panDeg: 20, panSeconds: 3.2 };
const SEEDS = [1, 2, 3];

test("on a fast pan, fewer ids are switched with telemetry than without", async (t) => {
  const clip = join(temporaryFolder(), "pan.mp4");
  await writeMp4(clip, { flight: PAN, lens: LENS, fps: FPS });
  const truth = tellTruth(PAN, LENS, FPS);
  const telemetry = tellTelemetry(PAN, LENS, { ...USUAL, clockAheadMs: 0, hz: 10 }, 1_780_000_000_000);
  const sum = { none: 0, detections: 0, picture: 0, telemetry: 0, telemetry2: 0 };
  for (const seed of SEEDS) {
    const order = { clip, truth, seen: detectOnPaper(truth, seed) };
    const scores: Record<keyof typeof sum, MotScores> = {
      none: await trackPan({ ...order, cameraMotion: "none", telemetry: null }),
      detections: await trackPan({ ...order, cameraMotion: "detections", telemetry: null }),
      picture: await trackPan({ ...order, cameraMotion: "picture", telemetry: null }),
      telemetry: await trackPan({ ...order, cameraMotion: "none", telemetry }),
      telemetry2: await trackPan({
        ...order,
        cameraMotion: "none",
        telemetry: tellTelemetry(PAN, LENS, { ...USUAL, clockAheadMs: 0 }, 1_780_000_000_000),
      }),
    };
    for (const [way, { switches, idf1 }] of Object.entries(scores)) {
      sum[way as keyof typeof sum] += switches;
      t.diagnostic(`seed ${seed}, camera motion by ${way}: ${switches} switches, IDF1 ${(idf1 * 100).toFixed(1)}`);
    }
  }
  t.diagnostic(JSON.stringify(sum));
  assert.ok(sum.telemetry < sum.none, `${sum.telemetry} switches with telemetry, ${sum.none} without`);
});
