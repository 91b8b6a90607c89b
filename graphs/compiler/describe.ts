/** Values and JSON Schemas in words, for messages. */
import type { Json } from "../../schemas/json.ts";

const MAX_SHOWN = 60;

export function describeValue(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `the list ${shorten(JSON.stringify(value))}`;
  if (value !== null && typeof value === "object") return Object.keys(value).length === 0 ? "an empty map" : "a map";
  return shorten(JSON.stringify(value));
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1)}…`;
}

export function listChoices(choices: readonly string[]): string {
  const shown = choices.length > 12 ? [...choices.slice(0, 12), `… (${choices.length} in all)`] : choices;
  if (shown.length <= 1) return shown.join("");
  return `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}`;
}

export function describeRange(what: string, minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return `${what} from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `${what} of at least ${minimum}`;
  if (maximum !== undefined) return `${what} of at most ${maximum}`;
  return what;
}

type Schema = { readonly [key: string]: unknown };
const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `a number from 0 to 1`, `one of "h264" or "h265"`. */
export function describeSchema(schema: unknown): string {
  if (!isSchema(schema)) return "a value";
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return listChoices(schema.enum.map((choice) => JSON.stringify(choice)));
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants)) return listChoices([...new Set(variants.map(describeSchema))]);
  const types = schema.type;
  if (Array.isArray(types)) return listChoices(types.map((type) => describeType(String(type), schema)));
  return typeof types === "string" ? describeType(types, schema) : "a value";
}

function describeType(type: string, schema: Schema): string {
  const bound = (key: string) => (typeof schema[key] === "number" ? schema[key] : undefined);
  switch (type) {
    case "number":
      if (bound("exclusiveMinimum") !== undefined) return `a number above ${schema.exclusiveMinimum}`;
      return describeRange("a number", bound("minimum"), bound("maximum"));
    case "integer":
      return describeRange("a whole number", bound("minimum"), bound("maximum"));
    case "string":
      // The description says in words what the pattern means.
      if (typeof schema.pattern === "string" && typeof schema.description === "string")
        return toPhrase(schema.description);
      if (typeof schema.pattern === "string") return `text that matches ${schema.pattern}`;
      if (bound("minLength") === 1 && bound("maxLength") === undefined) return "text that is not empty";
      if (bound("minLength") !== undefined || bound("maxLength") !== undefined) {
        return `text with ${describeRange("a length", bound("minLength"), bound("maxLength"))}`;
      }
      return "text";
    case "boolean":
      return "true or false";
    case "array":
      return isSchema(schema.items) ? `a list, each item ${describeSchema(schema.items)}` : "a list";
    case "object":
      return isSchema(schema.properties) ? `a map with ${listChoices(Object.keys(schema.properties))}` : "a map";
    default:
      return type;
  }
}

/** A sentence as a phrase after "expected". A word in capitals keeps them. */
const toPhrase = (sentence: string): string =>
  sentence.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase()).replace(/\.$/, "");
