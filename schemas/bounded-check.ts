/**
 * Validates values against schemas in bounded time for any input: only values up to a limit are checked for all their
 * faults, and no pattern is tested on a long text. Faults are described in words for the client.
 */
import {
  _,
  Ajv2020,
  type AnySchema,
  type CodeKeywordDefinition,
  type ErrorObject,
  type Options,
  str,
  type ValidateFunction,
} from "ajv/dist/2020.js";
import type { TSchema } from "typebox";
import type { Json } from "./json.ts";
import { maskCredentials } from "./mask.ts";
import { OWN_SCHEMAS } from "./own-schemas.ts";
import { countCharacters, fits, MOST_PATTERN_CHARACTERS } from "./plain-schema.ts";
import { didYouMean } from "./suggest.ts";

/** Returns no faults for a valid value. Paths are JSON pointers. */
export type Check = (value: unknown) => readonly InputFault[];

/** For a value with more numbers, texts, lists and objects, only the first fault is reported. */
const MOST_VALUES = 2000;

/**
 * For collecting all faults: ajv then tests the pattern even if the length is wrong. The first pass, which decides, stops
 * at the length.
 */
const engine = (pattern: string, flags: string) => {
  const expression = new RegExp(pattern, flags);
  return {
    test: (text: string) => text.length > MOST_PATTERN_CHARACTERS || expression.test(text),
    toString: () => expression.toString(),
  };
};
// Required by ajv's type; only used for standalone code.
const regExp = Object.assign(engine, { code: "new RegExp" });

/** In place of ajv's own, which count the characters of any text. */
const LENGTHS = (["minLength", "maxLength"] as const).map((keyword): CodeKeywordDefinition => {
  const isMost = keyword === "maxLength";
  return {
    keyword,
    type: "string",
    schemaType: "number",
    before: "pattern",
    error: {
      message: ({ schemaCode }) => str`must NOT have ${isMost ? "more" : "fewer"} than ${schemaCode} characters`,
      params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
    },
    code(cxt) {
      const count = cxt.gen.scopeValue("func", { ref: countCharacters });
      const counted = _`${count}(${cxt.data}, ${cxt.schemaCode})`;
      cxt.fail(isMost ? _`${counted} > ${cxt.schemaCode}` : _`${counted} < ${cxt.schemaCode}`);
    },
  };
});

interface Compiler {
  readonly ajv: Ajv2020;
  /** By the text of the schema: endpoints that are made again have new schemas with the same content. */
  readonly compiled: Map<string, ValidateFunction>;
}
const MOST_COMPILED = 2_000;

/** This number of values of a schema is checked before it is compiled: most schemas of a program see fewer. */
const FIRST_VALUES = 8;

export class Checks {
  readonly #quick: Compiler;
  readonly #thorough: Compiler;
  /** By schema: every child process and every endpoint has checks of the same schemas. */
  readonly #known = new WeakMap<object, Check>();
  /** Whether a valid value stays as it is. */
  readonly #isReading: boolean;

