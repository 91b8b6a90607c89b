/** Explains the schema errors of a card in words, and finds their positions in its text. */
import type { ErrorObject } from "ajv";
import { type Document, isMap, isNode, isScalar, type Node } from "yaml";
import { didYouMean } from "../schemas/suggest.ts";

export interface CardError {
  /** Keys from the root of the card down to the wrong value. */
  readonly path: readonly string[];
  /** The key itself is wrong, not its value. */
  readonly atKey?: boolean;
  readonly message: string;
}

export function describeErrors(errors: readonly ErrorObject[]): readonly CardError[] {
  const choices = errors.filter(({ keyword }) => keyword === "anyOf");
  const chosen = choices.flatMap((choice) => {
    const variant = chooseVariant(choice);
    if (variant === null) return [choice];
    // Every variant of a union reports errors; only those of the intended variant are relevant.
    return errors.filter(
      (error) => error !== choice && isInside(error, choice) && variantOf(error.schemaPath, choice) === variant,
    );
  });
  const plain = errors.filter((error) => !choices.some((choice) => error === choice || isInside(error, choice)));
  const seen = new Set<string>();
  return [...plain, ...chosen].map(describeOne).filter(({ path, message }) => {
    const key = `${path.join("/")} ${message}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

const isInside = (inner: ErrorObject, choice: ErrorObject): boolean =>
  inner.instancePath.startsWith(choice.instancePath) && inner.schemaPath.startsWith(`${choice.schemaPath}/`);

const variantOf = (schemaPath: string, choice: ErrorObject): number =>
  Number.parseInt(schemaPath.slice(choice.schemaPath.length + 1), 10);

type Schema = Readonly<Record<string, unknown>>;

/** The index of the variant that matches the value's keys or type best; null if none does. */
function chooseVariant({ data, schema }: ErrorObject): number | null {
  const variants = schema as readonly Schema[];
  if (Array.isArray(data)) return findOrNull(variants.findIndex(({ type }) => type === "array"));
  if (data === null || typeof data !== "object") return null;
  const keys = Object.keys(data);
  const known = variants.map(({ properties }) =>
    keys.filter((key) => Object.hasOwn((properties ?? {}) as object, key)),
  );
  const most = Math.max(...known.map(({ length }) => length));
  return most === 0 ? null : known.findIndex(({ length }) => length === most);
}

const findOrNull = (index: number): number | null => (index < 0 ? null : index);

function describeOne(error: ErrorObject): CardError {
  const path = error.instancePath.split("/").slice(1);
  const schema = (error.parentSchema ?? {}) as Schema;
  const name = nameOf(path);
  const found = `${name} is ${show(error.data)}`;
  switch (error.keyword) {
    case "required": {
      const key = String(error.params.missingProperty);
      const { [key]: missing } = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
      const about = missing === undefined ? "" : ` (expected ${expectation(missing)})`;
      return { path, message: `${path.length === 0 ? "the card" : name} has no \`${key}\`${about}` };
    }
    case "additionalProperties": {
      const key = String(error.params.additionalProperty);
      const known = Object.keys((schema.properties ?? {}) as object);
      const hint = didYouMean(key, known);
      const message = `there is no \`${key}\`${path.length === 0 ? "" : ` in ${name}`} (expected ${known.join(", ")}${hint})`;
      return { path: [...path, key], atKey: true, message };
    }
    case "anyOf":
    case "enum":
      return { path, message: `${found} (expected ${expectation(schema)}${hintAt(error.data, schema)})` };
    default:
      return { path, message: `${found} (expected ${expectation(schema)})` };
  }
}

/** `sources[1].url` */
const nameOf = (path: readonly string[]): string =>
  path.reduce((name, key) => (/^\d+$/.test(key) ? `${name}[${key}]` : name === "" ? key : `${name}.${key}`), "");

const SHOWN = 60;

function show(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value !== null && typeof value === "object") return `a map with ${Object.keys(value).join(", ") || "nothing"}`;
  const text = (typeof value === "number" ? String(value) : JSON.stringify(value)) ?? "nothing";
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function hintAt(value: unknown, { anyOf = [], enum: names = [] }: Schema): string {
  const choices = [...(anyOf as readonly Schema[]).map((variant) => variant.const), ...(names as readonly unknown[])];
  const words = choices.filter((choice) => typeof choice === "string");
  return typeof value === "string" ? didYouMean(value, words) : "";
}

/** The values that a schema accepts, as part of a sentence. */
function expectation(schema: Schema): string {
  const { anyOf, type, minimum, maximum, exclusiveMinimum, minItems, description, pattern } = schema;
  const about = typeof description === "string" ? `: ${description.replace(/\.$/, "")}` : "";
  if (Array.isArray(anyOf)) return `${anyOf.map(expectation).join(" or ")}${about}`;
  if (Array.isArray(schema.enum)) return `${schema.enum.map((choice) => JSON.stringify(choice)).join(" or ")}${about}`;
  if ("const" in schema) return JSON.stringify(schema.const);
  switch (type) {
    case "object":
      return `a map with ${Object.keys((schema.properties ?? {}) as object).join(", ")}`;
    case "array":
      if (Array.isArray(schema.items)) return `a list of ${schema.items.length} numbers${about}`;
      return `a list${minItems === undefined ? "" : ` of at least ${minItems}`}${about}`;
    case "integer":
    case "number": {
      const kind = type === "integer" ? "a whole number" : "a number";
      if (exclusiveMinimum !== undefined) return `${kind} above ${exclusiveMinimum}${about}`;
      if (maximum !== undefined) return `${kind} from ${minimum} to ${maximum}${about}`;
      return `${kind}${minimum === undefined ? "" : ` of at least ${minimum}`}${about}`;
    }
    case "string":
      return `text${about || (pattern === undefined ? "" : ` that fits /${pattern}/`)}${lengthOf(schema)}`;
    case "boolean":
      return `true or false${about}`;
    default:
      return "something else";
  }
}

/** The minimum is only stated where there is no maximum. */
function lengthOf({ minLength, maxLength }: Schema): string {
  if (maxLength !== undefined) return `, at most ${maxLength} characters`;
  return minLength === undefined ? "" : `, at least ${minLength} character${minLength === 1 ? "" : "s"}`;
}

/** The offset in the text of the wrong key or value, or of the closest enclosing node that exists. */
export function locateError(document: Document, { path, atKey = false }: CardError): number {
  for (let depth = path.length; depth > 0; depth--) {
    const keys = path.slice(0, depth).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    const offset = atKey && depth === path.length ? offsetOfKey(document, keys) : startOf(document.getIn(keys, true));
    if (offset !== null) return offset;
  }
  return startOf(document.contents) ?? 0;
}

function offsetOfKey(document: Document, keys: readonly (string | number)[]): number | null {
  const around = keys.length === 1 ? document.contents : document.getIn(keys.slice(0, -1), true);
  if (!isMap(around)) return null;
  const pair = around.items.find(({ key }) => isScalar(key) && key.value === keys.at(-1));
  return startOf(pair?.key);
}

const startOf = (node: unknown): number | null => (isNode(node) ? ((node as Node).range?.[0] ?? null) : null);
