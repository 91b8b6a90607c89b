/** How far the value of a property reaches: a number stays in the graph, a text may name a file, a host or a plugin. */
import type { AnyElement } from "../../../elements/element.ts";
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import type { PropertyKind, Registry } from "../../../schemas/registry.ts";
import { findElementProperty } from "../element-properties.ts";
import { FREE_TEXTS, MODEL_TEXTS, REFUSED_PROPERTIES } from "./allow-list.ts";

export interface ReachKnowledge {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
}

/** `model`: the name of a model card. `outside`: not for clients. */
export type Reach = "inside" | "model" | "outside";

const INSIDE: readonly PropertyKind[] = ["boolean", "integer", "number", "enum", "flags", "fraction", "caps"];

/** What is not known counts as `outside`; that it is not known is the compiler's to report. */
export function reachOf(element: string, property: string, { elements, registry }: ReachKnowledge): Reach {
  if (listed(MODEL_TEXTS, element, property)) return "model";
  if (listed(FREE_TEXTS, element, property)) return "inside";
  if (listed(REFUSED_PROPERTIES, element, property)) return "outside";
  const definition = elements.get(element);
  if (definition !== undefined) {
    const schema = findElementProperty(definition, property);
    return schema === undefined || takesText(schema as JsonRecord) ? "outside" : "inside";
  }
  const kind = registry.get(element)?.properties[property]?.kind;
  return kind !== undefined && INSIDE.includes(kind) ? "inside" : "outside";
}

const listed = (table: Readonly<Record<string, readonly string[]>>, element: string, property: string): boolean =>
  Object.hasOwn(table, element) && (table[element]?.includes(property) ?? false);

/** Whether some text of the client's own choice fits, at any depth. In doubt it does. */
function takesText(schema: Json | undefined): boolean {
  if (schema === undefined || schema === null || typeof schema !== "object" || Array.isArray(schema)) return true;
  const facts = schema as JsonRecord;
  if (facts.enum !== undefined || facts.const !== undefined) return false;
  if (Array.isArray(facts.anyOf)) return facts.anyOf.some(takesText);
  const types = [facts.type ?? "any"].flat();
  if (types.every((type) => ["boolean", "integer", "number", "null"].includes(String(type)))) return false;
  if (types.every((type) => type === "array")) return takesText(facts.items);
  if (types.every((type) => type === "object")) {
    const inner = Object.values((facts.properties ?? {}) as JsonRecord);
    return facts.additionalProperties !== false || inner.some(takesText);
  }
  return true;
}
