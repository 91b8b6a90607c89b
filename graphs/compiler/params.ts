/** Parameters of graphs and slots: declared as JSON Schemas with `live`, checked, and resolved to values. */

import type { Json, JsonRecord } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeSchema } from "./describe.ts";
import type { Param } from "./document.ts";
import type { FaultList } from "./fault.ts";
import {
  describeLocated,
  findEntry,
  type LocatedEntry,
  type LocatedMap,
  locate,
  readEntries,
  toJson,
} from "./located.ts";
import type { Position } from "./plan.ts";
import { checkSchema, validate } from "./schema-check.ts";

const PARAM_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;

// ajv would silently ignore an unknown keyword.
const KEYWORDS = [
  ...["live", "type", "enum", "const", "default", "title", "description", "examples"],
  ...["deprecated", "format", "$comment"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern"],
  ...["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"],
  ...["properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"],
  ...["maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$defs", "$ref"],
];

export function readParams(entry: LocatedEntry | undefined, faults: FaultList): readonly Param[] {
  if (entry?.value.kind === "scalar" && entry.value.value === null) return [];
  const expected = "a map: `params: { NAME: { type: number, default: 1 } }`";
  return readEntries(entry, expected, faults).flatMap((declared) => readParam(declared, faults));
}

function readParam({ key, at, value }: LocatedEntry, faults: FaultList): readonly Param[] {
  if (!PARAM_NAME.test(key)) {
    faults.add("bad_param", at, `a parameter cannot be named "${key}"`, {
      expected: "a letter, then letters, digits, - or _",
    });
    return [];
  }
  if (value.kind !== "map") {
    faults.add("bad_param", value.at, `parameter "${key}" is declared as ${describeLocated(value)}`, {
      expected: `a JSON Schema, such as \`${key}: { type: number, default: 1 }\``,
    });
    return [];
  }
  return [makeParam(key, at, value)];
}

export function makeParam(name: string, at: Param["at"], written: LocatedMap): Param {
  const { live, ...schema } = toJson(written) as JsonRecord;
  return { name, at, schema, live: live === true, written };
}

/** Whether the declaration is valid, after inheritance. */
export function checkParam(param: Param, faults: FaultList): boolean {
  const before = faults.size;
  for (const entry of param.written.entries) {
    if (KEYWORDS.includes(entry.key)) continue;
    faults.add("bad_param", entry.at, `parameter "${param.name}" has the unknown keyword "${entry.key}"`, {
      expected: "a keyword of JSON Schema, or `live`",
      suggestion: suggest(entry.key, KEYWORDS),
    });
  }
  const live = findEntry(param.written, "live");
  if (live !== undefined && typeof toJson(live.value) !== "boolean") {
    faults.add("bad_param", live.value.at, `\`live\` is ${describeLocated(live.value)}`, { expected: "true or false" });
  }
  const flaws = checkSchema(param.schema);
  for (const flaw of flaws) {
    const [what, at] =
      flaw.path.length === 0
        ? ["the schema", param.at]
        : [`\`${flaw.path.join(".")}\``, locate(param.written, flaw.path)];
    faults.add("bad_param", at, `${what} of parameter "${param.name}" is ${flaw.found}`, flaw);
  }
  if (flaws.length > 0) return false;
  const fallback = findEntry(param.written, "default");
  if (fallback !== undefined && faults.size === before) {
    for (const error of validate(param.schema, toJson(fallback.value))) {
      faults.add("bad_param", fallback.value.at, `the default of parameter "${param.name}" is ${error.found}`, error);
    }
  }
  return faults.size === before;
}

export interface ParamValues {
  readonly values: JsonRecord;
  /** Declared, but without a usable value: missing in mode `check`, or wrong and reported. */
  readonly unknown: ReadonlySet<string>;
}

interface ParamRequest {
  readonly declared: readonly Param[];
  /** Position of the declarations. */
  readonly at: Position;
  readonly given: JsonRecord;
  /** The graph or slot in messages: `graph "detect"`. */
  readonly owner: string;
  readonly checking: boolean;
}

/** Declarations and given values → the values that a graph runs with. */
export function resolveParams(request: ParamRequest, faults: FaultList): ParamValues {
  const { declared, at, given, owner, checking } = request;
  const names = declared.map((param) => param.name);
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    faults.add("unknown_param", at, `${owner} has no parameter "${name}"`, {
      expected: names.length === 0 ? "no parameters" : names.join(", "),
      suggestion: suggest(name, names),
    });
  }
  const values: Record<string, Json> = {};
  const unknown = new Set<string>();
  for (const param of declared) {
    const value = checkParam(param, faults) ? chooseValue(param, given, checking, faults) : undefined;
    if (value === undefined) unknown.add(param.name);
    else values[param.name] = value;
  }
  return { values, unknown };
}

function chooseValue(param: Param, given: JsonRecord, checking: boolean, faults: FaultList): Json | undefined {
  const value = Object.hasOwn(given, param.name) ? given[param.name] : undefined;
  if (value === undefined) {
    const fallback = param.schema.default;
    if (fallback === undefined && !checking) {
      faults.add("missing_param", param.at, `parameter "${param.name}" is not given and has no default`, {
        expected: `${param.name}=VALUE, ${describeSchema(param.schema)}`,
      });
    }
    return fallback;
  }
  const errors = validate(param.schema, value);
  for (const { path, found, expected } of errors) {
    faults.add("bad_param", param.at, `parameter "${[param.name, ...path].join(".")}" is ${found}`, { expected });
  }
  // A copy: the plan is frozen.
  return errors.length === 0 ? structuredClone(value) : undefined;
}

/** One JSON Schema for all parameters, for clients and forms. */
export function paramsSchema(declared: readonly Param[]): JsonRecord {
  return {
    type: "object",
    properties: Object.fromEntries(
      declared.map((param) => [param.name, param.live ? { ...param.schema, live: true } : param.schema]),
    ),
    required: declared.filter((param) => param.schema.default === undefined).map((param) => param.name),
    additionalProperties: false,
  };
}
