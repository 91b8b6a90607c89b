/**
 * What kind of thing a class is, by its name: models name the same things differently. The shape of a box says less than
 * it seems to: seen from above a car is as tall as a van, and cut off by a lamp post a bus is a car. So the class alone
 * tells the type, unless a classifier has looked.
 */
export type Kind = "vehicle" | "person" | "flying" | "other";

/** Of vehicles, what they are called here. */
const VEHICLE_TYPES: Readonly<Record<string, string>> = {
  car: "car",
  van: "van",
  bus: "bus",
  truck: "truck",
  lorry: "truck",
  motor: "motorcycle",
  motorcycle: "motorcycle",
  motorbike: "motorcycle",
  scooter: "motorcycle",
  bicycle: "bicycle",
  bike: "bicycle",
  tricycle: "tricycle",
  "awning tricycle": "tricycle",
  train: "train",
  tram: "tram",
  boat: "boat",
  ship: "ship",
  tractor: "tractor",
  forklift: "forklift",
  airplane: "aeroplane",
  aeroplane: "aeroplane",
  plane: "aeroplane",
  helicopter: "helicopter",
  drone: "drone",
  uav: "drone",
};
const FLYING = new Set(["aeroplane", "helicopter", "drone", "bird", "kite", "balloon"]);
const PEOPLE = new Set(["person", "pedestrian", "people", "rider"]);

/** Those that a plate is looked for on. */
const PLATED = new Set(["car", "van", "bus", "truck", "motorcycle"]);

export interface Described {
  readonly kind: Kind;
  /** Null for what is no vehicle. */
  readonly vehicleType: string | null;
  readonly mayHavePlate: boolean;
}

export function describeClass(className: string): Described {
  const name = className
    .toLowerCase()
    .replaceAll(/[-_\s]+/g, " ")
    .trim();
  const vehicleType = Object.hasOwn(VEHICLE_TYPES, name) ? (VEHICLE_TYPES[name] ?? null) : null;
  const isFlying = FLYING.has(vehicleType ?? name);
  const kind = isFlying ? "flying" : vehicleType !== null ? "vehicle" : PEOPLE.has(name) ? "person" : "other";
  return { kind, vehicleType, mayHavePlate: vehicleType !== null && PLATED.has(vehicleType) };
}
