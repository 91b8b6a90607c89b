/** Messages of any other kind: numbers may differ by a share of themselves, everything else must be the same. Pure. */
import type { Json } from "../../schemas/json.ts";

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
