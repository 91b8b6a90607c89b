/** The simulated world: ground on the Earth, cars that drive on it, and the flight of the camera. */
import type { Enu, Pose } from "./camera.ts";

export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** Origin of east, north and up. The ground is flat. */
export const ORIGIN = { latitude: 52.0871, longitude: 5.1215, altitude: 12.5 } as const;

const EQUATOR_M = 6378137;
const FLATTENING = 1 / 298.257223563;
const RADIANS = Math.PI / 180;

/** Metres per degree of latitude and longitude, from the WGS-84 curvatures at the origin. Accurate to 1 cm within 300 m. */
const METRES = (() => {
  const squared = FLATTENING * (2 - FLATTENING);
  const sine = Math.sin(ORIGIN.latitude * RADIANS);
  const root = Math.sqrt(1 - squared * sine * sine);
  const meridian = (EQUATOR_M * (1 - squared)) / root ** 3 + ORIGIN.altitude;
  const parallel = (EQUATOR_M / root + ORIGIN.altitude) * Math.cos(ORIGIN.latitude * RADIANS);
  return { north: meridian * RADIANS, east: parallel * RADIANS };
})();

export const toPlace = ([east, north]: Enu): Place => ({
  latitude: ORIGIN.latitude + north / METRES.north,
  longitude: ORIGIN.longitude + east / METRES.east,
});

/** On the ground. */
export const toEnu = ({ latitude, longitude }: Place): Enu => [
  (longitude - ORIGIN.longitude) * METRES.east,
  (latitude - ORIGIN.latitude) * METRES.north,
  0,
];

export interface Target {
  readonly id: number;
  readonly className: "car";
  /** Metres. */
  readonly length: number;
  readonly colour: readonly [red: number, green: number, blue: number];
  /** Position on the ground at the start. */
  readonly from: Enu;
  /** Metres per second to the east. */
  readonly speed: number;
}

/** Roads from west to east: position and speed of the cars. */
export const ROADS = [
  { north: 88, speed: 5 },
  { north: 102, speed: -4 },
  { north: 116, speed: 0 },
] as const;

const COLOURS: readonly Target["colour"][] = [
  [176, 34, 36],
  [40, 84, 156],
  [214, 214, 208],
  [58, 62, 68],
  [196, 150, 40],
];

const LENGTH_M = 7;
const APART_M = 27;
const WEST_M = -100;
const EAST_M = 330;

/** Deterministic. */
export function listTargets(): readonly Target[] {
  const targets: Target[] = [];
  for (const [road, { north, speed }] of ROADS.entries())
    for (let east = WEST_M + road * 9; east < EAST_M; east += APART_M) {
      const id = targets.length + 1;
      // Varies the distances between cars.
      const shift = ((id * 7) % 5) * 1.6;
      targets.push({
        id,
        className: "car",
        length: LENGTH_M,
        colour: COLOURS[(id * 3 + road) % COLOURS.length] ?? [0, 0, 0],
        from: [east + shift, north, 0],
        speed,
      });
    }
  return targets;
}

export const placeAt = ({ from, speed }: Target, seconds: number): Enu => [from[0] + speed * seconds, from[1], from[2]];

export interface Flight {
  readonly seconds: number;
  /** Above the ground, metres. */
  readonly height: number;
  /** Metres per second to the east. */
  readonly speed: number;
  /** Pan to both sides of north, and the period of the pan. */
  readonly panDeg: number;
  readonly panSeconds: number;
}

/** Pans at 9 degrees per second across north: yaw wraps from 360 to 0. */
export const FLIGHT: Flight = { seconds: 30, height: 100, speed: 6, panDeg: 14, panSeconds: 7 };

/** Below 1: how smoothly the pan reverses. */
const EVENNESS = 0.95;
const TURN = 2 * Math.PI;

/** Constant speed with smooth reversals, like a gimbal that follows a stick. */
function panAt({ panDeg, panSeconds }: Flight, seconds: number): number {
  return (panDeg * Math.asin(EVENNESS * Math.sin((TURN * seconds) / panSeconds))) / Math.asin(EVENNESS);
}

export const frameCount = ({ seconds }: Flight, fps: number): number => Math.round(seconds * fps);

export function poseAt(flight: Flight, seconds: number): Pose {
  return {
    at: [
      flight.speed * seconds,
      1.5 * Math.sin((TURN * seconds) / 9),
      flight.height + 0.6 * Math.sin((TURN * seconds) / 6),
    ],
    yaw: (panAt(flight, seconds) + 360) % 360,
    pitch: -45 + 1.5 * Math.sin((TURN * seconds) / 5),
    roll: 1.2 * Math.sin((TURN * seconds) / 4),
  };
}

/** Random numbers that are the same on every machine and in every run. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Uniform in [0, 1). */
  next(): number {
    // Mulberry32.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** Standard normal distribution. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }
}
