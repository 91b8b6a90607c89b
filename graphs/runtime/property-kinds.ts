/** How a property of a TypeScript element looks to GStreamer, from its JSON Schema. */
import type { TObject, TSchema } from "typebox";
import type { NativeProperty } from "../../native/addon.ts";
import type { NativeValue } from "../../native/pipeline.ts";
import type { Json, PropertySchema } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";

export function nativeProperties(properties: TObject): NativeProperty[] {
  return Object.entries(properties.properties as Record<string, TSchema>).map(([name, schema]) =>
    nativeProperty(kebab(name), schema as PropertySchema),
  );
}

/** GObject has no "not set" for numbers and booleans: without a default, a property travels as JSON text. */
function nativeProperty(name: string, schema: PropertySchema): NativeProperty {
  const common = { name, about: schema.description ?? "", live: schema.live === true };
  const { default: fallback } = schema;
  const limits = {
    ...(schema.minimum === undefined ? {} : { minimum: schema.minimum }),
    ...(schema.maximum === undefined ? {} : { maximum: schema.maximum }),
  };
  if (schema.enum?.every((value) => typeof value === "string") && typeof fallback === "string")
    return { ...common, kind: "enum", values: schema.enum as readonly string[], default: fallback };
  if (schema.type === "boolean" && typeof fallback === "boolean")
    return { ...common, kind: "boolean", default: fallback };
  if ((schema.type === "integer" || schema.type === "number") && typeof fallback === "number")
    return { ...common, kind: schema.type, default: fallback, ...limits };
  if (schema.type === "string" && schema.enum === undefined && typeof fallback === "string")
    return { ...common, kind: "string", default: fallback };
  return { ...common, kind: "json", ...(fallback === undefined ? {} : { default: JSON.stringify(fallback) }) };
}

/** A plan's value as the property of that kind takes it; undefined means: back to the default. */
export function encodeValue(property: NativeProperty | undefined, value: Json | undefined): NativeValue {
  if (value === undefined) return null;
  if (property?.kind === "json") return JSON.stringify(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
