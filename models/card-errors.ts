/** Schema errors of a card with their positions in its text. */
import type { ErrorObject } from "ajv";
import { type Document, isMap, isNode, isScalar, type Node } from "yaml";
import { explainErrors } from "../schemas/bounded-check.ts";

export interface CardError {
  /** Keys from the root of the card down to the wrong value. */
  readonly path: readonly string[];
  /** The key itself is wrong, not its value. */
  readonly atKey?: boolean;
  readonly message: string;
}

export const describeErrors = (errors: readonly ErrorObject[]): readonly CardError[] =>
  explainErrors(errors).map(({ error, fault }) => {
    const path = fault.path.split("/").slice(1).map(readPointerKey);
    return { path, atKey: error.keyword === "additionalProperties", message: `${nameOf(path)} ${fault.message}` };
  });

const readPointerKey = (key: string): string => key.replaceAll("~1", "/").replaceAll("~0", "~");

/** `sources[1].url` */
const nameOf = (path: readonly string[]): string =>
  path.reduce((name, key) => (/^\d+$/.test(key) ? `${name}[${key}]` : name === "" ? key : `${name}.${key}`), "");

/** The offset in the text of the wrong key or value, or of the closest enclosing node that exists. */
export function locateError(document: Document, { path, atKey = false }: CardError): number {
  for (let depth = path.length; depth > 0; depth--) {
    const keys = path.slice(0, depth).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    const offset = atKey && depth === path.length ? offsetOfKey(document, keys) : startOf(document.getIn(keys, true));
    if (offset !== null) return offset;
  }
  return startOf(document.contents) ?? 0;
}

function offsetOfKey(document: Document, keys: readonly (string | number)[]): number | null {
  const around = keys.length === 1 ? document.contents : document.getIn(keys.slice(0, -1), true);
  if (!isMap(around)) return null;
  const pair = around.items.find(({ key }) => isScalar(key) && key.value === keys.at(-1));
  return startOf(pair?.key);
}

const startOf = (node: unknown): number | null => (isNode(node) ? ((node as Node).range?.[0] ?? null) : null);
