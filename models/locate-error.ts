import { type Document, isMap, isNode, isScalar, type Node } from "yaml";
import type { CardError } from "./card-errors.ts";

/** The offset in the text of what an error is about, or of the nearest thing around it that was written. */
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
