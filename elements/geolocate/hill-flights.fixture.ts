/** People on a hill, geolocated by the element from a drone that flies around it; and landmarks that a user clicks. */
import assert from "node:assert/strict";
import { Value } from "typebox/value";
import type { Detections } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Places } from "../../schemas/places.ts";
import type { FrameTelemetry, LandmarkAnswer } from "../../schemas/telemetry.ts";
import { quantile } from "../../test/flight/evaluate.ts";
import { type HillFrame, type ReportErrors, reportPose } from "../../test/flight/hill.ts";
import { ORIGIN, Random, toEnu, toPlace } from "../../test/flight/world.ts";
import type { Frame, Services } from "../element.ts";
import geolocate from "./geolocate.ts";
import { GeolocateHandler, openTerrain } from "./handler.ts";
import type { GeolocateProperties } from "./locate.ts";

export const PROPERTIES = Value.Create(geolocate.properties) as GeolocateProperties;

/** A good drone: GNSS with corrections, a gimbal without play. */
export const GOOD: ReportErrors = { attitude: 0.1, heading: 0.1, lens: 0.001, position: 0.3, height: 0.2 };
/** As the element assumes by default. */
export const STATED: ReportErrors = {
  attitude: PROPERTIES.attitudeErrorDeg,
  heading: PROPERTIES.headingErrorDeg,
  lens: PROPERTIES.lensError,
  position: PROPERTIES.positionErrorM,
  height: PROPERTIES.heightErrorM,
};

/** The element with the terrain of a folder, as a runner creates it. */
export function open(terrainFolder: string | null) {
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

export function fly({ frames, folder, errors, footError, seed }: Order): readonly Found[] {
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

export const medianOf = (found: readonly Found[]): number =>
  quantile(
    found.map(({ acrossM }) => acrossM),
    0.5,
  );

/** Errors of a click, as a fraction of the picture, and of coordinates, in metres. */
interface ClickErrors {
  readonly click: number;
  readonly map: number;
}
/** As assumed by the element; and of a careful user, with coordinates of a survey. */
const USUAL_CLICK: ClickErrors = { click: 0.003, map: 1.5 };
export const CAREFUL_CLICK: ClickErrors = { click: 0.001, map: 0.3 };

/** The farthest point, as a user clicks it: a little beside it. */
export function click({ people, pose }: HillFrame, timeMs: number, random: Random, errors = USUAL_CLICK) {
  const away = ({ foot }: HillFrame["people"][number]): number =>
    Math.hypot(foot[0] - pose.at[0], foot[1] - pose.at[1]);
  const { foot, box } = people.reduce((a, b) => (away(b) > away(a) ? b : a));
  const [left, top, width, height] = box;
  const off = (deviation: number): number => random.normal() * deviation;
  const place = toPlace([foot[0] + off(errors.map), foot[1] + off(errors.map), 0]);
  const point = { x: left + width / 2 + off(errors.click), y: top + height + off(errors.click) };
  return { timeMs, ...point, ...place, altitude: null };
}
