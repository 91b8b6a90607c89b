/** Geolocation over a hill, with terrain data in real formats, and the calibration of the heading with a landmark. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Value } from "typebox/value";
import type { Frame, Services } from "../../elements/element.ts";
import geolocate from "../../elements/geolocate/geolocate.ts";
import { GeolocateHandler, openTerrain } from "../../elements/geolocate/handler.ts";
import type { GeolocateProperties } from "../../elements/geolocate/locate.ts";
import type { Detections } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Places } from "../../schemas/places.ts";
import type { FrameTelemetry, LandmarkAnswer } from "../../schemas/telemetry.ts";
import { quantile } from "../flight/evaluate.ts";
import {
  flyAroundHill,
  type HillFrame,
  type ReportErrors,
  reportPose,
  terrainErrors,
  writeHill,
} from "../flight/hill.ts";
import { ORIGIN, Random, toEnu, toPlace } from "../flight/world.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const PROPERTIES = Value.Create(geolocate.properties) as GeolocateProperties;
const FRAMES = rounds(150, 3000);

/** A good drone: GNSS with corrections, a gimbal without play. */
const GOOD: ReportErrors = { attitude: 0.1, heading: 0.1, lens: 0.001, position: 0.3, height: 0.2 };
/** As the element assumes by default. */
const STATED: ReportErrors = {
  attitude: PROPERTIES.attitudeErrorDeg,
  heading: PROPERTIES.headingErrorDeg,
  lens: PROPERTIES.lensError,
  position: PROPERTIES.positionErrorM,
  height: PROPERTIES.heightErrorM,
};

/** The element with the terrain of a folder, as a runner creates it. */
function open(terrainFolder: string | null) {
  const log = { debug() {}, info() {}, warn: assert.fail, error: assert.fail };
  const job = { terrainFolder } as Services["job"];
  let ask: ((question: JsonRecord) => JsonRecord) | null = null;
  const answer: Services["answer"] = (_, handle) => {
    ask = handle;
    return () => {};
  };
  const handler = new GeolocateHandler(PROPERTIES, { emit: () => {}, answer }, openTerrain({ job, log }));
  const shoot = (telemetry: FrameTelemetry, boxes: Detections["objects"], ms: number): Places => {
    const written: Places[] = [];
    const detections: Detections = { inferred: true, model: "true", confidence: 0.5, weak: [], objects: boxes };
    const frame: Partial<Frame> = {
      captureNs: BigInt(Math.round(ms * 1e6)),
      meta: { telemetry, detections },
      write: (part) => void written.push((part as unknown as { places: Places }).places),
    };
    handler.process(frame as Frame);
    return written[0] ?? assert.fail("the element wrote no places");
  };
  return { shoot, ask: (question: JsonRecord) => ask?.(question) as LandmarkAnswer };
}

interface Found {
  /** Distance in space; across the ground. */
  readonly errorM: number;
  readonly acrossM: number;
  readonly statedM: number;
}

interface Order {
  readonly frames: readonly HillFrame[];
  readonly folder: string | null;
  readonly errors: ReportErrors;
  /** Of the foot, as a fraction of the box. */
  readonly footError: number;
  readonly seed: number;
}

function fly({ frames, folder, errors, footError, seed }: Order): readonly Found[] {
  const random = new Random(seed);
  const { shoot } = open(folder);
  return frames.flatMap(({ pose, people }, i) => {
    const boxes = people.map(({ box: [left, top, width, height] }) => ({
      ...{ classId: 0, className: "person", confidence: 1 },
      box: [
        left + random.normal() * footError * width,
        top + random.normal() * footError * height,
        width,
        height,
      ] as Detections["objects"][number]["box"],
    }));
    const places = shoot(reportPose(pose, errors, random), boxes, i * 100);
    return people.flatMap(({ foot }, at) => {
      const spot = places.objects[at]?.spot;
      if (spot == null) return [];
      const [east, north] = toEnu(spot);
      const acrossM = Math.hypot(east - foot[0], north - foot[1]);
      const errorM = Math.hypot(acrossM, spot.altitude - ORIGIN.altitude - foot[2]);
      return [{ errorM, acrossM, statedM: spot.errorM }];
    });
  });
}

const medianOf = (found: readonly Found[]): number =>
  quantile(
    found.map(({ acrossM }) => acrossM),
    0.5,
  );

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

/** Errors of a click, as a fraction of the picture, and of coordinates, in metres. */
interface ClickErrors {
  readonly click: number;
  readonly map: number;
}
/** As assumed by the element; and of a careful user, with coordinates of a survey. */
const USUAL_CLICK: ClickErrors = { click: 0.003, map: 1.5 };
const CAREFUL_CLICK: ClickErrors = { click: 0.001, map: 0.3 };

/** The farthest point, as a user clicks it: a little beside it. */
function click({ people, pose }: HillFrame, timeMs: number, random: Random, errors = USUAL_CLICK) {
  const away = ({ foot }: HillFrame["people"][number]): number =>
    Math.hypot(foot[0] - pose.at[0], foot[1] - pose.at[1]);
  const { foot, box } = people.reduce((a, b) => (away(b) > away(a) ? b : a));
  const [left, top, width, height] = box;
  const off = (deviation: number): number => random.normal() * deviation;
  const place = toPlace([foot[0] + off(errors.map), foot[1] + off(errors.map), 0]);
  const point = { x: left + width / 2 + off(errors.click), y: top + height + off(errors.click) };
  return { timeMs, ...point, ...place, altitude: null };
}

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
