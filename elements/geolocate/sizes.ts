/**
 * Usual sizes of objects in metres, to estimate a distance within a factor of two at best. A width is null where it
 * depends too much on the viewing direction.
 */
export interface Size {
  readonly heightM: number | null;
  readonly widthM: number | null;
}

type Row = readonly [names: string, heightM: number | null, widthM: number | null];

/** Widths are between those of the front and the side. */
const ON_THE_GROUND: readonly Row[] = [
  ["person, pedestrian, people, human, man, woman, rider, soldier", 1.7, null],
  ["bicycle, bike", 1.05, 1.2],
  ["motorcycle, motor, motorbike, scooter", 1.2, 1.4],
  ["tricycle, awning tricycle", 1.6, 2],
  ["car, vehicle, small vehicle, suv, pickup, taxi", 1.5, 3],
  ["van", 2, 3.5],
  ["bus", 3.1, 7],
  ["truck, lorry, large vehicle, trailer", 3, 6],
  ["tank, armored vehicle, armoured vehicle", 2.5, 5.5],
  ["tractor", 2.7, 3.2],
  ["excavator", 3, 6],
  ["train", 4, null],
  ["tram", 3.5, null],
  ["boat", 2.2, 6],
  ["ship, vessel", 20, 80],
  ["traffic light", 0.9, 0.35],
  ["fire hydrant", 0.75, 0.4],
  ["stop sign", 0.75, 0.75],
  ["parking meter", 1.4, 0.3],
  ["bench", 0.85, 1.5],
  ["cat", 0.3, 0.4],
  ["dog", 0.55, 0.7],
  ["horse", 1.7, 1.9],
  ["sheep", 0.9, 1],
  ["cow, cattle", 1.5, 1.9],
  ["elephant", 2.8, 4],
  ["bear", 1.2, 1.6],
  ["zebra", 1.4, 1.8],
  ["giraffe", 4.6, 2.2],
  ["deer", 1.3, 1.4],
  ["backpack", 0.5, 0.35],
  ["umbrella", 0.8, 1],
  ["handbag", 0.3, 0.35],
  ["suitcase", 0.65, 0.42],
  ["frisbee", null, 0.27],
  ["sports ball", 0.22, 0.22],
  ["skateboard", null, 0.7],
  ["surfboard", 2, null],
  ["bottle", 0.25, 0.08],
  ["cup", 0.1, 0.09],
  ["bowl", 0.08, 0.17],
  ["chair", 0.9, 0.5],
  ["couch, sofa", 0.85, 1.6],
  ["potted plant", 0.6, 0.4],
  ["bed", 0.7, 1.8],
  ["dining table", 0.75, 1.3],
  ["toilet", 0.75, 0.45],
  ["tv, tvmonitor", 0.6, 1],
  ["laptop", 0.25, 0.34],
  ["refrigerator", 1.75, 0.7],
  ["clock", 0.3, 0.3],
  ["teddy bear", 0.35, 0.3],
];

/** Airborne objects get no position on the ground. */
const IN_THE_AIR: readonly Row[] = [
  ["airplane, aeroplane, plane, aircraft", 8, 25],
  ["helicopter", 3.7, 12],
  ["drone, uav, quadcopter, multicopter, multirotor", 0.15, 0.45],
  ["bird", 0.25, 0.6],
  ["kite", 1.2, 1.2],
  ["glider", 1.6, 15],
  ["paraglider, parachute", 7, 9],
  ["balloon, hot air balloon", 20, 17],
  ["airship", 15, 60],
];

const read = (rows: readonly Row[]): ReadonlyMap<string, Size> =>
  new Map(rows.flatMap(([names, heightM, widthM]) => names.split(", ").map((name) => [name, { heightM, widthM }])));

const grounded = read(ON_THE_GROUND);
const airborne = read(IN_THE_AIR);

/** Treats `Awning-tricycle` and `awning_tricycle` as equal. */
const plain = (className: string): string =>
  className
    .trim()
    .toLowerCase()
    .replaceAll(/[-_\s]+/g, " ");

export interface Kind {
  readonly isAirborne: boolean;
  /** Null: unknown. */
  readonly size: Size | null;
}

export function findKind(className: string): Kind {
  const name = plain(className);
  const size = airborne.get(name);
  return size === undefined ? { isAirborne: false, size: grounded.get(name) ?? null } : { isAirborne: true, size };
}
