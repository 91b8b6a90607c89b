/** Tests of the simulator, on which the other tests rely. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Enu, type Lens, type Pose, project, vfovOf } from "./camera.ts";
import { evaluate, findStart } from "./evaluate.ts";
import { FPS, LENS, Renderer } from "./render.ts";
import { simulateTelemetry, USUAL } from "./telemetry.ts";
import { describeTruth, isWhole } from "./truth.ts";
import { FLIGHT, poseAt } from "./world.ts";

const WIDE: Lens = { width: 200, height: 100, hfov: 90 };
const LEVEL: Pose = { at: [0, 0, 100], yaw: 0, pitch: 0, roll: 0 };

/** Calculated by hand: with 90 degrees on 200 pixels, 1 m to the side at a depth of 1 m is 100 pixels. */
const CASES: readonly (readonly [what: string, pose: Partial<Pose>, point: Enu, x: number, y: number])[] = [
  ["straight ahead is projected to the centre", {}, [0, 50, 100], 100, 50],
  ["east of north is right", {}, [50, 100, 100], 150, 50],
  ["above is up", {}, [0, 100, 125], 100, 25],
  ["yaw is clockwise: a point ahead moves left", { yaw: 45 }, [0, 100, 100], 0, 50],
  [
    "pitched down by 45 degrees, the centre meets the ground at a distance equal to the height",
    { pitch: -45 },
    [0, 100, 0],
    100,
    50,
  ],
  ["straight down with yaw 90, north is left", { yaw: 90, pitch: -90 }, [0, 50, 0], 50, 50],
  ["rolled clockwise, a point on the right moves up", { roll: 90 }, [25, 100, 100], 100, 25],
];

for (const [what, pose, point, x, y] of CASES)
  test(`the camera: ${what}`, () => {
    const seen = project(point, { ...LEVEL, ...pose }, WIDE);
    assert.ok(seen !== null && Math.abs(seen.x - x) < 1e-9 && Math.abs(seen.y - y) < 1e-9, JSON.stringify(seen));
  });

test("the camera: points behind it are not projected, and pixels are square", () => {
  assert.equal(project([0, -10, 100], LEVEL, WIDE), null);
  assert.ok(Math.abs(vfovOf(WIDE) - (2 * Math.atan(0.5) * 180) / Math.PI) < 1e-9);
});

test("cars are rendered at their true positions", () => {
  const truth = describeTruth({ ...FLIGHT, seconds: 4 }, LENS, FPS);
  const renderer = new Renderer(LENS);
  const emptied = new Renderer(LENS, []);
  for (const { seconds, targets } of truth.frames.filter((_, index) => index % 20 === 7)) {
    const pose = poseAt(FLIGHT, seconds);
    const painted = renderer.render(pose, seconds);
    const ground = emptied.render(pose, seconds);
    const isPainted = (x: number, y: number): boolean =>
      Math.abs((painted[y * LENS.width + x] ?? 0) - (ground[y * LENS.width + x] ?? 0)) > 8;
    const whole = targets.filter(({ box }) => isWhole(box, LENS));
    assert.ok(whole.length > 0);
    for (const { box } of whole) {
      const rows = listRows(box, isPainted);
      assert.ok(Math.abs((rows[0] ?? 0) - box[1]) <= 2, `top ${rows[0]}, not ${box[1]}`);
      assert.ok(Math.abs((rows.at(-1) ?? 0) + 1 - box[1] - box[3]) <= 2, `foot ${rows.at(-1)}, not ${box[1] + box[3]}`);
    }
  }
});

/** Rendered rows in and near a box. */
function listRows([left, top, width, height]: readonly number[], isPainted: (x: number, y: number) => boolean) {
  const rows: number[] = [];
  for (let y = Math.floor((top ?? 0) - 6); y < (top ?? 0) + (height ?? 0) + 6; y++)
    for (let x = Math.ceil(left ?? 0); x < (left ?? 0) + (width ?? 0); x++)
      if (isPainted(x, y)) {
        rows.push(y);
        break;
      }
  return rows;
}

test("a perfect detector has no error, and its start is found to the frame", () => {
  const truth = describeTruth({ ...FLIGHT, seconds: 6 }, LENS, FPS);
  const startMs = Date.UTC(2026, 0, 1, 12, 30, 15, 123);
  const messages = truth.frames.slice(20).map(({ seconds, targets }) => ({
    timestamp: new Date(Math.round(startMs + seconds * 1000)).toISOString(),
    active_tracks: targets
      .filter(({ box }) => isWhole(box, LENS))
      .map(({ id, box, latitude, longitude }) => ({
        ...{ track_id: id, class_id: 2, class_name: "car", confidence: 90, latitude, longitude },
        bbox: [...box] as [number, number, number, number],
        scaled_bbox: [0, 0, 0, 0] as [number, number, number, number],
      })),
  }));
  const found = findStart(messages, truth) ?? assert.fail("no start");
  assert.ok(Math.abs(found - startMs) < 500 / FPS, `${found - startMs} ms`);
  const findings = evaluate(messages, truth, found);
  assert.equal(findings.length, messages.flatMap(({ active_tracks }) => active_tracks).length);
  for (const { trueId, trackId, errorM } of findings) assert.ok(trueId === trackId && errorM < 1e-6, `${errorM}`);
});

test("telemetry without noise equals the flight, with the clock offset", () => {
  const samples = simulateTelemetry(FLIGHT, LENS, { ...USUAL, noise: 0 }, 1_000_000);
  for (const { seconds, message } of samples) {
    const { yaw, pitch } = poseAt(FLIGHT, seconds);
    assert.ok(Math.abs((((message.camera_yaw ?? 0) - yaw + 540) % 360) - 180) < 1e-6);
    assert.ok(Math.abs((message.camera_pitch ?? 0) - pitch) < 1e-6);
    assert.ok(Math.abs(message.timestamp * 1000 - 1_000_000 - seconds * 1000 - USUAL.clockAheadMs) < 1e-3);
  }
});
