/** What ajv finds wrong, in words for whoever sent it. */
import type { ErrorObject } from "ajv/dist/2020.js";
import { maskCredentials } from "./mask.ts";
import { didYouMean } from "./suggest.ts";

export interface InputFault {
  readonly path: string;
  readonly message: string;
}

const MOST_SHOWN = 60;
const MOST_READ = 4096;
/** Written as escapes: control, zero-width and bidirectional characters. */
const UNSEEN = /[\p{Cc}\p{Cf}]/gu;
const MOST_CHOICES = 12;

type Schema = Readonly<Record<string, unknown>>;
const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Paths are JSON pointers. */
export function describeFaults(errors: readonly ErrorObject[]): readonly InputFault[] {
  // Of `if` and `then` the second tells what is wrong.
  const faults = narrow(errors.filter(({ keyword }) => keyword !== "if")).map(describeFault);
  const seen = new Set<string>();
  return faults.filter(({ path }) => !seen.has(path) && seen.add(path));
}

/**
 * Below a choice every variant complains. When one of them is meant, as its constants fit, its complaints are told; else
 * the choice as a whole.
 */
function narrow(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choice = errors.find(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  if (choice === undefined) return errors;
  const base = `${choice.schemaPath}/`;
  const isBelow = (error: ErrorObject) =>
    error.schemaPath.startsWith(base) && error.instancePath.startsWith(choice.instancePath);
  const below = errors.filter(isBelow);
  const others = errors.filter((error) => error !== choice && !isBelow(error));
  const variants = groupBy(below, ({ schemaPath }) => schemaPath.slice(base.length).split("/")[0] ?? "");
  const meant = [...variants.values()].filter((complaints) => !complaints.some((error) => rules(error, choice)));
  const [only, another] = meant;
  const told = only !== undefined && another === undefined ? only : [choice];
  return [...(told[0] === choice ? [choice] : narrow(told)), ...narrow(others)];
}

/** Whether an error tells that this variant was never meant: another type, or another constant right below. */
function rules(error: ErrorObject, choice: ErrorObject): boolean {
  const isHere = error.instancePath === choice.instancePath;
  if (isHere) return ["type", "const", "enum", "pattern", "format"].includes(error.keyword);
  const isRightBelow = !error.instancePath.slice(choice.instancePath.length + 1).includes("/");
  return isRightBelow && error.keyword === "const";
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const pointerKey = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

function describeFault(error: ErrorObject): InputFault {
  const { instancePath, keyword, params, parentSchema, data } = error;
  if (keyword === "required" || keyword === "dependentRequired") {
    const name = String(params.missingProperty);
    const wanted = isSchema(parentSchema?.properties) ? parentSchema.properties[name] : undefined;
    return { path: `${instancePath}/${pointerKey(name)}`, message: `is missing; expected ${describeSchema(wanted)}` };
  }
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    const name = String(params.additionalProperty ?? params.unevaluatedProperty);
    const known = isSchema(parentSchema?.properties) ? Object.keys(parentSchema.properties) : [];
    const list = known.length === 0 ? "none are" : `${listChoices(known)} ${known.length === 1 ? "is" : "are"}`;
    return {
      path: `${instancePath}/${pointerKey(name)}`,
      message: `is not known here; ${list}${didYouMean(name, known)}`,
    };
  }
  // Whoever sent a secret knows it, and whoever reads the answer need not.
  const found = parentSchema?.secret === true ? "something else" : describeValue(data);
  return { path: instancePath, message: `is ${found}; expected ${describeWanted(error, parentSchema)}` };
}

function describeWanted({ keyword, message }: ErrorObject, schema: unknown): string {
  const described = describeSchema(schema);
  if (keyword === "minItems" || keyword === "maxItems") return describeLength(schema);
  const isCovered = [
    ...["type", "enum", "const", "anyOf", "oneOf", "pattern", "format", "minLength", "maxLength"],
    ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ].includes(keyword);
  return isCovered ? described : `a value that ${message ?? "fits"}`;
}

/** Of a list. */
function describeLength(schema: unknown): string {
  const { minItems, maxItems } = isSchema(schema) ? schema : {};
  if (minItems === maxItems) return `a list of ${minItems}`;
  if (maxItems === undefined) return `a list of at least ${minItems}`;
  return minItems === undefined ? `a list of at most ${maxItems}` : `a list of ${minItems} to ${maxItems}`;
}

export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "number" && !Number.isFinite(value)) return "too large a number";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  // More than is shown, so that a password at the end of it is seen to be one.
  const start = typeof value === "string" ? value.slice(0, MOST_READ) : value;
  const text = maskCredentials(JSON.stringify(start) ?? String(start));
  const shown = text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN - 1)}…`;
  return shown.replace(UNSEEN, (letter) => `\\u${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}

export function listChoices(choices: readonly string[]): string {
  const more = choices.length - MOST_CHOICES;
  const shown = more > 0 ? [...choices.slice(0, MOST_CHOICES), `${more} others`] : choices;
  return shown.length <= 1 ? shown.join("") : `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}`;
}

/** `a whole number from 1 to 10`. */
export function describeSchema(schema: unknown): string {
  return listChoices([...new Set(choicesOf(schema))]);
}

/** Of a choice of choices all: `"a", "b" or null`, with one "or". */
function choicesOf(schema: unknown): readonly string[] {
  if (!isSchema(schema)) return ["a value"];
  if ("const" in schema) return [JSON.stringify(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.map((choice) => JSON.stringify(choice));
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants)) return variants.flatMap(choicesOf);
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.map((type) => describeType(type, schema));
}

function describeType(type: unknown, schema: Schema): string {
  switch (type) {
    case "string":
      return describeText(schema);
    case "number":
      return describeRange("a number", schema);
    case "integer":
      return describeRange("a whole number", schema);
    case "boolean":
      return "true or false";
    case "array":
      return isSchema(schema.items) ? `a list, each item ${describeSchema(schema.items)}` : "a list";
    case "object":
      return "an object";
    case "null":
      return "null";
    default:
      return "a value";
  }
}

function describeText(schema: Schema): string {
  if (typeof schema.pattern === "string" && schema.pattern.startsWith("^[0-9a-f]{8}-")) return "a UUID";
  // Whoever wrote a pattern said in words what it is for.
  if (typeof schema.pattern === "string")
    return typeof schema.description === "string"
      ? `text: ${schema.description.replace(/\.$/, "")}`
      : `text that matches ${schema.pattern}`;
  if (typeof schema.format === "string") return `text of the format ${schema.format}`;
  const { minLength, maxLength } = schema;
  if (minLength === 1 && maxLength === undefined) return "text that is not empty";
  if (typeof minLength === "number" && typeof maxLength === "number")
    return `text of ${minLength} to ${maxLength} characters`;
  if (typeof minLength === "number") return `text of at least ${minLength} characters`;
  return typeof maxLength === "number" ? `text of at most ${maxLength} characters` : "text";
}

function describeRange(what: string, { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return `${what} from ${minimum} to ${maximum}`;
  const bounds = [
    minimum !== undefined && `of at least ${minimum}`,
    exclusiveMinimum !== undefined && `above ${exclusiveMinimum}`,
    maximum !== undefined && `of at most ${maximum}`,
    exclusiveMaximum !== undefined && `below ${exclusiveMaximum}`,
  ].filter((bound) => bound !== false);
  return [what, bounds.join(" and ")].filter((part) => part !== "").join(" ");
}
