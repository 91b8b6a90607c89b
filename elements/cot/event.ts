/** One object at one moment as an event of Cursor on Target, version 2.0. */
import type { Place } from "../../schemas/places.ts";

export interface Sighting {
  readonly processUuid: string;
  readonly id: number;
  readonly className: string;
  readonly confidence: number;
  readonly spot: NonNullable<Place["spot"]>;
}

export interface EventTimes {
  /** When the picture was taken that it is known from. */
  readonly timeMs: number;
  readonly staleMs: number;
}

/** What fits into one datagram wherever it goes; `writeEvent` stays below it whatever a class is called. */
export const MAX_EVENT_BYTES = 1400;

/** Found by an automatic tracker: how the events of machines say that a machine came upon it by computing. */
const HOW = "m-a";
/** By the standard: not known. */
const UNKNOWN = "9999999.0";
const MAX_NAME_LETTERS = 40;

/**
 * The error across the ground is one standard deviation there as here. The height there is above the ellipsoid, and ours
 * above the sea, tens of metres apart in most of the world: it is said in words, and maps put the object on their ground.
 */
export function writeEvent(sighting: Sighting, { timeMs, staleMs }: EventTimes, affiliation: Affiliation): string {
  const { processUuid, id, className, confidence, spot } = sighting;
  const { latitude, longitude, altitude, errorM, speedMps, heading } = spot;
  const time = formatTime(timeMs);
  const uid = `windhover.${processUuid}.${id}`;
  const callsign = escapeXml(`${className.slice(0, MAX_NAME_LETTERS)} ${id}`);
  const track =
    heading === null || speedMps === null ? "" : `<track course="${round(heading, 1)}" speed="${round(speedMps, 2)}"/>`;
  const remarks = `${Math.round(confidence * 100)} % sure, ${round(altitude, 1)} m above sea level, by video`;
  return [
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`,
    `<event version="2.0" uid="${escapeXml(uid)}" type="${typeOf(className, affiliation)}" how="${HOW}"`,
    ` time="${time}" start="${time}" stale="${formatTime(staleMs)}">`,
    `<point lat="${round(latitude, 7)}" lon="${round(longitude, 7)}" hae="${UNKNOWN}" ce="${round(errorM, 1)}" le="${UNKNOWN}"/>`,
    `<detail><contact callsign="${callsign}"/>${track}<remarks>${remarks}</remarks></detail></event>`,
  ].join("");
}

const formatTime = (unixMs: number): string => new Date(unixMs).toISOString();

/** Never with an exponent, which XML's decimals do not have. */
const round = (value: number, digits: number): string => value.toFixed(digits);

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Characters that no XML may have, escaped or not, are left out. */
const escapeXml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g, "")
    .replaceAll(/[&<>"']/g, (letter) => ESCAPES[letter] ?? "");

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
