/** Declarations of parameters: a JSON Schema each, and `live`. */
import type { JsonRecord } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeValue } from "./describe.ts";
import type { Param } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import { findEntry, type LocatedEntry, type LocatedMap, locate, toJson } from "./located.ts";
import { checkSchema, validate } from "./schema-check.ts";

const PARAM_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;

// A keyword that JSON Schema does not know would be ignored in silence, and with it the author's intent.
const KEYWORDS = [
  ...[
    "live",
    "type",
    "enum",
    "const",
    "default",
    "title",
    "description",
    "examples",
    "deprecated",
    "format",
    "$comment",
  ],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern"],
  ...["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"],
  ...["properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"],
  ...["maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$defs", "$ref"],
];

export function readParams(entry: LocatedEntry | undefined, faults: FaultList): readonly Param[] {
  if (entry === undefined || (entry.value.kind === "scalar" && entry.value.value === null)) return [];
  if (entry.value.kind === "map") return entry.value.entries.flatMap((declared) => readParam(declared, faults));
  faults.add("document_shape", entry.value.at, `"params" is ${describeValue(toJson(entry.value))}`, {
    expected: "a map: `params: { NAME: { type: number, default: 1 } }`",
  });
  return [];
}

function readParam({ key, at, value }: LocatedEntry, faults: FaultList): readonly Param[] {
  if (!PARAM_NAME.test(key)) {
    faults.add("bad_param", at, `a parameter cannot be named "${key}"`, {
      expected: "a letter, then letters, digits, - or _",
    });
    return [];
  }
  if (value.kind !== "map") {
    faults.add("bad_param", value.at, `parameter "${key}" is declared as ${describeValue(toJson(value))}`, {
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

/** Whether the declaration is sound; faults say why not. Done once inheritance has put it together. */
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
    faults.add("bad_param", live.value.at, `\`live\` is ${describeValue(toJson(live.value))}`, {
      expected: "true or false",
    });
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
