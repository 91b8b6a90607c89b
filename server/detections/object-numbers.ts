/** The numbers of objects in lines: their units, their order, and their differences to the line before. */
import type { TrackEntry } from "../../schemas/detection-message.ts";
import { MAX_NUMBER, readNumbers, writeNumber } from "./numbers.ts";
import { LineFault } from "./object-reader.ts";

/** How many parts of one: of a percent, and of the width or height of the input. */
export const CONFIDENCE = 10;
export const FRACTION = 10_000;
/** Fields that an object may have, in the order of their bits. */
export const OPTIONAL = [
  ...[["latitude", 1e6] as const, ["longitude", 1e6] as const, ["altitude", 10] as const],
  ...[["distance", 10] as const, ["azimuth", 100] as const, ["elevation", 100] as const],
  ...[["position_error_m", 10] as const, ["speed_mps", 10] as const, ["heading", 10] as const],
];
/** The bit of `distance_estimated`, which is true or absent. */
export const ESTIMATED = 2 ** OPTIONAL.length;
/** confidence, x, y, width, height: always there. */
export const BASE = 5;

/** An object in integers. */
export interface Numbers {
  readonly id: number;
  readonly classIndex: number;
  /** Bits of its optional fields. */
  readonly mask: number;
  /** As `BASE`, then the optional fields that it has. */
  readonly values: readonly number[];
}

/** Null: it cannot be written as a number. */
export function toParts(value: unknown, unit: number): number | null {
  if (typeof value !== "number") return null;
  const parts = Math.round(value * unit);
  return Math.abs(parts) < MAX_NUMBER / 2 ? parts : null;
}

/** Appends those that it has; null for one that does not fit. Returns their bits. */
export function readOptional(track: TrackEntry, values: (number | null)[]): number {
  let mask = track.distance_estimated === true ? ESTIMATED : 0;
  for (const [bit, [name, unit]] of OPTIONAL.entries()) {
    if (track[name] === undefined) continue;
    mask += 2 ** bit;
    values.push(toParts(track[name], unit));
  }
  return mask;
}

/** The objects of a line, in its order: each as the difference of its id to that of the one before, class, and fields. */
export function describeObjects(objects: readonly Numbers[]): string {
  let before = 0;
  let text = "";
  for (const { id, classIndex, mask } of objects) {
    text += writeNumber(id - before) + writeNumber(classIndex) + writeNumber(mask);
    before = id;
  }
  return text;
}

export type Described = Omit<Numbers, "values">;

/** Throws `LineFault`. */
export function readObjects(text: string): readonly Described[] {
  const numbers = readNumbers(text);
  if (numbers === null || numbers.length % 3 !== 0) throw new LineFault("has objects that cannot be read");
  const objects: Described[] = [];
  for (let at = 0; at < numbers.length; at += 3) {
    const [step = 0, classIndex = 0, mask = 0] = numbers.slice(at, at + 3);
    if (mask < 0 || mask >= 2 * ESTIMATED) throw new LineFault(`has an object with unknown fields (${mask})`);
    objects.push({ id: (objects.at(-1)?.id ?? 0) + step, classIndex, mask });
  }
  return objects;
}

const places = new Map<number, readonly number[]>();

/** Of the values of an object with these fields: those of `BASE`, then the bits of its fields after them. */
export function placesOf(mask: number): readonly number[] {
  const known = places.get(mask);
  if (known !== undefined) return known;
  const bits = OPTIONAL.flatMap((_, bit) => (Math.floor(mask / 2 ** bit) % 2 === 1 ? [BASE + bit] : []));
  const found = [0, 1, 2, 3, 4, ...bits];
  places.set(mask, found);
  return found;
}

/** The last values of each object in a part, by its id; 0 before the first. An object without an id has none. */
export class LastValues {
  readonly #last = new Map<number, number[]>();

  get size(): number {
    return this.#last.size;
  }

  /** From values to differences. */
  subtract({ id, mask, values }: Numbers): readonly number[] {
    return this.#replace(id, mask, values, (value, before) => [value - before, value]);
  }

  /** From differences to values. */
  add({ id, mask, values }: Numbers): readonly number[] {
    return this.#replace(id, mask, values, (difference, before) => [difference + before, difference + before]);
  }

  #replace(
    id: number,
    mask: number,
    numbers: readonly number[],
    change: (number: number, before: number) => [result: number, last: number],
  ): readonly number[] {
    const last = (id === 0 ? undefined : this.#last.get(id)) ?? [];
    if (id !== 0) this.#last.set(id, last);
    const order = placesOf(mask);
    return numbers.map((number, at) => {
      const place = order[at] as number;
      const [result, value] = change(number, last[place] ?? 0);
      last[place] = value;
      return result;
    });
  }
}
