import assert from "node:assert/strict";
import { test } from "node:test";
import type { LandmarkAnswer } from "../../schemas/telemetry.ts";
import type { Services } from "../element.ts";
import { calibrate, type Sighting } from "./calibrate.ts";
import { GeolocateHandler } from "./handler.ts";
import { type Flown, locateFoot, PROPERTIES, sightOf, telemetryOf } from "./sight.fixture.ts";

/** The landmark that a camera sees at this point of the picture, on level ground. */
function landmarkAt(flown: Flown, x: number, y: number): Sighting["landmark"] {
  const { spot } = locateFoot(sightOf(flown), x, y);
  assert.ok(spot);
  return { x, y, latitude: spot.latitude, longitude: spot.longitude, altitude: null };
}

const REAL: Flown = { pitch: -20, yaw: 30, roll: 2 };
/** Reported with an error of the heading. */
const seeBy = (bias: number, x = 0.6, y = 0.55, flown = REAL): Sighting => ({
  telemetry: telemetryOf({ ...flown, yaw: (flown.yaw ?? 0) + bias }),
  landmark: landmarkAt(flown, x, y),
});
const found = (answer: LandmarkAnswer) => ("offset" in answer ? answer : assert.fail(answer.fault));
const faultOf = (answer: LandmarkAnswer): string => ("fault" in answer ? answer.fault : assert.fail("no fault"));

test("finds the error of the heading, of any size and at any heading", () => {
  for (const bias of [0, 5, -5, 0.3, 120, -179, 181])
    for (const yaw of [0, 30, 179.9, -179.9, 90]) {
      const { offset, error } = found(calibrate([seeBy(bias, 0.3, 0.6, { ...REAL, yaw })], PROPERTIES, null));
      const left = ((((offset + bias + 180) % 360) + 360) % 360) - 180;
      assert.ok(Math.abs(left) < 1e-6, `${offset} for ${bias} at ${yaw}`);
      assert.ok(error > 0.5 && error < 2, `${error}`);
    }
});

test("is the offset of the reported heading, whatever calibration the telemetry contains", () => {
  const { telemetry, landmark } = seeBy(5);
  const corrected = { ...telemetryOf({ ...REAL, yaw: 33 }), heading: { offset: -2, error: 1 } };
  assert.ok(Math.abs(found(calibrate([{ telemetry, landmark }], PROPERTIES, null)).offset + 5) < 1e-6);
  assert.ok(Math.abs(found(calibrate([{ telemetry: corrected, landmark }], PROPERTIES, null)).offset + 5) < 1e-6);
});

test("several landmarks reduce the error, but not below that of the attitude", () => {
  const one = found(calibrate([seeBy(5)], PROPERTIES, null));
  const many = found(
    calibrate(
      [0.2, 0.4, 0.6, 0.8].map((x) => seeBy(5, x)),
      PROPERTIES,
      null,
    ),
  );
  assert.ok(Math.abs(many.offset + 5) < 1e-6);
  assert.ok(many.error < one.error && many.error >= PROPERTIES.attitudeErrorDeg);
});

test("rejects what cannot be right, with the reason", () => {
  const { telemetry, landmark } = seeBy(5);
  const nearby = seeBy(0, 0.5, 0.5, { pitch: -89.5 });
  assert.match(faultOf(calibrate([nearby], PROPERTIES, null)), /landmark 1 is too near to the camera, or below it/);
  const high = { telemetry, landmark: { ...landmark, altitude: 300 } };
  assert.match(faultOf(calibrate([high], PROPERTIES, null)), /landmark 1 is \d+ degrees above the chosen point/);
  const wrong = { ...seeBy(5, 0.3), telemetry: telemetryOf({ ...REAL, yaw: 60 }) };
  assert.match(
    faultOf(calibrate([seeBy(5), seeBy(5, 0.7), wrong], PROPERTIES, null)),
    /landmark \d contradicts the others/,
  );
  const blind = { telemetry: { ...telemetry, attitude: null }, landmark };
  assert.match(faultOf(calibrate([blind], PROPERTIES, null)), /does not have the camera's attitude/);
});

test("the element answers about frames of the last minute", () => {
  let ask: Parameters<Services["answer"]>[1] = () => assert.fail();
  const answer: Services["answer"] = (channel, handle) => {
    assert.equal(channel, "landmarks");
    ask = handle;
    return () => {};
  };
  const handler = new GeolocateHandler(PROPERTIES, { emit: () => {}, answer });
  const shoot = (ms: number, bias: number): void =>
    void handler.process({
      captureNs: BigInt(ms) * 1_000_000n,
      meta: { telemetry: seeBy(bias).telemetry },
      write() {},
    } as never);
  const { landmark } = seeBy(0);
  assert.match(faultOf(ask({ landmarks: [{ ...landmark, timeMs: null }] }) as LandmarkAnswer), /no frame has had/);
  for (let ms = 0; ms <= 200_000; ms += 100) shoot(ms, ms === 150_000 ? 3 : 1);
  const at = (timeMs: number | null) => ask({ landmarks: [{ ...landmark, timeMs }] }) as LandmarkAnswer;
  assert.ok(Math.abs(found(at(null)).offset + 1) < 1e-6);
  assert.ok(Math.abs(found(at(150_020)).offset + 3) < 1e-6);
  assert.match(
    faultOf(at(20_000)),
    /landmark 1: the camera's position at 1970-01-01T00:00:20.000Z is not known; choose a frame between/,
  );
  assert.match(faultOf(ask({ landmarks: [{}] } as never) as LandmarkAnswer), /another form/);
  handler.close();
});
