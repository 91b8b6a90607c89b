/** Two cameras that were written apart from each other: the simulator's, and the one of `geolocate`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Value } from "typebox/value";
import type { Frame } from "../../elements/element.ts";
import geolocate from "../../elements/geolocate/geolocate.ts";
import { GeolocateHandler } from "../../elements/geolocate/handler.ts";
import type { GeolocateProperties } from "../../elements/geolocate/locate.ts";
import type { Detections } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { vfovOf } from "./camera.ts";
import { FLIGHT } from "./trajectory.ts";
import { isWhole, type TrueFrame, tellTruth } from "./truth.ts";
import { ORIGIN, toEnu } from "./world.ts";
import { FPS, LENS } from "./write-clip.ts";

test("with true boxes and true telemetry every car is found where it is, to a centimetre", () => {
  const properties = Value.Create(geolocate.properties) as GeolocateProperties;
  const handler = new GeolocateHandler(properties, { emit: () => {} });
  let count = 0;
  for (const [index, frame] of tellTruth({ ...FLIGHT, seconds: 10 }, LENS, FPS).frames.entries()) {
    const targets = frame.targets.filter(({ box }) => isWhole(box, LENS));
    const places = place(handler, index, frame, targets);
    for (const [at, target] of targets.entries()) {
      const spot = places.objects[at]?.spot ?? assert.fail(`no spot at ${frame.seconds} s`);
      const [found, real] = [toEnu(spot), toEnu(target)];
      const errorM = Math.hypot(found[0] - real[0], found[1] - real[1]);
      assert.ok(errorM < 0.01, `${errorM} m at ${frame.seconds} s`);
      assert.ok(Math.abs(spot.altitude - ORIGIN.altitude) < 0.01, `${spot.altitude} m above the sea`);
      count += 1;
    }
  }
  assert.ok(count > 300, `only ${count} cars were seen`);
});

function place(handler: GeolocateHandler, index: number, { camera }: TrueFrame, targets: TrueFrame["targets"]): Places {
  const { latitude, longitude, altitude, yaw, pitch, roll } = camera;
  const telemetry: FrameTelemetry = {
    ...{ method: "between", ageMs: 0, offsetMs: 0, hfov: LENS.hfov, vfov: vfovOf(LENS) },
    position: { latitude, longitude, altitude, relAltitude: altitude - ORIGIN.altitude },
    attitude: { yaw, pitch, roll },
    doubt: { angle: 0, position: 0, height: 0 },
  };
  const detections: Detections = {
    ...{ inferred: true, model: "true", confidence: 0.5, weak: [] },
    objects: targets.map(({ className, box: [left, top, width, height] }) => ({
      ...{ classId: 2, className, confidence: 1 },
      box: [left / LENS.width, top / LENS.height, width / LENS.width, height / LENS.height],
    })),
  };
  const written: Places[] = [];
  const frame = {
    captureNs: BigInt(index) * 66_666_667n,
    meta: { telemetry, detections },
    write: (part: object) => written.push((part as { places: Places }).places),
  };
  handler.process(frame as unknown as Frame);
  return written[0] ?? assert.fail("nothing was written");
}
