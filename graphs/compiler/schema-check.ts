/** JSON Schema (2020-12) with ajv: validation with errors in words, and text converted to typed values. */
import { Ajv2020, type AnySchema, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { parse } from "yaml";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { OWN_SCHEMAS } from "../../schemas/own-schemas.ts";
import { fits, isPlain, TYPE_NAMES } from "../../schemas/plain-schema.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeSchema, describeValue, listChoices } from "./describe.ts";
import { splitPointer } from "./located.ts";

interface SchemaError {
  /** Keys from the checked value down to the wrong one. */
  readonly path: readonly string[];
  /** The wrong value, in words. */
  readonly found: string;
  readonly expected: string;
}

const OPTIONS = { ...OWN_SCHEMAS, allErrors: true, verbose: true, validateFormats: false, logger: false } as const;
const MAX_CACHED = 1_000;
/** At most this many errors of one value are described. */
const MAX_ERRORS = 100;

const checker = new Ajv2020(OPTIONS);
const compiled = new Map<string, ValidateFunction | string>();
const endless = new WeakMap<ValidateFunction, boolean>();

interface SchemaFlaw {
  /** Keys from the schema down to what is wrong in it. */
  readonly path: readonly string[];
  /** What was found there. */
  readonly found: string;
  readonly expected?: string;
  readonly suggestion?: string | undefined;
}

/** Errors in the schema itself. */
export function checkSchema(schema: JsonRecord): readonly SchemaFlaw[] {
  if (isPlain(schema)) return [];
  const isWellFormed = checker.validateSchema(schema as AnySchema) === true;
  const errors = isWellFormed ? [] : summarise(checker.errors ?? [], schema);
  if (errors.length === 0) {
    const result = compileSchema(schema);
    // Well formed but invalid: a pattern that is not a regular expression, a dangling reference.
    if (typeof result === "string") return [{ path: [], found: `wrong: ${result}` }];
    return isEndless(result) ? [ENDLESS] : [];
  }
  return errors.map(({ path, found, expected }) => {
    if (path.at(-1) !== "type") return { path, found, expected };
    return {
      path,
      found,
      expected: listChoices(TYPE_NAMES),
      suggestion: suggest(String(valueAt(schema, path)), TYPE_NAMES),
    };
  });
}

/** Empty for a valid value. A schema that cannot be compiled accepts every value (`checkSchema` reports it). */
export function validate(schema: object, value: Json): readonly SchemaError[] {
  if (fits(schema as JsonRecord, value)) return [];
  const check = compileSchema(schema);
  if (typeof check === "string" || isEndless(check) || check(value)) return [];
  return summarise((check.errors ?? []).slice(0, MAX_ERRORS), value);
}

const ENDLESS: SchemaFlaw = { path: [], found: "a reference to itself without end", expected: "a schema that ends" };

/** Whether validation would recurse forever, as with `{$ref: "#"}`. */
function isEndless(check: ValidateFunction): boolean {
  const known = endless.get(check);
  if (known !== undefined) return known;
  const found = [null, true, 0, "", [], {}].some((value) => {
    try {
      check(value);
      return false;
    } catch (error) {
      if (error instanceof RangeError) return true;
      throw error;
    }
  });
  endless.set(check, found);
  return found;
}

function compileSchema(schema: object): ValidateFunction | string {
  const key = JSON.stringify(schema);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  let result: ValidateFunction | string;
  try {
    result = checker.compile(schema as AnySchema);
  } catch (error) {
    result = error instanceof Error ? error.message.replace(/^schema is invalid: data\/?/, "") : String(error);
  }
  checker.removeSchema(schema as AnySchema);
  if (compiled.size >= MAX_CACHED) compiled.delete(compiled.keys().next().value ?? "");
  compiled.set(key, result);
  return result;
}

function summarise(errors: readonly ErrorObject[], root: Json): readonly SchemaError[] {
  // Below `anyOf` every variant fails; only the choice as a whole is reported.
  const choices = errors.filter((error) => error.keyword === "anyOf" || error.keyword === "oneOf");
  const outermost = choices.filter((a) => !choices.some((b) => a !== b && isInside(a, b)));
  const plain = errors.filter(
    (error) => !choices.includes(error) && !outermost.some((choice) => isInside(error, choice)),
  );
  const seen = new Set<string>();
  return [...outermost, ...plain].flatMap((error) => {
    const summary = summariseOne(error, root);
    const key = summary.path.join("/");
    if (seen.has(key)) return [];
    seen.add(key);
    return [summary];
  });
}

const isInside = (inner: ErrorObject, outer: ErrorObject): boolean =>
  inner.instancePath.startsWith(outer.instancePath) &&
  inner.schemaPath.startsWith(outer.schemaPath.replace(/\/[^/]*$/, "/"));

function summariseOne(error: ErrorObject, root: Json): SchemaError {
  const path = splitPointer(error.instancePath);
  const params: Record<string, unknown> = error.params;
  switch (error.keyword) {
    case "required":
      return {
        path,
        found: `without "${params.missingProperty}"`,
        expected: `"${params.missingProperty}" in it`,
      };
    case "additionalProperties":
    case "unevaluatedProperties": {
      const extra = String(params.additionalProperty ?? params.unevaluatedProperty);
      const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {});
      return {
        path: [...path, extra],
        found: `the unknown key "${extra}"`,
        expected: known.join(", ") || "no such key",
      };
    }
    case "type":
    case "enum":
    case "const":
    case "anyOf":
    case "oneOf":
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "pattern":
    case "minLength":
    case "maxLength":
      return { path, found: describeValue(valueAt(root, path)), expected: describeSchema(error.parentSchema) };
    default:
      return { path, found: describeValue(valueAt(root, path)), expected: `a value that ${error.message ?? "fits"}` };
  }
}

function valueAt(root: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = root;
  for (const key of path) {
    if (value === null || typeof value !== "object") return undefined;
    value = (value as Record<string, Json>)[key];
  }
  return value;
}

/**
 * Text from a command line → values of the types that the schema expects. `schema` describes an object, such as
 * `Compiled.paramSchema`. Values of unknown names stay text; the compiler reports them.
 */
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

/** The interpretation of the text that fits the schema, or else the one with the clearest error. */
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
  // YAML's rules for plain scalars, so that a value means the same on the command line and in a graph.
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
