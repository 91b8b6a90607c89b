/** A query string as values of its schema's types. What cannot be read as such stays text, for the check to complain of. */
import type { TObject } from "typebox";
import type { InputFault } from "../service-error.ts";

type Schema = Readonly<Record<string, unknown>>;
const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;

export interface QueryReading {
  readonly values: Record<string, unknown>;
  readonly faults: readonly InputFault[];
}

/** Names that the schema does not have are left out. */
export function readQuery(search: URLSearchParams, { properties }: TObject): QueryReading {
  const values: Record<string, unknown> = {};
  const faults: InputFault[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    const texts = search.getAll(name);
    if (texts.length === 0) continue;
    const items = isSchema(schema) && "items" in schema ? schema.items : undefined;
    if (items !== undefined) values[name] = texts.map((text) => readValue(text, items));
    else if (texts.length > 1) faults.push({ path: name, message: `is given ${texts.length} times; expected once` });
    if (!(name in values)) values[name] = readValue(texts[0] ?? "", schema);
  }
  return { values, faults };
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;

function readValue(text: string, schema: unknown): unknown {
  const types = typesOf(schema);
  if (types.has("string")) return text;
  if ((types.has("integer") || types.has("number")) && NUMBER.test(text)) return Number(text);
  if (types.has("boolean") && (text === "true" || text === "1")) return true;
  if (types.has("boolean") && (text === "false" || text === "0")) return false;
  return text;
}

function typesOf(schema: unknown): ReadonlySet<unknown> {
  if (!isSchema(schema)) return new Set();
  if ("const" in schema) return new Set([typeof schema.const]);
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map((choice) => typeof choice));
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants)) return new Set(variants.flatMap((variant) => [...typesOf(variant)]));
  return new Set(Array.isArray(schema.type) ? schema.type : [schema.type]);
}
