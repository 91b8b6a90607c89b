/** Objects in lines of version 1 of the format, which stored all numbers as they were sent. Only read. */
import type { TrackEntry } from "../../schemas/detection-message.ts";
import type { ObjectReader, PartHeader } from "./object-reader.ts";

/** How many parts of one. */
const CONFIDENCE = 100;
const FRACTION = 1_000_000;
const PIXEL = 100;
const OPTIONAL = [
  ...[["latitude", 1e7] as const, ["longitude", 1e7] as const, ["altitude", 100] as const],
  ...[["distance", 100] as const, ["azimuth", 1000] as const, ["elevation", 1000] as const],
  ...[["position_error_m", 100] as const, ["speed_mps", 100] as const, ["heading", 1000] as const],
];
/** class, confidence, x, y, width, height: always there. */
const BASE = 6;
/** x, y, width, height, in `BASE`. */
const SIDES_AT = 2;
/** Then four corrections of the box in pixels, which are not differences. */
const OPTIONAL_AT = BASE + 4;
/** `distance_estimated` is 1 or absent. */
const ESTIMATED_AT = OPTIONAL_AT + OPTIONAL.length;
const FIELDS = ESTIMATED_AT + 1;

/** The values of an object in integers, from its class on: all, or without the optional ones. */
type Values = (number | null)[];

/** A side of the box in hundredths of a pixel, from its fraction in millionths: rounded half up, in integers. */
const toPixels = (fraction: number, side: number): number => Math.floor((2 * fraction * side + 10_000) / 20_000);

const isCorrection = (at: number): boolean => at >= BASE && at < OPTIONAL_AT;

/** A line is `[time, objects]` or `[time, objects, telemetry_age_ms]`; an object is a list of integers. */
export class Version1Objects implements ObjectReader {
  readonly #last = new Map<number, Values>();

  read([, objects, ageMs]: readonly unknown[], header: PartHeader) {
    const lists = objects as readonly (readonly (number | null)[])[];
    return { tracks: lists.map((object) => this.#readObject(object, header)), ageMs: ageMs as number | undefined };
  }

  #readObject(object: readonly (number | null)[], { width = 0, height = 0, classes }: PartHeader): TrackEntry | null {
    const id = object[0] ?? 0;
    const values = this.#add(id, object);
    const [classId, className] = classes[values[0] ?? -1] ?? [];
    if (classId === undefined || className === undefined) return null;
    const toFraction = (side: number): number => (values[SIDES_AT + side] as number) / FRACTION;
    const toBox = (side: number, length: number): number =>
      (toPixels(values[SIDES_AT + side] as number, length) + (values[BASE + side] as number)) / PIXEL;
    const entry: TrackEntry = {
      track_id: id,
      class_id: classId,
      class_name: className,
      bbox: [toBox(0, width), toBox(1, height), toBox(2, width), toBox(3, height)],
      scaled_bbox: [toFraction(0), toFraction(1), toFraction(2), toFraction(3)],
      confidence: (values[1] as number) / CONFIDENCE,
    };
    if (values.length > OPTIONAL_AT) addOptional(entry, values);
    return entry;
  }

  #add(id: number, object: readonly (number | null)[]): Values {
    const last = id === 0 ? undefined : this.#last.get(id);
    const length = object.length - 1 > OPTIONAL_AT ? FIELDS : OPTIONAL_AT;
    const values: Values = [];
    for (let at = 0; at < length; at += 1) {
      const difference = object[at + 1] ?? (at < OPTIONAL_AT ? 0 : null);
      const before = last === undefined || isCorrection(at) ? 0 : (last[at] ?? 0);
      values.push(difference === null ? null : difference + before);
    }
    if (id !== 0) this.#last.set(id, keepLast(values, last));
    return values;
  }
}

/** An absent field keeps its last value for the next difference. */
function keepLast(values: Values, last: Values | undefined): Values {
  if (values.length <= OPTIONAL_AT && (last === undefined || last.length <= OPTIONAL_AT)) return values;
  const length = Math.max(values.length, last?.length ?? 0);
  return Array.from({ length }, (_, at) => values[at] ?? last?.[at] ?? 0);
}

/** In the order of messages, in which `distance_estimated` is not the last. */
function addOptional(entry: TrackEntry, values: Values): void {
  for (let at = 0; at < OPTIONAL.length; at += 1) {
    const [name, unit] = OPTIONAL[at] as (typeof OPTIONAL)[number];
    const value = values[OPTIONAL_AT + at];
    if (name === "position_error_m" && values[ESTIMATED_AT] === 1) entry.distance_estimated = true;
    if (value !== null && value !== undefined) entry[name] = value / unit;
  }
}
