/** A flight around a hill: true poses of the camera, people on the ground that it sees, and files of the terrain. */

import { rotate, toAttitude, toQuaternion, turnBy } from "../../elements/telemetry/geometry.ts";
import type { Detection } from "../../schemas/detections.ts";
import type { CameraAttitude, FrameTelemetry } from "../../schemas/telemetry.ts";
import { type TiffOptions, writeHgt, writeTiff } from "../../terrain/terrain.fixture.ts";
import { type Enu, type Lens, type Pose, project, vfovOf } from "./camera.ts";
import { ORIGIN, Random, toEnu, toPlace } from "./world.ts";

export const HILL_LENS: Lens = { width: 1280, height: 720, hfov: 55 };
const SUMMIT = { east: 40, north: 380, height: 160, width: 170 } as const;
const FLIGHT_HEIGHT = 230;
const CIRCLE_M = 430;
const TALL = 1.7;

/** Metres above the take-off point, which is the origin. */
export function hillAt(east: number, north: number): number {
  const { height, width } = SUMMIT;
  const away = (east - SUMMIT.east) ** 2 + (north - SUMMIT.north) ** 2;
  return height * Math.exp(-away / (2 * width * width)) + 5 * Math.sin(east / 80) * Math.cos(north / 95);
}

/** Smooth errors of the terrain data, of this standard deviation. */
export function terrainErrors(seed: number, deviationM: number): (east: number, north: number) => number {
  const random = new Random(seed);
  const waves = Array.from({ length: 24 }, () => {
    const length = 180 + random.next() * 500;
    const direction = random.next() * 2 * Math.PI;
    return {
      east: (Math.cos(direction) * 2 * Math.PI) / length,
      north: (Math.sin(direction) * 2 * Math.PI) / length,
      phase: random.next() * 2 * Math.PI,
    };
  });
  const size = deviationM * Math.sqrt(2 / waves.length);
  return (east, north) =>
    waves.reduce((sum, wave) => sum + size * Math.sin(east * wave.east + north * wave.north + wave.phase), 0);
}

const CORNER = { south: Math.floor(ORIGIN.latitude), west: Math.floor(ORIGIN.longitude) } as const;
const AROUND = { latitude: ORIGIN.latitude, longitude: ORIGIN.longitude, degrees: 0.06 } as const;

/** As SRTM of 1 arc second, in whole metres; or as GeoTIFF of a third of that, in floating point. */
export function writeHill(
  folder: string,
  type: "srtm" | "geotiff",
  errorAt = (_east: number, _north: number) => 0,
): void {
  const heightAt = (latitude: number, longitude: number): number => {
    const [east, north] = toEnu({ latitude, longitude });
    return ORIGIN.altitude + hillAt(east, north) + errorAt(east, north);
  };
  if (type === "srtm") writeHgt(folder, [CORNER.south, CORNER.west], 3601, heightAt, AROUND);
  else {
    const step = 1 / 10_800;
    const tiff: TiffOptions = {
      ...{ north: ORIGIN.latitude + 0.03, west: ORIGIN.longitude - 0.03, step, columns: 648, rows: 648 },
      ...{ tile: 256, compression: "deflate", predictor: 3 },
    };
    writeTiff(`${folder}/hill.tif`, tiff, heightAt);
  }
}

export interface HillFrame {
  readonly pose: Pose;
  /** Their feet, metres from the origin, and where they are in the picture. */
  readonly people: readonly { readonly foot: Enu; readonly box: Detection["box"] }[];
}

const PEOPLE_A_FRAME = 6;

