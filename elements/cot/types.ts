/** What a map draws for an object: the type of a Cursor on Target event, by the name of its class. */

/** Unknown, neutral, friend, hostile. */
export type Affiliation = "u" | "n" | "f" | "h";

type Row = readonly [names: string, symbol: string];

/** Battle dimension first: G on the ground, S on the sea; E-V is equipment, a vehicle. What flies has no place on the ground. */
const SYMBOLS: readonly Row[] = [
  [
    "car, vehicle, small vehicle, large vehicle, suv, pickup, taxi, van, bus, truck, lorry, trailer, tank, armored vehicle, armoured vehicle, tractor, excavator, train, tram, bicycle, bike, motorcycle, motor, motorbike, scooter, tricycle, awning tricycle",
    "G-E-V",
  ],
  ["boat, ship, vessel, kayak, canoe, jet ski", "S"],
];

/** Persons, animals and everything else that stands on the ground. */
const ON_THE_GROUND = "G";

const BY_NAME: ReadonlyMap<string, string> = new Map(
  SYMBOLS.flatMap(([names, symbol]) => names.split(", ").map((name) => [name, symbol] as const)),
);

/** `Small-vehicle` and `small_vehicle` are the same, as in `geolocate`. */
const plain = (className: string): string =>
  className
    .trim()
    .toLowerCase()
    .replaceAll(/[-_\s]+/g, " ");

export const typeOf = (className: string, affiliation: Affiliation): string =>
  `a-${affiliation}-${BY_NAME.get(plain(className)) ?? ON_THE_GROUND}`;