  constructor(options: Options, prepare: (ajv: Ajv2020) => void = () => {}) {
    this.#isReading = options.useDefaults === undefined;
    const base = { ...OWN_SCHEMAS, verbose: true, logger: false, ...options } as const;
    this.#quick = { ajv: new Ajv2020({ ...base, allErrors: false }), compiled: new Map() };
    const thorough = new Ajv2020({ ...base, allErrors: true, code: { ...base.code, regExp } });
    this.#thorough = { ajv: thorough, compiled: new Map() };
    for (const { ajv } of [this.#quick, this.#thorough]) {
      for (const definition of LENGTHS) ajv.removeKeyword(String(definition.keyword)).addKeyword(definition);
      prepare(ajv);
    }
  }

  /** Compiled on first use: a process uses only a few of the schemas. */
  by(schema: TSchema | AnySchema): Check {
    if (typeof schema !== "object") return this.#make(schema);
    const known = this.#known.get(schema) ?? this.#make(schema);
    this.#known.set(schema, known);
    return known;
  }

  #make(schema: TSchema | AnySchema): Check {
    const isFit = compileLater(this.#quick, schema as AnySchema);
    const findAll = compileLater(this.#thorough, schema as AnySchema);
    let left = this.#isReading ? FIRST_VALUES : 0;
    return (value) => {
      if (left > 0) {
        left -= 1;
        if (fits(schema as Json, value as Json)) return [];
      }
      const quick = isFit();
      if (quick(value)) return [];
      if (hasMoreThan(MOST_VALUES, value)) return describeFaults(quick.errors ?? []);
      const thorough = findAll();
      // May be valid now: the first check has filled in defaults.
      return thorough(value) ? describeFaults(quick.errors ?? []) : describeFaults(thorough.errors ?? []);
    };
  }
}

function compileLater({ ajv, compiled }: Compiler, schema: AnySchema): () => ValidateFunction {
  let validate: ValidateFunction | undefined;
  return () => {
    if (validate === undefined) {
      const text = JSON.stringify(schema);
      validate = compiled.get(text) ?? ajv.compile(schema);
      ajv.removeSchema(schema); // cached here only
      if (compiled.size < MOST_COMPILED) compiled.set(text, validate);
    }
    return validate;
  };
}

/** Whether it contains more values than `most`, itself included. Stops counting there. */
function hasMoreThan(most: number, value: unknown): boolean {
  const open = [value];
  let count = 1;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const items = Array.isArray(next) ? next : Object.values(next);
    count += items.length;
    if (count > most) return true;
    for (const item of items) open.push(item);
  }
  return false;
}

export interface InputFault {
  readonly path: string;
  readonly message: string;
}

const MOST_SHOWN = 60;
const MOST_READ = 4096;
/** Shown as escapes: control, zero-width and bidirectional characters. */
const UNSEEN = /[\p{Cc}\p{Cf}]/gu;
const MOST_CHOICES = 12;

type Schema = Readonly<Record<string, unknown>>;
const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** One fault per place, with the error that it describes. Errors of ajv must be `verbose`. */
export function explainErrors(
  errors: readonly ErrorObject[],
): readonly { readonly fault: InputFault; readonly error: ErrorObject }[] {
  // `then` has the reason; `if` only repeats it.
  const relevant = narrow(errors.filter(({ keyword }) => keyword !== "if"));
  const seen = new Set<string>();
  return relevant
    .map((error) => ({ error, fault: describeFault(error) }))
    .filter(({ fault: { path } }) => !seen.has(path) && seen.add(path));
}

const describeFaults = (errors: readonly ErrorObject[]): readonly InputFault[] =>
  explainErrors(errors).map(({ fault }) => fault);

/**
 * Every variant of a union reports errors. If exactly one is intended, because its constants match, or else because it has
 * the most of the given keys, only its errors are kept; otherwise one error for the union.
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
  const intended = [...variants.values()].filter((found) => !found.some((error) => rulesOut(error, choice)));
  const [only, another] = intended;
  const kept = another === undefined ? only : variants.get(String(findByKeys(choice)));
  return [...(kept === undefined ? [choice] : narrow(kept)), ...narrow(others)];
}

/** The index of the variant of an object that knows the most of its keys; -1 if none does, or several do. */
function findByKeys({ data, schema }: ErrorObject): number {
  if (!isSchema(data) || !Array.isArray(schema)) return -1;
  const keys = Object.keys(data);
  const known = schema.map(({ properties = {} }) => keys.filter((key) => Object.hasOwn(properties, key)).length);
  const most = Math.max(...known);
  return most > 0 && known.indexOf(most) === known.lastIndexOf(most) ? known.indexOf(most) : -1;
}

/** Whether an error shows that this variant is not intended: another type, or another constant one level below. */
function rulesOut(error: ErrorObject, choice: ErrorObject): boolean {
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

/** Begins the message of a key that the schema does not have. */
export const NOT_KNOWN = "is not known here";

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
      message: `${NOT_KNOWN}; ${list}${didYouMean(name, known)}`,
    };
  }
  // Secrets are not repeated in the response.
  const found = parentSchema?.secret === true ? "something else" : describeValue(data);
  const hint = parentSchema?.secret === true ? "" : hintAt(error);
  return { path: instancePath, message: `is ${found}; expected ${describeWanted(error, parentSchema)}${hint}` };
}

