/** Differences between two recordings, and the comparison of arbitrary JSON values. Pure. */
import type { Json } from "../../schemas/json.ts";

export type DifferenceKind =
  /** A message exists in one run only. */
  | "message"
  /** An object exists in one run only. */
  | "missing"
  | "extra"
  | "id"
  | "class"
  | "box"
  | "confidence"
  /** An average over all objects. */
  | "overall"
  /** Any other value. */
  | "value";

export interface Difference {
  readonly kind: DifferenceKind;
  /** Number of the message of its node, from 1; null for all. */
  readonly frame: number | null;
  /** Stream time; null for a message without a timestamp. */
  readonly timeMs: number | null;
  /** Id in the golden file, or in the new run for an extra object; null if it is not about a track. */
  readonly track: number | null;
  /** A description: `box is off by 23.0 px (IoU 0.61)`. */
  readonly what: string;
  /** Pixels or points; null if it is not numeric. */
  readonly amount: number | null;
  readonly golden: Json;
  readonly now: Json;
}

export interface ValueDifference {
  /** `tracks.0.speed`; empty for the message itself. */
  readonly path: string;
  readonly golden: Json;
  readonly now: Json;
}

/** Numbers may differ by the share `relative`, everything else must be equal. */
export function compareValues(
  golden: Json,
  now: Json,
  relative: number,
  path: readonly string[] = [],
): ValueDifference[] {
  const differs = [{ path: path.join("."), golden, now }];
  if (typeof golden === "number" && typeof now === "number") {
    const room = relative * Math.max(Math.abs(golden), Math.abs(now));
    return Math.abs(golden - now) <= room ? [] : differs;
  }
  const [was, is] = [entriesOf(golden), entriesOf(now)];
  if (was === null || is === null || Array.isArray(golden) !== Array.isArray(now)) return golden === now ? [] : differs;
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((key) => {
    const inner = [...path, key];
    const [before, after] = [was.get(key), is.get(key)];
    if (before === undefined || after === undefined)
      return [{ path: inner.join("."), golden: before ?? null, now: after ?? null }];
    return compareValues(before, after, relative, inner);
  });
}

const entriesOf = (value: Json): ReadonlyMap<string, Json> | null =>
  value === null || typeof value !== "object" ? null : new Map(Object.entries(value));
