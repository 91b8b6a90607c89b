/** The ground below the flight, where it lies on the Earth, and what drives on it. */
import type { Enu } from "./camera.ts";

export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** Where east, north and up are 0. The ground is flat there. */
export const ORIGIN = { latitude: 52.0871, longitude: 5.1215, altitude: 12.5 } as const;

const EQUATOR_M = 6378137;
const FLATTENING = 1 / 298.257223563;
const RADIANS = Math.PI / 180;

/** Metres for a degree of latitude and of longitude, by the curvatures of WGS-84 at the origin. Right to a centimetre within 300 m. */
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
  /** Metres from end to end. */
  readonly length: number;
  readonly colour: readonly [red: number, green: number, blue: number];
  /** At the beginning, where it touches the ground. */
  readonly from: Enu;
  /** Metres a second to the east. */
  readonly speed: number;
}

/** Roads from west to east: how far north, and how fast one drives there. */
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

/** The same every time: nothing here is left to chance. */
export function listTargets(): readonly Target[] {
  const targets: Target[] = [];
  for (const [road, { north, speed }] of ROADS.entries())
    for (let east = WEST_M + road * 9; east < EAST_M; east += APART_M) {
      const id = targets.length + 1;
      // Not all at one distance from the next.
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