/** Deterministic by seed. */
export function flyAroundHill(count: number, seed: number): readonly HillFrame[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, i) => {
    const angle = (i / count) * 2 * Math.PI;
    const at: Enu = [
      SUMMIT.east + CIRCLE_M * Math.sin(angle),
      SUMMIT.north - CIRCLE_M * Math.cos(angle),
      FLIGHT_HEIGHT + 15 * Math.sin(3 * angle),
    ];
    const yaw = ((((-angle * 180) / Math.PI + 12 * Math.sin(7 * angle)) % 360) + 360) % 360;
    const pose: Pose = { at, yaw, pitch: -24 + 5 * Math.sin(5 * angle), roll: 1.5 * Math.sin(9 * angle) };
    return { pose, people: findPeople(pose, random) };
  });
}

function findPeople(pose: Pose, random: Random): HillFrame["people"] {
  const people: HillFrame["people"][number][] = [];
  for (let tries = 0; people.length < PEOPLE_A_FRAME && tries < 400; tries++) {
    const [east, north] = [SUMMIT.east + (random.next() - 0.5) * 700, SUMMIT.north + (random.next() - 0.5) * 700];
    const foot: Enu = [east, north, hillAt(east, north)];
    const box = boxOf(foot, pose);
    if (box !== null && isVisible(pose.at, foot)) people.push({ foot, box });
  }
  return people;
}

/** Null if it is not completely in the picture. */
function boxOf(foot: Enu, pose: Pose): Detection["box"] | null {
  const [low, high] = [project(foot, pose, HILL_LENS), project([foot[0], foot[1], foot[2] + TALL], pose, HILL_LENS)];
  if (low === null || high === null) return null;
  const { width, height } = HILL_LENS;
  const tall = (low.y - high.y) / height;
  const wide = (tall * 0.4 * height) / width;
  const [x, y] = [low.x / width, low.y / height];
  const isInside = x - wide > 0.01 && x + wide < 0.99 && y - tall > 0.01 && y < 0.99;
  return isInside ? [x - wide / 2, y - tall, wide, tall] : null;
}

/** Nothing is between them; a little more than nothing, so that small errors do not hide it. */
function isVisible(from: Enu, foot: Enu): boolean {
  for (let share = 0.05; share < 0.985; share += 0.005) {
    const [east, north, up] = from.map((value, axis) => value + ((foot[axis] ?? 0) - value) * share) as [
      number,
      number,
      number,
    ];
    if (up - hillAt(east, north) < 25 * (1 - share)) return false;
  }
  return true;
}

/** Errors of what the drone reports, one standard deviation each. */
export interface ReportErrors {
  /** Degrees: about each axis of the camera, and about the vertical in addition. */
  readonly attitude: number;
  readonly heading: number;
  /** Fraction of the fields of view. */
  readonly lens: number;
  /** Metres: both directions together, and up. */
  readonly position: number;
  readonly height: number;
}

/** What the telemetry says about the camera of a frame. `bias`: degrees added to the heading. */
export function reportPose(pose: Pose, errors: ReportErrors, random: Random, bias = 0): FrameTelemetry {
  const off = (deviation: number): number => random.normal() * deviation;
  const { at, yaw, pitch, roll } = pose;
  const turned: CameraAttitude = { yaw: yaw + bias + off(errors.heading), pitch, roll };
  const real = toQuaternion(turned);
  const axis = rotate(real, [off(errors.attitude), off(errors.attitude), off(errors.attitude)]);
  const side = errors.position * Math.SQRT1_2;
  const place = toPlace([at[0] + off(side), at[1] + off(side), 0]);
  const up = at[2] + off(errors.height);
  const zoom = 1 + off(errors.lens);
  const widen = (degrees: number): number =>
    (2 * Math.atan(Math.tan((degrees * Math.PI) / 360) * zoom) * 180) / Math.PI;
  return {
    ...{ method: "between", ageMs: 0, offsetMs: 0, hfov: widen(HILL_LENS.hfov), vfov: widen(vfovOf(HILL_LENS)) },
    position: { ...place, altitude: ORIGIN.altitude + up, relAltitude: up },
    attitude: toAttitude(turnBy(real, axis)),
    doubt: { angle: 0, position: 0, height: 0 },
  };
}
