/** Geolocation over a hill, with terrain data in a real format, and the calibration of the heading with a landmark. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { quantile } from "../../test/flight/evaluate.ts";
import { flyAroundHill, reportPose, terrainErrors, writeHill } from "../../test/flight/hill.ts";
import { Random } from "../../test/flight/world.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { CAREFUL_CLICK, click, fly, GOOD, medianOf, open, PROPERTIES, STATED } from "./hill-flights.fixture.ts";

const folder = temporaryFolder();
writeHill(folder, "geotiff");

test("over a hill, terrain reduces the median error to a tenth", () => {
  const frames = flyAroundHill(24, 3);
  const order = { frames, errors: GOOD, footError: 0.02, seed: 5 };
  const [known, level] = [fly({ ...order, folder }), fly({ ...order, folder: null })];
  const people = frames.reduce((sum, frame) => sum + frame.people.length, 0);
  assert.ok(known.length > people * 0.98, `only ${known.length} of ${people} people were geolocated`);
  assert.ok(medianOf(known) * 10 <= medianOf(level), `${medianOf(known)} m against ${medianOf(level)} m`);
});

test("the stated error holds for two of three positions on slopes", () => {
  const rough = temporaryFolder();
  writeHill(rough, "geotiff", terrainErrors(11, PROPERTIES.terrainErrorM));
  const { footError } = PROPERTIES;
  const found = fly({ frames: flyAroundHill(60, 4), folder: rough, errors: STATED, footError, seed: 11 });
  const share = found.filter(({ errorM, statedM }) => errorM <= statedM).length / found.length;
  assert.ok(share >= 0.6 && share <= 0.76, `${(share * 100).toFixed(1)} % of positions are within the stated error`);
});

test("one landmark removes a heading bias of 5 degrees to within half a degree", () => {
  const residuals = flyAroundHill(12, 8).flatMap((frame, i) => {
    if (frame.people.length === 0) return [];
    const random = new Random(100 + i);
    const { shoot, ask } = open(folder);
    shoot(reportPose(frame.pose, GOOD, random, 5), [], 1000);
    const answer = ask({ landmarks: [click(frame, 1000, random, CAREFUL_CLICK)] });
    assert.ok("offset" in answer, JSON.stringify(answer));
    return [Math.abs(answer.offset + 5)];
  });
  assert.ok(residuals.length > 5);
  const p90 = quantile(residuals, 0.9);
  assert.ok(p90 <= 0.5, `${p90} degrees are left of the bias`);
});
