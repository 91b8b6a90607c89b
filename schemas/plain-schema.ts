/**
 * Simple JSON Schemas, as most are, checked directly: compiling one with ajv takes milliseconds, more than all the values
 * that a program checks while it starts. What is not understood here is left to ajv.
 */
import type { Json, JsonRecord } from "./json.ts";

const TYPES: Readonly<Record<string, (value: Json) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  array: Array.isArray,
  object: (value) => isRecord(value),
  null: (value) => value === null,
};

export const TYPE_NAMES: readonly string[] = Object.keys(TYPES);

const isRecord = (value: Json | undefined): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: Json): boolean => typeof value === "string";
const isNumber = (value: Json): boolean => Number.isFinite(value);
const isCount = (value: Json): boolean => Number.isInteger(value) && Number(value) >= 0;
const isType = (value: Json): boolean => typeof value === "string" && TYPE_NAMES.includes(value);

/** Longer texts are not tested, or only after their length. */
export const MOST_PATTERN_CHARACTERS = 4096;

/** Characters of a text; of one that is longer than the limit in any case, not counted. */
export const countCharacters = (text: string, limit: number): number =>
  text.length > 2 * limit ? text.length : [...text].length;

interface Keyword {
  /** Whether the schema is well formed. */
  readonly takes: (argument: Json) => boolean;
  /** Whether a value certainly fits. */
  readonly fits: (argument: Json, value: Json) => boolean;
}

const annotation = (takes: Keyword["takes"]): Keyword => ({ takes, fits: () => true });
const ofNumbers = (fits: (limit: number, value: number) => boolean): Keyword => ({
  takes: isNumber,
  fits: (limit, value) => typeof value !== "number" || fits(Number(limit), value),
});
const ofTexts = (fits: (limit: number, length: number) => boolean): Keyword => ({
  takes: isCount,
  fits: (limit, value) => typeof value !== "string" || fits(Number(limit), countCharacters(value, Number(limit))),
});
const ofLists = (fits: (limit: number, length: number) => boolean): Keyword => ({
  takes: isCount,
  fits: (limit, value) => !Array.isArray(value) || fits(Number(limit), value.length),
});

const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: {
    takes: (argument) =>
      Array.isArray(argument)
        ? argument.length > 0 && argument.length === new Set(argument.filter(isType)).size
        : isType(argument),
    fits: (argument, value) => [argument].flat().some((type) => TYPES[String(type)]?.(value) === true),
  },
  ...{ default: annotation(() => true), examples: annotation(Array.isArray) },
  ...{ title: annotation(isText), description: annotation(isText) },
  // Objects that are equal are found by ajv.
  const: { takes: () => true, fits: (argument, value) => argument === value },
  enum: {
    takes: (argument) => Array.isArray(argument) && argument.length > 0,
    fits: (argument, value) => Array.isArray(argument) && argument.includes(value),
  },
  ...{ minimum: ofNumbers((limit, value) => value >= limit), maximum: ofNumbers((limit, value) => value <= limit) },
  ...{ minLength: ofTexts((limit, count) => count >= limit), maxLength: ofTexts((limit, count) => count <= limit) },
  ...{ minItems: ofLists((limit, count) => count >= limit), maxItems: ofLists((limit, count) => count <= limit) },
  items: { takes: isPlain, fits: (items, value) => !Array.isArray(value) || value.every((one) => fits(items, one)) },
  anyOf: {
    takes: (argument) => Array.isArray(argument) && argument.length > 0 && argument.every(isPlain),
    fits: (variants, value) => Array.isArray(variants) && variants.some((variant) => fits(variant, value)),
  },
};

/** Keywords of our own schemas, besides `KEYWORDS`. */
const OF_OWN_SCHEMAS: Readonly<Record<string, (argument: Json, value: Json, schema: JsonRecord) => boolean>> = {
  live: () => true,
  exclusiveMinimum: (limit, value) => typeof value !== "number" || value > Number(limit),
  exclusiveMaximum: (limit, value) => typeof value !== "number" || value < Number(limit),
  pattern: (pattern, text) => typeof text !== "string" || matches(String(pattern), text),
  required: (names, value) =>
    !isRecord(value) || (Array.isArray(names) && names.every((name) => value[String(name)] !== undefined)),
  properties: (properties, value) =>
    !isRecord(value) ||
    (isRecord(properties) &&
      Object.entries(properties).every(([name, schema]) => {
        const found = Object.hasOwn(value, name) ? value[name] : undefined;
        return found === undefined || fits(schema, found);
      })),
  patternProperties: (patterns, value) =>
    !isRecord(value) ||
    (isRecord(patterns) &&
      Object.entries(value).every(
        ([name, one]) =>
          name.length <= MOST_PATTERN_CHARACTERS &&
          Object.entries(patterns).every(
            ([pattern, schema]) =>
              one === undefined || fits(schema, one) || (readExpression(pattern) !== null && !matches(pattern, name)),
          ),
      )),
  additionalProperties: (argument, value, { properties, patternProperties }) =>
    !isRecord(value) ||
    argument === true ||
    (argument === false &&
      patternProperties === undefined &&
      isRecord(properties) &&
      Object.keys(value).every((name) => Object.hasOwn(properties, name))),
};

const MOST_EXPRESSIONS = 1_000;
/** Null: not a regular expression. */
const expressions = new Map<string, RegExp | null>();

function matches(pattern: string, text: string): boolean {
  if (text.length > MOST_PATTERN_CHARACTERS) return false;
  const known = expressions.get(pattern);
  const expression = known === undefined ? readExpression(pattern) : known;
  if (expressions.size < MOST_EXPRESSIONS) expressions.set(pattern, expression);
  return expression?.test(text) === true;
}

function readExpression(pattern: string): RegExp | null {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return null;
  }
}

/** Whether the schema is well formed, for simple ones: ajv's meta-schema takes 100 ms to compile. */
export function isPlain(schema: Json): boolean {
  if (!isRecord(schema)) return false;
  return Object.entries(schema).every(
    ([name, argument]) =>
      Object.hasOwn(KEYWORDS, name) && argument !== undefined && KEYWORDS[name]?.takes(argument) === true,
  );
}

/** True if the value certainly fits; false if it does not, or if only ajv can decide. `schema` is well formed. */
export function fits(schema: Json, value: Json): boolean {
  if (!isRecord(schema)) return false;
  return Object.entries(schema).every(([name, argument]) => {
    if (argument === undefined) return true;
    if (Object.hasOwn(KEYWORDS, name)) return KEYWORDS[name]?.fits(argument, value) === true;
    return Object.hasOwn(OF_OWN_SCHEMAS, name) && OF_OWN_SCHEMAS[name]?.(argument, value, schema) === true;
  });
}

/** A copy with the defaults of the schema for missing values, at any depth of objects and lists. */
export function fillDefaults(schema: object, value: JsonRecord): JsonRecord {
  const copy = structuredClone(value);
  fill(schema as JsonRecord, copy);
  return copy;
}

function fill(schema: Json | undefined, value: Json | undefined): void {
  if (!isRecord(schema)) return;
  const { properties, items } = schema;
  if (isRecord(value) && isRecord(properties))
    for (const [name, property] of Object.entries(properties)) {
      if (value[name] === undefined && isRecord(property) && property.default !== undefined)
        (value as Record<string, Json>)[name] = structuredClone(property.default);
      fill(property, value[name]);
    }
  if (Array.isArray(value)) for (const one of value) fill(items, one);
}
