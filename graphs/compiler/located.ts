/** JSON with the position of every value: what the readers of text produce, and what faults refer to. */
import type { Json } from "../../schemas/json.ts";
import { describeValue } from "./describe.ts";
import type { FaultList } from "./fault.ts";
import type { Position } from "./plan.ts";

export interface LocatedScalar {
  readonly kind: "scalar";
  readonly at: Position;
  readonly value: null | boolean | number | string;
  /** From a launch line, where every value is text: converted to the type of the property. */
  readonly untyped?: true;
  /** Of a text: the position of one of its characters. */
  readonly inside?: (offset: number) => Position;
}

interface LocatedList {
  readonly kind: "list";
  readonly at: Position;
  readonly items: readonly Located[];
}

export interface LocatedMap {
  readonly kind: "map";
  readonly at: Position;
  readonly entries: readonly LocatedEntry[];
}

export interface LocatedEntry {
  readonly key: string;
  readonly at: Position;
  readonly value: Located;
}

export type Located = LocatedScalar | LocatedList | LocatedMap;

export function toJson(located: Located): Json {
  switch (located.kind) {
    case "scalar":
      return located.value;
    case "list":
      return located.items.map(toJson);
    case "map":
      return Object.fromEntries(located.entries.map((entry) => [entry.key, toJson(entry.value)]));
  }
}

export function findEntry(map: LocatedMap, key: string): LocatedEntry | undefined {
  return map.entries.find((entry) => entry.key === key);
}

export const describeLocated = (located: Located): string => describeValue(toJson(located));

/** The entries of a map; none for a missing entry. Anything else is a fault. */
export function readEntries(
  entry: LocatedEntry | undefined,
  expected: string,
  faults: FaultList,
): readonly LocatedEntry[] {
  if (entry === undefined) return [];
  if (entry.value.kind === "map") return entry.value.entries;
  faults.add("document_shape", entry.value.at, `"${entry.key}" is ${describeLocated(entry.value)}`, { expected });
  return [];
}

/** The position of the value at `path`, or of the nearest value around it. */
export function locate(located: Located, path: readonly string[]): Position {
  const [head, ...rest] = path;
  const inner = head === undefined ? undefined : stepInto(located, head);
  return inner === undefined ? located.at : locate(inner, rest);
}

/** The value at `path`. */
export function findLocated(located: Located, [head, ...rest]: readonly string[]): Located | undefined {
  if (head === undefined) return located;
  const inner = stepInto(located, head);
  return inner === undefined ? undefined : findLocated(inner, rest);
}

function stepInto(located: Located, key: string): Located | undefined {
  if (located.kind === "map") return findEntry(located, key)?.value;
  return located.kind === "list" ? located.items[Number(key)] : undefined;
}

/** Splits a JSON pointer such as `/rules/0/name` into its keys. */
export const splitPointer = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The position of a JSON pointer in a text: that of its key, or of the nearest enclosing value. */
export function locatePointer(body: LocatedMap, pointer: string): Position {
  let located: Located = body;
  let at: Position = body.at;
  for (const key of splitPointer(pointer)) {
    const entry: { readonly at: Position; readonly value: Located } | undefined =
      located.kind === "map"
        ? findEntry(located, key)
        : located.kind === "list"
          ? itemOf(located.items, key)
          : undefined;
    if (entry === undefined) return at;
    ({ at, value: located } = entry);
  }
  return at;
}

function itemOf(items: readonly Located[], key: string) {
  const item = items[Number(key)];
  return item === undefined ? undefined : { at: item.at, value: item };
}

/** `/region/polygon/2` → `region.polygon[2]`. */
export const showPointer = (pointer: string): string =>
  splitPointer(pointer)
    .map((key, index) => (/^\d+$/.test(key) ? `[${key}]` : `${index === 0 ? "" : "."}${key}`))
    .join("");
