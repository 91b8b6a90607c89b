/** Plan segments and properties in the form of the native builder. */
import { isDeepStrictEqual } from "node:util";
import type { TObject, TSchema } from "typebox";
import type { AnyElement } from "../../elements/element.ts";
import type { NativeProperty } from "../../native/addon.ts";
import type { NativeNode, NativeSegment, NativeValue } from "../../native/pipeline.ts";
import type { Json, PropertySchema } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";
import type { PlanLink, PlanNode, PlanSegment } from "../compiler/plan.ts";

export function toNative(
  segment: PlanSegment,
  elements: ReadonlyMap<string, AnyElement>,
  handlers: ReadonlyMap<string, { readonly binding: number }>,
): NativeSegment {
  const nodes = segment.nodes.map((node): NativeNode => {
    const { name, factory, properties } = node;
    const binding = handlers.get(name)?.binding;
    return {
      ...{ name, factory, properties: encodeProperties(node, elements, properties) },
      ...(binding !== undefined && { binding }),
    };
  });
  if (segment.tee !== null) return { nodes, links: segment.links.slice(1) };
  // Without a sink of its own, a tee would never pass EOS on after its last branch is detached.
  const open = segment.nodes.filter(
    ({ name, factory }) => factory === "tee" && !segment.links.some(({ from }) => from === name),
  );
  return {
    nodes: [
      ...nodes,
      ...open.map(({ name }) => ({ name: endOf(name), factory: "fakesink", properties: { sync: false } })),
    ],
    links: [...segment.links, ...open.map(({ name }) => ({ from: name, to: endOf(name) }))],
  };
}

const endOf = (tee: string): string => `${tee}.end`;

/** The link from the tee. */
export function entryOf(segment: PlanSegment): PlanLink {
  const [first] = segment.links;
  if (segment.tee === null || first === undefined) throw new Error(`segment "${segment.name}" has no tee`);
  return first;
}

/** Values for the native side; undefined resets a property to its default. */
export function encodeProperties(
  node: PlanNode,
  elements: ReadonlyMap<string, AnyElement>,
  values: Readonly<Record<string, PlanNode["properties"][string] | undefined>>,
) {
  const element = node.kind === "typescript" ? elements.get(node.element) : undefined;
  if (element === undefined)
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, encodeValue(undefined, value)] as const),
    );
  const typed = new Map(typeProperties(element).map((property) => [property.name, property]));
  const current = new Map(nativeProperties(element.properties).map((property) => [property.name, property]));
  // The handler has all values; those that the type does not have, or has otherwise, are left out here.
  const fitting = Object.entries(values).filter(([name]) => isDeepStrictEqual(typed.get(name), current.get(name)));
  return Object.fromEntries(fitting.map(([name, value]) => [name, encodeValue(typed.get(name), value)] as const));
}

const types = new Map<string, readonly NativeProperty[]>();

/** Of its GStreamer type, which is that of its first version. */
export function typeProperties({ name, properties }: AnyElement): readonly NativeProperty[] {
  const known = types.get(name) ?? nativeProperties(properties);
  types.set(name, known);
  return known;
}

/** GObject properties of a TypeScript element, from its JSON Schema. */
function nativeProperties(properties: TObject): NativeProperty[] {
  return Object.entries(properties.properties as Record<string, TSchema>).map(([name, schema]) =>
    nativeProperty(kebab(name), schema as PropertySchema),
  );
}

/** GObject numbers and booleans cannot be unset: a property without a default is JSON text. */
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

function encodeValue(property: NativeProperty | undefined, value: Json | undefined): NativeValue {
  if (value === undefined) return null;
  if (property?.kind === "json") return JSON.stringify(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