/** The closest of the texts that are allowed. */
function hintAt({
  keyword,
  data,
  parentSchema: { anyOf = [], oneOf = [], enum: names = [] } = {},
}: ErrorObject): string {
  if (typeof data !== "string" || !["anyOf", "oneOf", "enum"].includes(keyword)) return "";
  const choices: unknown[] = [...names, ...[...anyOf, ...oneOf].map((variant: Schema) => variant.const)];
  return didYouMean(
    data,
    choices.filter((choice) => typeof choice === "string"),
  );
}

function describeWanted({ keyword, message, params }: ErrorObject, schema: unknown): string {
  const described = describeSchema(schema);
  if (keyword === "minItems" || keyword === "maxItems") return describeLength(schema);
  // The description of a pattern need not contain the length.
  if ((keyword === "minLength" || keyword === "maxLength") && !described.includes(String(params.limit)))
    return `${described}, ${describeTextLength(schema as Schema).replace("text ", "")}`;
  const isCovered = [
    ...["type", "enum", "const", "anyOf", "oneOf", "pattern", "format", "minLength", "maxLength"],
    ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ].includes(keyword);
  return isCovered ? described : `a value that ${message ?? "fits"}`;
}

function describeLength(schema: unknown): string {
  const { minItems, maxItems, items } = isSchema(schema) ? schema : {};
  // A tuple, as drafts before 2020 write it.
  if (Array.isArray(items)) return `a list of ${items.length}`;
  if (minItems === maxItems) return `a list of ${minItems}`;
  if (maxItems === undefined) return `a list of at least ${minItems}`;
  return minItems === undefined ? `a list of at most ${maxItems}` : `a list of ${minItems} to ${maxItems}`;
}

export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "number" && !Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : "too large a number";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  // Longer than the displayed text, so that credentials at its end are recognised.
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

/** Flattens nested unions: `"a", "b" or null`. */
function choicesOf(schema: unknown): readonly string[] {
  if (!isSchema(schema)) return ["a value"];
  if ("const" in schema) return [JSON.stringify(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.map((choice) => JSON.stringify(choice));
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants)) {
    const areSeveralObjects = variants.filter(({ type }) => type === "object").length > 1;
    return variants.flatMap(areSeveralObjects ? describeVariant : choicesOf);
  }
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.map((type) => describeType(type, schema));
}

/** Of a union with several kinds of objects: their keys distinguish them. */
const describeVariant = (schema: unknown): readonly string[] =>
  isSchema(schema) && schema.type === "object" && isSchema(schema.properties)
    ? [`an object with ${Object.keys(schema.properties).join(", ")}`]
    : choicesOf(schema);

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
      // The keys of a record are not in its schema: its description explains them.
      return isSchema(schema.patternProperties) && typeof schema.description === "string"
        ? `an object: ${schema.description.replace(/\.$/, "")}`
        : "an object";
    case "null":
      return "null";
    default:
      return Array.isArray(schema.required) ? `an object with ${schema.required.join(", ")}` : "a value";
  }
}

function describeText(schema: Schema): string {
  if (typeof schema.pattern === "string" && schema.pattern.startsWith("^[0-9a-f]{8}-")) return "a UUID";
  // The description explains the pattern in words.
  if (typeof schema.pattern === "string")
    return typeof schema.description === "string"
      ? `text: ${schema.description.replace(/\.$/, "")}`
      : `text that matches ${schema.pattern}`;
  if (schema.format === "date-time") return "a time such as 2026-05-17T08:30:00Z";
  if (typeof schema.format === "string") return `text of the format ${schema.format}`;
  return describeTextLength(schema);
}

function describeTextLength({ minLength, maxLength }: Schema): string {
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
