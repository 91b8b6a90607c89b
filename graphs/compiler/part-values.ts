/**
 * Values in a part → values of the graph that uses it. A part's parameters stand for texts of the graph, which may refer to
 * parameters of the graph in turn: `$rate` of the part becomes `$bitrate` of the graph, so that live parameters stay live.
 */
import type { Json } from "../../schemas/json.ts";
import { suggest } from "../../schemas/suggest.ts";
import { COMPARISON, FLAG, isKept, listParams, paramOfWhen, wholeParam } from "./apply-params.ts";
import { describeValue } from "./describe.ts";
import type { FaultList } from "./fault.ts";
import { MAX_TEXT_CHARS } from "./limits.ts";
import { describeLocated, type Located, type LocatedEntry, type LocatedScalar, toJson } from "./located.ts";
import type { Position } from "./plan.ts";

/** Values of a part's parameters, with references to parameters of the graph. */
export type PartValues = ReadonlyMap<string, Located>;

export interface PartPlace {
  readonly part: string;
  readonly values: PartValues;
  /** Position of the use; null for a part that is checked alone. */
  readonly usedAt: Position | null;
  readonly faults: FaultList;
}

export const placeAt = (at: Position, { usedAt }: PartPlace): Position => (usedAt === null ? at : { ...at, usedAt });

/** A value as it is in the graph: `$` of a default is not a reference. */
export function literal(located: Located, at: (position: Position) => Position): Located {
  switch (located.kind) {
    case "scalar":
      return { ...located, at: at(located.at), value: escapeText(located.value) };
    case "list":
      return { ...located, at: at(located.at), items: located.items.map((item) => literal(item, at)) };
    case "map":
      return {
        ...{ kind: "map", at: at(located.at) },
        entries: located.entries.map((entry) => ({ ...entry, at: at(entry.at), value: literal(entry.value, at) })),
      };
  }
}

const escapeText = (value: LocatedScalar["value"]): LocatedScalar["value"] =>
  typeof value === "string" ? value.replaceAll("$", "$$$$") : value;

/** The JSON of a value that refers to no parameter; undefined for others. */
export function readLiteral(located: Located): Json | undefined {
  if (listParams(located).length > 0) return undefined;
  const restore = (value: Json): Json => {
    if (typeof value === "string") return value.replaceAll("$$", "$");
    if (Array.isArray(value)) return value.map(restore);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, restore(inner ?? null)]));
  };
  return restore(toJson(located));
}

/** A value in a part, with the values of the part's parameters in it. */
export function placeValue(located: Located, place: PartPlace): Located {
  const at = placeAt(located.at, place);
  switch (located.kind) {
    case "scalar":
      return placeScalar({ ...located, at }, place);
    case "list":
      return { ...located, at, items: located.items.map((item) => placeValue(item, place)) };
    case "map":
      return { ...located, at, entries: located.entries.map((entry) => placeEntry(entry, place)) };
  }
}

export const placeEntry = (entry: LocatedEntry, place: PartPlace): LocatedEntry => ({
  ...{ key: entry.key, at: placeAt(entry.at, place), value: placeValue(entry.value, place) },
});

function placeScalar(scalar: LocatedScalar, place: PartPlace): Located {
  const { value } = scalar;
  if (typeof value !== "string" || !value.includes("$")) return scalar;
  const whole = wholeParam(scalar);
  if (whole !== null) return findValue(whole, scalar.at, place) ?? scalar;
  let length = value.length;
  const text = value.replace(TOKEN, (token, name: string | undefined) => {
    if (token === "$") return "$$";
    if (name === undefined || length > MAX_TEXT_CHARS) return token;
    const placed = placeText(name, token, scalar.at, place);
    length += placed.length;
    return placed;
  });
  if (length <= MAX_TEXT_CHARS) return { ...scalar, value: text };
  place.faults.add("yaml_too_complex", scalar.at, "the text is too long with the values of its parameters", {
    expected: `at most ${MAX_TEXT_CHARS} characters`,
  });
  return scalar;
}

/** `$$`, `${name}`, a `$` before a letter (a fault of the substitution later), and a plain `$`. */
const TOKEN = /\$\$|\$\{([^$}]*)\}|\$[A-Za-z]|\$/g;

/** The value of a parameter inside a longer text of the graph. */
function placeText(name: string, token: string, at: Position, place: PartPlace): string {
  const found = findValue(name, at, place);
  if (found === undefined) return token;
  const whole = wholeParam(found);
  if (whole !== null) return `\${${whole}}`;
  if (found.kind === "scalar" && found.value !== null)
    return String(found.value).replace(TOKEN, (inner) => (inner === "$" ? "$$" : inner));
  const mistake = `parameter "${name}" is ${describeLocated(found)}, which cannot be part of a text`;
  place.faults.add("bad_param", at, mistake, { expected: "text, a number, true or false" });
  return token;
}

function findValue(name: string, at: Position, { part, values, faults }: PartPlace): Located | undefined {
  const found = values.get(name);
  if (found !== undefined) return found;
  const known = [...values.keys()];
  faults.add("unknown_param", at, `part "${part}" has no parameter "${name}"`, {
    expected: known.length === 0 ? `\`params: { ${name}: { … } }\` in the part` : known.join(", "),
    suggestion: suggest(name, known),
  });
  return undefined;
}

/** A condition of a part: with a literal it is known, else it becomes one of a parameter of the graph. */
export function placeWhen(when: LocatedScalar, place: PartPlace): LocatedScalar {
  const { values, faults } = place;
  const placed = { ...when, at: placeAt(when.at, place) };
  const name = paramOfWhen(when);
  const value = name === null ? undefined : values.get(name);
  const known = value === undefined ? undefined : readLiteral(value);
  const literals = name === null || known === undefined ? {} : { [name]: known };
  const before = faults.size;
  const isTrue = isKept(placed, { values: literals, unknown: new Set(values.keys()) }, faults);
  if (faults.size > before || name === null || value === undefined || known !== undefined)
    return { ...placed, value: isTrue };
  const outer = wholeParam(value);
  if (outer === null) {
    const found = `\`when:\` uses the parameter "${name}", which is ${describeValue(toJson(value))}`;
    faults.add("bad_param", placed.at, found, { expected: "a value or `$param` in the use of the part" });
    return { ...placed, value: true };
  }
  return { ...placed, value: renameCondition(String(when.value).trim(), outer) };
}

function renameCondition(text: string, name: string): string {
  const comparison = COMPARISON.exec(text);
  if (comparison !== null) return `$${name} ${comparison[2]} ${comparison[3]}`;
  return `${FLAG.exec(text)?.[1] ?? ""}${name}`;
}
