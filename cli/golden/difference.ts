import type { Json } from "../../schemas/json.ts";

export type DifferenceKind =
  /** A whole message is there on one side only. */
  | "message"
  /** An object is there on one side only. */
  | "missing"
  | "extra"
  | "id"
  | "class"
  | "box"
  | "confidence"
  /** Of all objects together. */
  | "overall"
  /** Anything else that a message tells. */
  | "value";

export interface Difference {
  readonly kind: DifferenceKind;
  /** Of the messages of its node, from 1; null where it is of all of them. */
  readonly frame: number | null;
  /** In the stream; null where the message has no time. */
  readonly timeMs: number | null;
  /** In the golden, or now for an object that is only there. Null where it is of no track. */
  readonly track: number | null;
  /** In words: `box is off by 23.0 px (IoU 0.61)`. */
  readonly what: string;
  /** Pixels or points; null where it is no number. */
  readonly amount: number | null;
  readonly golden: Json;
  readonly now: Json;
}

// Messages of any other kind: numbers may differ by a share of themselves, everything else must be the same. Pure.
export interface ValueDifference {
  /** `tracks.0.speed`; empty for the message itself. */
  readonly path: string;
  readonly golden: Json;
  readonly now: Json;
}

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
