/** The properties of a step, checked: each wrong one is a fault and left out. */
import type { AnyElement } from "../../elements/element.ts";
import type { Json } from "../../schemas/json.ts";
import type { FactoryInfo } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import { coerceText } from "./coerce.ts";
import { describeSchema } from "./describe.ts";
import { findElementProperty, listElementProperties, missingProperties, sampleValue } from "./element-properties.ts";
import type { FaultList } from "./fault-list.ts";
import { locate } from "./located.ts";
import { checkNativeValue, findNativeProperty } from "./native-properties.ts";
import type { PropertyOrigin } from "./plan.ts";
import type { PreparedProperty, PreparedStep } from "./prepare.ts";
import { validate } from "./schema-check.ts";

export interface CheckedProperties {
  readonly values: Record<string, Json>;
  readonly origins: Record<string, PropertyOrigin>;
  /** Names of properties whose value is not known yet. */
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
    const verdict = property.unknown
      ? ({ ok: true, value: property.value } as const)
      : checkNativeValue(info, property.value, property.untyped);
    if (!verdict.ok) {
      faults.add("bad_property", property.written.at, `${factory.name}.${property.name} is ${verdict.found}`, verdict);
    } else if (verdict.value !== undefined) {
      values[property.name] = verdict.value;
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
      const known = listElementProperties(definition);
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
  for (const name of missingProperties(
    definition,
    step.properties.map((property) => property.name),
  )) {
    faults.add("bad_property", step.at, `${definition.name} is without its property "${name}"`, {
      expected: `\`${name}\`, ${describeSchema(findElementProperty(definition, name))}`,
    });
  }
  return { values, origins, unknown };
}

function readValue(property: PreparedProperty, schema: object): Json | undefined {
  if (property.unknown) return sampleValue(schema, property.value);
  return property.untyped && typeof property.value === "string" ? coerceText(property.value, schema) : property.value;
}
