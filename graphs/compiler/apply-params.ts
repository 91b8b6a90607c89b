/** Chains as written → chains with parameters substituted, without the steps that `when:` leaves out. */
import { parse } from "yaml";
import type { Json } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeValue } from "./describe.ts";
import type { Chain, ElementStep, JoinStep, PartUse, UnreadableStep } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { MAX_INTERPOLATED_CHARS, MAX_TEXT_CHARS } from "./limits.ts";
import { type Located, type LocatedScalar, locate } from "./located.ts";
import type { ParamValues } from "./params.ts";
import type { Position } from "./plan.ts";
import { validate } from "./schema-check.ts";

export interface PreparedProperty {
  readonly name: string;
  readonly at: Position;
  readonly written: Located;
  readonly value: Json;
  /** Depends on a parameter without a value: not to be checked. */
  readonly unknown: boolean;
  /** Text of a launch line, converted to the type of the property. */
  readonly untyped: boolean;
  readonly params: readonly string[];
}

export interface PreparedStep {
  readonly kind: "element";
  readonly at: Position;
  readonly element: string;
  readonly name: string;
  readonly properties: readonly PreparedProperty[];
}

type PreparedItem = PreparedStep | JoinStep | UnreadableStep;

export interface PreparedChain {
  readonly name: string;
  readonly at: Position;
  readonly items: readonly PreparedItem[];
}

export interface Prepared {
  readonly chains: readonly PreparedChain[];
  /** Names of nodes that `when:` leaves out. */
  readonly leftOut: ReadonlySet<string>;
}

export function prepare(chains: readonly Chain[], params: ParamValues, faults: FaultList): Prepared {
  const substitution = new Substitution(params, faults);
  const uses = new Map<PartUse, boolean>();
  const leftOut = new Set<string>();
  const prepared = chains.flatMap((chain): readonly PreparedChain[] => {
    const chainKept = isKept(chain.when, params, faults);
    const items = chain.steps.flatMap((step): readonly PreparedItem[] => {
      if (step.kind !== "element") return [step];
      const name = step.name?.value ?? step.element;
      // Steps that are left out are checked too.
      const kept = step.when.map((when) => isKept(when, params, faults));
      const isIncluded = chainKept && !kept.includes(false);
      // What follows from a wrong value of a part is not worth reporting.
      if (!areUsesValid(step, isIncluded, uses, substitution, faults)) return [{ kind: "unreadable", at: step.at }];
      const properties = step.properties.map((entry) => {
        const { key, at, value: written } = entry;
        const untyped = written.kind === "scalar" && written.untyped === true;
        return { name: key, at, written, ...substitution.apply(written), untyped, params: listParams(written) };
      });
      if (isIncluded) return [{ kind: "element", at: step.at, element: step.element, name, properties }];
      leftOut.add(name);
      return [];
    });
    const isEmpty =
      items.every((item) => item.kind === "from" || item.kind === "to") && chain.steps.length > items.length;
    const joinsBoth = items.length === 2;
    return chainKept && (!isEmpty || joinsBoth) ? [{ name: chain.name, at: chain.at, items }] : [];
  });
  return { chains: prepared, leftOut };
}

/**
 * Whether the values of the parts around a step fit the schemas of their parameters. Of a step that is left out, only
 * whether the parameters in them exist. `checked` holds earlier results.
 */
function areUsesValid(
  { uses }: ElementStep,
  isIncluded: boolean,
  checked: Map<PartUse, boolean>,
  substitution: Substitution,
  faults: FaultList,
): boolean {
  return uses.every((use) => {
    const known = checked.get(use);
    if (known !== undefined) return known;
    const before = faults.size;
    for (const { param, value: written } of use.values) {
      const { value, unknown } = substitution.apply(written);
      if (unknown || !isIncluded) continue;
      for (const { path, found, expected } of validate(param.schema, value)) {
        const what = [param.name, ...path].join(".");
        faults.add("bad_param", locate(written, path), `parameter "${what}" of part "${use.part}" is ${found}`, {
          expected,
        });
      }
    }
    const isValid = faults.size === before;
    if (isIncluded || !isValid) checked.set(use, isValid);
    return isValid;
  });
}

interface Substituted {
  readonly value: Json;
  /** Depends on a parameter without a value; `value` is then the text as written. */
  readonly unknown: boolean;
}

/** The parameters in a value as written, each once. */
export function listParams(located: Located): readonly string[] {
  if (located.kind === "list") return [...new Set(located.items.flatMap(listParams))];
  if (located.kind === "map") return [...new Set(located.entries.flatMap(({ value }) => listParams(value)))];
  if (typeof located.value !== "string" || located.untyped === true) return [];
  const whole = wholeParam(located);
  if (whole !== null) return [whole];
  const parts = [...located.value.matchAll(PART)].flatMap(([, name]) => name ?? []);
  return [...new Set(parts)];
}

