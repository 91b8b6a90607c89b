/** What a schema has against a card, in words. */
import type { ErrorObject } from "ajv";
import { didYouMean } from "../schemas/suggest.ts";

export interface CardError {
  /** Keys from the card down to what is wrong. */
  readonly path: readonly string[];
  /** The key itself is wrong, not its value. */
  readonly atKey?: boolean;
  readonly message: string;
}

export function describeErrors(errors: readonly ErrorObject[]): readonly CardError[] {
  const choices = errors.filter(({ keyword }) => keyword === "anyOf");
  const told = choices.flatMap((choice) => {
    const inner = errors.filter((error) => error !== choice && isInside(error, choice));
    const variant = chooseVariant(choice);
    // The variants that were not meant complain as well; only the one that was meant matters.
    if (variant !== null) return inner.filter(({ schemaPath }) => variantOf(schemaPath, choice) === variant);
    return [choice];
  });
  const plain = errors.filter((error) => !choices.some((choice) => error === choice || isInside(error, choice)));
  const seen = new Set<string>();
  return [...plain, ...told].map(describeOne).filter(({ path, message }) => {
    const key = `${path.join("/")} ${message}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

const isInside = (inner: ErrorObject, choice: ErrorObject): boolean =>
  inner.instancePath.startsWith(choice.instancePath) && inner.schemaPath.startsWith(`${choice.schemaPath}/`);

const variantOf = (schemaPath: string, choice: ErrorObject): number =>
  Number.parseInt(schemaPath.slice(choice.schemaPath.length + 1), 10);

type Schema = Readonly<Record<string, unknown>>;

/** The number of the variant whose keys, or whose kind, the value has; null when it is none in particular. */
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

/** What a schema takes, for a sentence. */
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

/** That a text must not be empty goes without saying where it has another limit. */
function lengthOf({ minLength, maxLength }: Schema): string {
  if (maxLength !== undefined) return `, at most ${maxLength} characters`;
  return minLength === undefined ? "" : `, at least ${minLength} character${minLength === 1 ? "" : "s"}`;
}
