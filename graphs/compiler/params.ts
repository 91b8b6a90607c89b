/** Declarations and given values → the values a graph runs with. */
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeSchema } from "./describe.ts";
import type { Param } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import type { Position } from "./plan.ts";
import { checkParam } from "./read-params.ts";
import { validate } from "./schema-check.ts";

export interface ParamValues {
  readonly values: JsonRecord;
  /** Declared, but without a value to go by: missing while checking, or wrong and reported. */
  readonly unknown: ReadonlySet<string>;
}

export interface ParamRequest {
  readonly declared: readonly Param[];
  /** Where the declarations are, for faults about what is not declared. */
  readonly at: Position;
  readonly given: JsonRecord;
  /** What has the parameters: `graph "detect"`. */
  readonly owner: string;
  readonly checking: boolean;
}

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
  // A copy: the plan is frozen, what a caller gave stays the caller's.
  return errors.length === 0 ? structuredClone(value) : undefined;
}

/** One JSON Schema for all parameters, as clients and forms want it. */
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
