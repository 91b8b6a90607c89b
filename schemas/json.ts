/** Any JSON value. Property values of a plan have this type. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonRecord = { readonly [key: string]: Json };

/** The same text for equal values, independent of the order of keys. Omits undefined fields. */
export const canonicalJson = (value: unknown, indent?: number): string =>
  JSON.stringify(sortKeys(value as Json), null, indent);

function sortKeys(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const entries = Object.entries(value as { readonly [key: string]: Json });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sortKeys(item)]));
}

/** The supported part of the JSON Schema of a property or parameter. */
export interface PropertySchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly anyOf?: readonly PropertySchema[];
  readonly items?: PropertySchema;
  readonly default?: Json;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly live?: boolean;
}
