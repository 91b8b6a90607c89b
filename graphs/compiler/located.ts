/** JSON that remembers where it was written: what every reader of text makes and every check reports against. */
import type { Json } from "../../schemas/json.ts";
import type { Position } from "./plan.ts";

export interface LocatedScalar {
  readonly kind: "scalar";
  readonly at: Position;
  readonly value: null | boolean | number | string;
  /** From a launch line, where everything is text: the type is the property's, not the author's. */
  readonly untyped?: true;
}

export interface LocatedList {
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

/** The position of the value at `path`, or of the nearest thing around it that was written. */
export function locate(located: Located, path: readonly string[]): Position {
  const [head, ...rest] = path;
  if (head === undefined) return located.at;
  const inner =
    located.kind === "map"
      ? findEntry(located, head)?.value
      : located.kind === "list"
        ? located.items[Number(head)]
        : undefined;
  return inner === undefined ? located.at : locate(inner, rest);
}

/** Turns `/rules/0/name` (a JSON pointer as ajv gives it) into its keys. */
export function splitPointer(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}
