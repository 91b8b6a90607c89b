import type { JsonRecord } from "./json.ts";

/** Values of live properties, by node. */
export type LiveValues = Readonly<Record<string, JsonRecord>>;

/** What holds once the given values are set: those of other properties stay. */
export function mergeLive(before: LiveValues, given: LiveValues): LiveValues {
  const merged: Record<string, JsonRecord> = { ...before };
  for (const [node, values] of Object.entries(given)) merged[node] = { ...merged[node], ...values };
  return merged;
}
