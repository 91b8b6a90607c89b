/**
 * Properties of steps, checked against the schema of a TypeScript element or GStreamer's introspection. Names are
 * kebab-case in graphs, camelCase in definitions. A wrong property is a fault and left out.
 */
import type { AnyElement } from "../../elements/element.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { camel, kebab, renameKeys } from "../../schemas/names.ts";
import { fillDefaults } from "../../schemas/plain-schema.ts";
import type { FactoryInfo, Registry } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import type { PreparedProperty, PreparedStep } from "./apply-params.ts";
import { describeSchema } from "./describe.ts";
import type { FaultList } from "./fault.ts";
import { locate } from "./located.ts";
import { checkNativeValue, findNativeProperty } from "./native-properties.ts";
import type { PlanNode, PropertyOrigin } from "./plan.ts";
import { coerceText, validate } from "./schema-check.ts";

export interface CheckedProperties {
  readonly values: Record<string, Json>;
  readonly origins: Record<string, PropertyOrigin>;
  /** Names of properties whose value depends on a parameter without a value. */
  readonly unknown: ReadonlySet<string>;
}

export function checkNative(step: PreparedStep, factory: FactoryInfo, faults: FaultList): CheckedProperties {
  const values: Record<string, Json> = {};
  const origins: Record<string, PropertyOrigin> = {};
  const unknown = new Set<string>();
  for (const property of step.properties) {
    const info = findNativeProperty(factory, property.name);
    if ("message" in info) {
      faults.add("unknown_property", property.at, info.message, info);
      continue;
    }
    const checked = property.unknown
      ? ({ ok: true, value: property.value } as const)
      : checkNativeValue(info, property.value, property.untyped);
    if (!checked.ok) {
      faults.add("bad_property", property.written.at, `${factory.name}.${property.name} is ${checked.found}`, checked);
    } else if (checked.value !== undefined) {
      values[property.name] = checked.value;
      origins[property.name] = { at: property.written.at, params: property.params };
      if (property.unknown) unknown.add(property.name);
    }
  }
  return { values, origins, unknown };
}

export function checkTypescript(step: PreparedStep, definition: AnyElement, faults: FaultList): CheckedProperties {
  const values: Record<string, Json> = {};
  const origins: Record<string, PropertyOrigin> = {};
  const unknown = new Set<string>();
  for (const property of step.properties) {
    const schema = findElementProperty(definition, property.name);
    if (schema === undefined) {
      const known = Object.keys(definition.properties.properties).map(kebab);
      faults.add("unknown_property", property.at, `${definition.name} has no property "${property.name}"`, {
        expected: known.length === 0 ? "no properties" : known.join(", "),
        suggestion: suggest(property.name, known),
      });
      continue;
    }
    const value = readValue(property, schema);
    if (property.unknown) unknown.add(property.name);
    const errors = property.unknown ? [] : validate(schema, value ?? null);
    for (const { path, found, expected } of errors) {
      const where = [definition.name, property.name, ...path].join(".");
      faults.add("bad_property", locate(property.written, path), `${where} is ${found}`, { expected });
    }
    if (errors.length > 0 || value === undefined) continue;
    values[property.name] = value;
    origins[property.name] = { at: property.written.at, params: property.params };
  }
  const given = step.properties.map((property) => property.name);
  for (const name of missingProperties(definition, given)) {
    faults.add("bad_property", step.at, `${definition.name} lacks its required property "${name}"`, {
      expected: `\`${name}\`, ${describeSchema(findElementProperty(definition, name))}`,
    });
  }
  return { values, origins, unknown };
}

function readValue(property: PreparedProperty, schema: object): Json | undefined {
  if (property.unknown) return sampleValue(schema, property.value);
  return property.untyped && typeof property.value === "string" ? coerceText(property.value, schema) : property.value;
}

/** The schema of a property by its name in graphs. */
export function findElementProperty(element: AnyElement, name: string): object | undefined {
  const properties: Readonly<Record<string, object>> = element.properties.properties;
  const key = camel(name);
  // `maxAgeMs` is only valid in the definition; a graph has `max-age-ms`.
  return kebab(key) === name && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

export function isLiveProperty(element: AnyElement, name: string): boolean {
  return (findElementProperty(element, name) as JsonRecord | undefined)?.live === true;
}

/** Names, as in graphs, of required properties that are not given. */
export function missingProperties(element: AnyElement, given: readonly string[]): readonly string[] {
  const required: readonly string[] = element.properties.required ?? [];
  return required
    .map(kebab)
    .filter((name) => !given.includes(name))
    .filter((name) => (findElementProperty(element, name) as JsonRecord | undefined)?.default === undefined);
}

/** A valid value, to expand a composite whose real value is unknown in mode `check`. */
function sampleValue(schema: object, written: Json): Json | undefined {
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

/** The argument of `create`, `expand` and `drive`: camelCase, with defaults. */
export function completeProperties(element: AnyElement, properties: JsonRecord): JsonRecord {
  return fillDefaults(element.properties, renameKeys(properties, camel));
}

export interface ElementKnowledge {
  readonly registry: Pick<Registry, "get">;
  readonly elements: ReadonlyMap<string, AnyElement>;
}

/** Whether the property is mutable while PLAYING: by the schema of a TypeScript element, by GStreamer's flags otherwise. */
export function isMutable(
  { kind, factory }: Pick<PlanNode, "kind" | "factory">,
  property: string,
  { registry, elements }: ElementKnowledge,
): boolean {
  if (kind === "native") {
    const info = registry.get(factory);
    const found = info === undefined ? undefined : findNativeProperty(info, property);
    return found !== undefined && "live" in found && found.live;
  }
  const definition = elements.get(factory);
  return definition !== undefined && isLiveProperty(definition, property);
}