/** The parameter that is the whole value, or null. */
export function wholeParam(located: Located): string | null {
  if (located.kind !== "scalar" || typeof located.value !== "string" || located.untyped === true) return null;
  return WHOLE.exec(located.value)?.[1] ?? null;
}

/** `$name` as a whole value. */
const WHOLE = /^\$([A-Za-z][A-Za-z0-9_-]*)$/;
const PART = /\$\$|\$\{([^$}]*)\}|\$(?=[A-Za-z])/g;

/**
 * `$name` as a whole value is the parameter with its type; `${name}` in a longer text is the parameter as text; `$$` is a
 * dollar sign. A `$` before a letter in a longer text is most likely a mistake and a fault.
 */
class Substitution {
  readonly #params: ParamValues;
  readonly #faults: FaultList;
  #charsLeft = MAX_INTERPOLATED_CHARS;

  constructor(params: ParamValues, faults: FaultList) {
    this.#params = params;
    this.#faults = faults;
  }

  apply(located: Located): Substituted {
    if (located.kind === "scalar") return this.#scalar(located);
    const inner = (located.kind === "list" ? located.items : located.entries.map((entry) => entry.value)).map((item) =>
      this.apply(item),
    );
    const value =
      located.kind === "list"
        ? inner.map((item) => item.value)
        : Object.fromEntries(located.entries.map((entry, index) => [entry.key, inner[index]?.value ?? null]));
    return { value, unknown: inner.some((item) => item.unknown) };
  }

  #scalar(scalar: LocatedScalar): Substituted {
    const { value } = scalar;
    if (typeof value !== "string" || scalar.untyped === true || !value.includes("$")) return { value, unknown: false };
    const name = wholeParam(scalar);
    if (name === null) return this.#interpolate(scalar, value);
    const found = this.#find(name, scalar);
    return { value: found === undefined ? value : found, unknown: found === undefined };
  }

  #interpolate(scalar: LocatedScalar, text: string): Substituted {
    let unknown = false;
    let length = text.length;
    const value = text.replace(PART, (match, name: string | undefined) => {
      if (match === "$$") return "$";
      if (match === "$" || name === undefined) {
        const mistake = `${describeValue(text)} has a "$" before a letter inside a longer text`;
        const expected = `"\${name}" for a parameter, "$$" for a dollar sign`;
        this.#faults.add("bad_param", scalar.at, mistake, { expected });
        unknown = true;
        return match;
      }
      const found = this.#find(name, scalar);
      if (found === undefined || length > MAX_TEXT_CHARS) {
        unknown = true;
        return match;
      }
      if (found === null || typeof found === "object") {
        const mistake = `parameter "${name}" is ${describeValue(found)}, which cannot be part of a text`;
        this.#faults.add("bad_param", scalar.at, mistake, { expected: "text, a number, true or false" });
        unknown = true;
        return match;
      }
      length += String(found).length;
      return String(found);
    });
    this.#charsLeft -= length;
    if (length > MAX_TEXT_CHARS || this.#charsLeft < 0) {
      this.#faults.add("yaml_too_complex", scalar.at, "the text is too long after substitution of its parameters", {
        expected: `at most ${MAX_TEXT_CHARS} characters`,
      });
      unknown = true;
    }
    return { value: unknown ? text : value, unknown };
  }

  #find(name: string, scalar: LocatedScalar): Json | undefined {
    const { values, unknown } = this.#params;
    if (Object.hasOwn(values, name)) return values[name];
    if (unknown.has(name)) return undefined;
    const known = [...Object.keys(values), ...unknown];
    this.#faults.add("unknown_param", scalar.at, `no parameter "${name}" is declared`, {
      expected: known.length === 0 ? `\`params: { ${name}: { … } }\` in the graph` : known.join(", "),
      suggestion: suggest(name, known),
    });
    return undefined;
  }
}

export const FLAG = /^(!?)\s*\$?([A-Za-z][A-Za-z0-9_-]*)$/;
export const COMPARISON = /^\$?([A-Za-z][A-Za-z0-9_-]*)\s*(==|!=)\s*(\S.{0,200})$/;

/** The parameter that it depends on, or null. */
export function paramOfWhen(when: LocatedScalar | null): string | null {
  const text = typeof when?.value === "string" ? when.value.trim() : "";
  return FLAG.exec(text)?.[2] ?? COMPARISON.exec(text)?.[1] ?? null;
}

/**
 * Whether `when:` keeps a step, chain or slot. All forms: `flag` (or `$flag`), `!flag`, `$name == value`,
 * `$name != value`, `true`, `false`. A flag is false when it is false, null, 0 or empty text. A parameter without a value
 * keeps the step, so that it is checked.
 */
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
    faults.add("unknown_param", when.at, `\`when:\` uses the parameter "${name}", which is not declared`, {
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
