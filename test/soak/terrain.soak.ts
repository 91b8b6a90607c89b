/** As elements/geolocate/hill.test.ts, with more frames and from all sides. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CAREFUL_CLICK,
  click,
  fly,
  GOOD,
  medianOf,
  open,
  PROPERTIES,
  STATED,
} from "../../elements/geolocate/hill-flights.fixture.ts";
import { quantile } from "../flight/evaluate.ts";
import { flyAroundHill, reportPose, terrainErrors, writeHill } from "../flight/hill.ts";
import { Random } from "../flight/world.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const FRAMES = rounds(150, 3000);

for (const type of ["srtm", "geotiff"] as const)
  test(`over a hill, terrain (${type}) reduces the median error to a tenth`, (t) => {
    const folder = temporaryFolder();
    writeHill(folder, type);
    const frames = flyAroundHill(FRAMES, 3);
    const order = { frames, errors: GOOD, footError: 0.02, seed: 5 };
    const [known, level] = [fly({ ...order, folder }), fly({ ...order, folder: null })];
    const people = frames.reduce((sum, frame) => sum + frame.people.length, 0);
    t.diagnostic(
      `${known.length} of ${people} people: median ${medianOf(known).toFixed(2)} m with terrain, ${medianOf(level).toFixed(2)} m on level ground`,
    );
    assert.ok(known.length > people * 0.98, `only ${known.length} of ${people} people were geolocated`);
    assert.ok(medianOf(known) * 10 <= medianOf(level), `${medianOf(known)} m against ${medianOf(level)} m`);
  });

test("the stated error holds for two of three positions on slopes", (t) => {
  const frames = flyAroundHill(FRAMES, 4);
  const found = [11, 12, 13].flatMap((seed) => {
    const folder = temporaryFolder();
    writeHill(folder, "srtm", terrainErrors(seed, PROPERTIES.terrainErrorM));
    return fly({ frames, folder, errors: STATED, footError: PROPERTIES.footError, seed });
  });
  const share = found.filter(({ errorM, statedM }) => errorM <= statedM).length / found.length;
  const stated = quantile(
    found.map(({ statedM }) => statedM),
    0.5,
  );
  t.diagnostic(
    `${found.length} positions, ${(share * 100).toFixed(1)} % within the stated error (median ${stated.toFixed(1)} m)`,
  );
  assert.ok(share >= 0.6 && share <= 0.76, `${(share * 100).toFixed(1)} % of positions are within the stated error`);
});

test("one landmark removes a heading bias of 5 degrees to within half a degree", (t) => {
  const folder = temporaryFolder();
  writeHill(folder, "srtm");
  const residuals: number[] = [];
  for (const [i, frame] of flyAroundHill(40, 8).entries()) {
    if (frame.people.length === 0) continue;
    const random = new Random(100 + i);
    const { shoot, ask } = open(folder);
    shoot(reportPose(frame.pose, GOOD, random, 5), [], 1000);
    const answer = ask({ landmarks: [click(frame, 1000, random, CAREFUL_CLICK)] });
    assert.ok("offset" in answer, JSON.stringify(answer));
    residuals.push(Math.abs(answer.offset + 5));
  }
  const p90 = quantile(residuals, 0.9);
  t.diagnostic(
    `${residuals.length} landmarks: residual heading ${quantile(residuals, 0.5).toFixed(2)} degrees (median), ${p90.toFixed(2)} (nine of ten)`,
  );
  assert.ok(p90 <= 0.5, `${p90} degrees are left of the bias`);
});

test("six landmarks of usual accuracy remove it, too", (t) => {
  const folder = temporaryFolder();
  writeHill(folder, "srtm");
  const frames = flyAroundHill(240, 10).filter(({ people }) => people.length > 0);
  const residuals: number[] = [];
  for (let i = 0; i < 30; i++) {
    const random = new Random(900 + i);
    const { shoot, ask } = open(folder);
    const landmarks = Array.from({ length: 6 }, (_, at) => {
      const frame = frames[(i * 7 + at * 11) % frames.length] ?? assert.fail();
      shoot(reportPose(frame.pose, GOOD, random, 5), [], at * 2000);
      return click(frame, at * 2000, random);
    });
    const answer = ask({ landmarks });
    assert.ok("offset" in answer, JSON.stringify(answer));
    residuals.push(Math.abs(answer.offset + 5));
  }
  const worst = Math.max(...residuals);
  t.diagnostic(`residual heading ${quantile(residuals, 0.5).toFixed(2)} degrees (median), ${worst.toFixed(2)} at most`);
  assert.ok(worst <= 0.5, `${worst} degrees are left of the bias`);
});

test("the stated error of a calibration holds for two of three", (t) => {
  const folder = temporaryFolder();
  writeHill(folder, "srtm");
  const errors = { ...STATED, heading: 0 };
  let [count, held] = [0, 0];
  for (const [i, frame] of flyAroundHill(FRAMES * 2, 9).entries()) {
    if (frame.people.length === 0) continue;
    const random = new Random(500 + i);
    const { shoot, ask } = open(folder);
    shoot(reportPose(frame.pose, errors, random, -7), [], 1000);
    const answer = ask({ landmarks: [click(frame, 1000, random)] });
    assert.ok("offset" in answer, JSON.stringify(answer));
    count += 1;
    if (Math.abs(answer.offset - 7) <= answer.error) held += 1;
  }
  t.diagnostic(`${count} calibrations, ${((held / count) * 100).toFixed(1)} % within the stated error`);
  assert.ok(held / count >= 0.6 && held / count <= 0.78, `${held} of ${count}`);
});
