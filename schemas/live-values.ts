import type { JsonRecord } from "./json.ts";

/** Values of properties that are mutable while PLAYING, by node. */
export type LiveValues = Readonly<Record<string, JsonRecord>>;

/** Adds the given values; values of other properties stay. */
export function mergeLive(before: LiveValues, given: LiveValues): LiveValues {
  const merged: Record<string, JsonRecord> = { ...before };
  for (const [node, values] of Object.entries(given)) merged[node] = { ...merged[node], ...values };
  return merged;
}

/** Removes the values of these properties. */
export function dropLive(before: LiveValues, dropped: readonly LivePlace[]): LiveValues {
  const isDropped = (node: string, property: string) =>
    dropped.some((place) => place.node === node && place.property === property);
  const kept = Object.entries(before).map(([node, values]) => {
    const rest = Object.entries(values).filter(([property]) => !isDropped(node, property));
    return [node, Object.fromEntries(rest)] as const;
  });
  return Object.fromEntries(kept.filter(([, values]) => Object.keys(values).length > 0));
}

export interface LivePlace {
  readonly node: string;
  readonly property: string;
}
