/** Properties of TypeScript elements: kebab-case in graphs, camelCase in definitions, checked by the element's schema. */
import type { AnyElement } from "../../elements/element.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { camel, kebab, renameKeys } from "../../schemas/names.ts";
import { fillDefaults, validate } from "./schema-check.ts";

/** The schema of a property by its name in graphs, or undefined. */
export function findElementProperty(element: AnyElement, name: string): object | undefined {
  const properties: Readonly<Record<string, object>> = element.properties.properties;
  const key = camel(name);
  // `maxAgeMs` is the definition's spelling; in a graph only `max-age-ms` is a name.
  return kebab(key) === name && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

export function listElementProperties(element: AnyElement): readonly string[] {
  return Object.keys(element.properties.properties).map(kebab);
}

export function isLiveProperty(element: AnyElement, name: string): boolean {
  return (findElementProperty(element, name) as JsonRecord | undefined)?.live === true;
}

/** Names, as in graphs, of properties that must be given and are not. */
export function missingProperties(element: AnyElement, given: readonly string[]): readonly string[] {
  const required: readonly string[] = element.properties.required ?? [];
  return required
    .map(kebab)
    .filter((name) => !given.includes(name))
    .filter((name) => (findElementProperty(element, name) as JsonRecord | undefined)?.default === undefined);
}

/** A value the property would take, for expanding a composite whose real value is not known yet. */
export function sampleValue(schema: object, written: Json): Json | undefined {
  const { enum: choices, const: only, default: fallback, minimum, anyOf } = schema as JsonRecord;
  const variants = Array.isArray(anyOf) ? (anyOf as readonly JsonRecord[]).map((variant) => variant.const) : [];
  const candidates = [
    written,
    fallback,
    only,
    ...(Array.isArray(choices) ? (choices as readonly Json[]) : []),
    ...variants,
    minimum,
    1,
    true,
    "",
  ];
  return candidates.find((value) => value !== undefined && validate(schema, value).length === 0);
}

/** What `create`, `expand` and `drive` are given: camelCase, with defaults wherever the graph says nothing. */
export function completeProperties(element: AnyElement, properties: JsonRecord): JsonRecord {
  return fillDefaults(element.properties, renameKeys(properties, camel));
}
