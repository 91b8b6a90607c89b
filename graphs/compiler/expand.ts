/** Composites → the run of elements they stand for. */
import { type CompositeDefinition, type ExpandedNode, ExpandFault, type Expansion } from "../../elements/element.ts";
import type { Json } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";
import { completeProperties, missingProperties } from "./element-properties.ts";
import { checkNativeValue, findNativeProperty } from "./native-properties.ts";
import type { PlanDriver } from "./plan.ts";
import type { PreparedStep } from "./prepare.ts";
import { breakStep, type Part, padsOf, type Resolution, type ResolvedStep } from "./resolved.ts";
import type { CheckedProperties } from "./step-properties.ts";

export function expand(
  step: PreparedStep,
  definition: CompositeDefinition,
  checked: CheckedProperties,
  resolution: Resolution,
): ResolvedStep {
  const broken = breakStep(step, definition, resolution);
  // A required value that is not known, and for which nothing can stand in: what it would expand to cannot be known.
  if (missingProperties(definition, Object.keys(checked.values)).length > 0) return broken;
  const properties = completeProperties(definition, checked.values);
  let expansion: Expansion;
  try {
    expansion = definition.expand(properties, resolution.context);
  } catch (error) {
    reportExpansion(error, step, checked, resolution);
    return broken;
  }
  const parts = expansion.nodes.map((node) => makePart(node, expansion.nodes.length === 1, step, resolution));
  if (!parts.every((part) => part !== null)) return broken;
  const driver: PlanDriver | null =
    definition.drive === undefined && definition.open === undefined
      ? null
      : { author: broken.name, element: definition.name, properties };
  return { ...broken, parts, broken: false, driver, prefer: expansion.prefer ?? [] };
}

function reportExpansion(error: unknown, step: PreparedStep, checked: CheckedProperties, { faults }: Resolution): void {
  const name = error instanceof ExpandFault && error.property !== null ? kebab(error.property) : null;
  // The value was a stand-in: its faults are not the author's.
  if (name !== null && checked.unknown.has(name)) return;
  const property = step.properties.find((candidate) => candidate.name === name);
  const message = error instanceof Error ? error.message : String(error);
  const where = name === null ? step.element : `${step.element}.${name}`;
  faults.add("bad_property", property?.written.at ?? step.at, `${where}: ${message}`);
}

function makePart(node: ExpandedNode, alone: boolean, step: PreparedStep, resolution: Resolution): Part | null {
  const { registry, elements, prefix, faults } = resolution;
  const author = prefix + step.name;
  const name = alone ? author : `${author}.${node.suffix}`;
  const onward = node.onward ?? null;
  const factory = registry.get(node.factory);
  if (factory === undefined) {
    const definition = elements.get(node.factory);
    if (definition !== undefined && definition.kind !== "composite") {
      const { factory: called, properties } = node;
      return { name, kind: "typescript", factory: called, properties, origins: {}, pads: padsOf(definition), onward };
    }
    faults.add(
      "unknown_element",
      step.at,
      `${step.element} needs the GStreamer element "${node.factory}", which is not installed`,
      {
        expected: "the GStreamer plugin that has it",
      },
    );
    return null;
  }
  const properties: Record<string, Json> = {};
  for (const [key, value] of Object.entries(node.properties)) {
    const info = findNativeProperty(factory, key);
    if ("message" in info) {
      faults.add("unknown_property", step.at, `${step.element} expands into what does not fit: ${info.message}`, info);
      return null;
    }
    const verdict = checkNativeValue(info, value, false);
    if (!verdict.ok) {
      const found = `${step.element} expands into what does not fit: ${factory.name}.${key} is ${verdict.found}`;
      faults.add("bad_property", step.at, found, verdict);
      return null;
    }
    if (verdict.value !== undefined) properties[key] = verdict.value;
  }
  return { name, kind: "native", factory: factory.name, properties, origins: {}, pads: factory.pads, onward };
}
