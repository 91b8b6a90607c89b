/**
 * `when:` keeps a step, chain or slot in or out. The whole language: `flag` (or `$flag`), `!flag`, `$name == value`,
 * `$name != value`, `true`, `false`. A flag counts as out when it is false, null, 0 or empty text.
 */
import { parse } from "yaml";
import type { Json } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeValue } from "./describe.ts";
import type { FaultList } from "./fault-list.ts";
import type { LocatedScalar } from "./located.ts";
import type { ParamValues } from "./params.ts";

const FLAG = /^(!?)\s*\$?([A-Za-z][A-Za-z0-9_-]*)$/;
const COMPARISON = /^\$?([A-Za-z][A-Za-z0-9_-]*)\s*(==|!=)\s*(\S.{0,200})$/;

/** The parameter that it depends on; null when it is none. */
export function paramOfWhen(when: LocatedScalar | null): string | null {
  const text = typeof when?.value === "string" ? when.value.trim() : "";
  return FLAG.exec(text)?.[2] ?? COMPARISON.exec(text)?.[1] ?? null;
}

/** What depends on a value that is not known stays in, so that it is checked. */
export function isKept(when: LocatedScalar | null, params: ParamValues, faults: FaultList): boolean {
  if (when === null || when.value === true) return true;
  if (when.value === false) return false;
  const text = typeof when.value === "string" ? when.value.trim() : "";
  const flag = FLAG.exec(text);
  const comparison = COMPARISON.exec(text);
  const name = flag?.[2] ?? comparison?.[1];
  if (name === undefined) {
    faults.add("document_shape", when.at, `\`when:\` cannot be ${describeValue(when.value)}`, {
      expected: "`flag`, `!flag` or `$name == value`",
    });
    return true;
  }
  const known = [...Object.keys(params.values), ...params.unknown];
  if (!known.includes(name)) {
    faults.add("unknown_param", when.at, `\`when:\` asks for the parameter "${name}", which is not declared`, {
      expected: known.join(", ") || "a declared parameter",
      suggestion: suggest(name, known),
    });
    return true;
  }
  const value = Object.hasOwn(params.values, name) ? params.values[name] : undefined;
  if (value === undefined) return true;
  if (flag !== null) return isSet(value) !== (flag[1] === "!");
  const wanted = readLiteral(comparison?.[3] ?? "");
  return (JSON.stringify(value) === JSON.stringify(wanted)) === (comparison?.[2] === "==");
}

const isSet = (value: Json): boolean => value !== false && value !== null && value !== 0 && value !== "";

function readLiteral(text: string): Json {
  try {
    const value: unknown = parse(text, { logLevel: "error" });
    return value === null || ["string", "number", "boolean"].includes(typeof value) ? (value as Json) : text;
  } catch {
    return text;
  }
}
