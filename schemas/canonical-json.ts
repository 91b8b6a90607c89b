import type { Json } from "./json.ts";

/** The same text for the same value, whatever the order of its keys. Fields that are undefined are left out. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sortKeys(value as Json));

function sortKeys(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const entries = Object.entries(value as { readonly [key: string]: Json });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sortKeys(item)]));
}
