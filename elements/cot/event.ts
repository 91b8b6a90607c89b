/** Formats one object at one time as a Cursor on Target event, version 2.0. */
import type { Place } from "../../schemas/places.ts";

export interface Sighting {
  readonly processUuid: string;
  readonly id: number;
  readonly className: string;
  readonly confidence: number;
  readonly spot: NonNullable<Place["spot"]>;
}

interface EventTimes {
  /** Capture time of the frame. */
  readonly timeMs: number;
  readonly staleMs: number;
}

/** Fits into one datagram on any network; `writeEvent` stays below it for any class name. */
export const MAX_EVENT_BYTES = 1400;

/** Machine-generated, by an automatic tracker. */
const HOW = "m-a";
/** "Unknown" by the standard. */
const UNKNOWN = "9999999.0";
const MAX_NAME_LETTERS = 40;

/**
 * The circular error is one standard deviation, as ours. The standard's height is above the ellipsoid, ours above sea
 * level, tens of metres apart in most of the world: it goes into the remarks, and maps use their own terrain.
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

/** Never with an exponent, which XML decimals do not allow. */
const round = (value: number, digits: number): string => value.toFixed(digits);

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Removes characters that XML does not allow, even escaped. */
const escapeXml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are to be removed.
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g, "")
    .replaceAll(/[&<>"']/g, (letter) => ESCAPES[letter] ?? "");

export type Affiliation = "u" | "n" | "f" | "h";

type Row = readonly [names: string, symbol: string];

/** Battle dimension first: G ground, S sea surface; E-V is equipment, vehicle. Airborne objects are not geolocated. */
const SYMBOLS: readonly Row[] = [
  [
    "car, vehicle, small vehicle, large vehicle, suv, pickup, taxi, van, bus, truck, lorry, trailer, tank, armored vehicle, armoured vehicle, tractor, excavator, train, tram, bicycle, bike, motorcycle, motor, motorbike, scooter, tricycle, awning tricycle",
    "G-E-V",
  ],
  ["boat, ship, vessel, kayak, canoe, jet ski", "S"],
];

/** Persons, animals and all other objects. */
const ON_THE_GROUND = "G";

const BY_NAME: ReadonlyMap<string, string> = new Map(
  SYMBOLS.flatMap(([names, symbol]) => names.split(", ").map((name) => [name, symbol] as const)),
);

/** Treats `Small-vehicle` and `small_vehicle` as equal, like `geolocate`. */
const plain = (className: string): string =>
  className
    .trim()
    .toLowerCase()
    .replaceAll(/[-_\s]+/g, " ");

/** The event type, which selects the symbol on the map. */
export const typeOf = (className: string, affiliation: Affiliation): string =>
  `a-${affiliation}-${BY_NAME.get(plain(className)) ?? ON_THE_GROUND}`;
