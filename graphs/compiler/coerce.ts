/** Text from a command line → values of the type a schema wants. */
import { parse } from "yaml";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { validate } from "./schema-check.ts";

/** `schema` is that of an object, such as `Compiled.paramSchema`. Names it does not know stay text, for the compiler to refuse. */
export function coerceParams(schema: JsonRecord, given: Readonly<Record<string, string>>): JsonRecord {
  const properties = schema.properties;
  const known =
    properties !== null && typeof properties === "object" && !Array.isArray(properties)
      ? (properties as JsonRecord)
      : {};
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => {
      const property = Object.hasOwn(known, name) ? known[name] : undefined;
      return [name, property !== null && typeof property === "object" ? coerceText(text, property) : text];
    }),
  );
}

/** The reading of the text that fits the schema; where none does, the one whose fault says most. */
export function coerceText(text: string, schema: object): Json {
  const literal = readLiteral(text);
  const candidates: Json[] = [literal, text];
  const items = (schema as JsonRecord).items;
  if (typeof items === "object" && items !== null) {
    const parts = text === "" ? [] : text.split(",");
    candidates.push(parts.map((part) => coerceText(part.trim(), items)));
  }
  const fitting = candidates.find((candidate) => validate(schema, candidate).length === 0);
  if (fitting !== undefined) return fitting;
  return takesText(schema as JsonRecord) ? text : literal;
}

const takesText = (schema: JsonRecord): boolean => {
  const type = schema.type;
  return type === "string" || (Array.isArray(type) && type.includes("string"));
};

const MAX_LITERAL_CHARS = 10_000;

function readLiteral(text: string): Json {
  if (/^[[{]/.test(text)) return readJson(text);
  // YAML's rules for plain scalars, so that a value means the same on a command line as in a graph.
  if (text.length > MAX_LITERAL_CHARS || !/^[\w.+-]+$/.test(text)) return text;
  const value: unknown = parse(text, { logLevel: "silent" });
  const isScalar =
    value === null || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
  return isScalar ? value : text;
}

function readJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
