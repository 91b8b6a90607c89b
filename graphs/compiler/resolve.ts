/** Steps → GStreamer elements and TypeScript elements with checked properties. */
import type { AnyElement } from "../../elements/element.ts";
import type { FactoryInfo } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import { expand } from "./expand.ts";
import { checkUsable } from "./native-rules.ts";
import type { PreparedStep } from "./prepare.ts";
import { breakStep, type Part, padsOf, type Resolution, type ResolvedStep } from "./resolved.ts";
import { checkNative, checkTypescript } from "./step-properties.ts";

export function resolveStep(step: PreparedStep, resolution: Resolution): ResolvedStep {
  const definition = resolution.elements.get(step.element);
  if (definition !== undefined) return resolveTypescript(step, definition, resolution);
  const factory = resolution.registry.get(step.element);
  if (factory !== undefined) return resolveNative(step, factory, resolution);
  const broken = resolution.elements.broken?.get(step.element);
  if (broken !== undefined) {
    resolution.faults.add(
      "unknown_element",
      step.at,
      `the element "${step.element}" could not be loaded: ${broken.place}: ${broken.reason}`,
      { expected: "an element that can be loaded; fix that file" },
    );
    return breakStep(step, null, resolution);
  }
  const candidates = [...resolution.elements.keys(), ...resolution.registry.list().map((known) => known.name)];
  resolution.faults.add("unknown_element", step.at, `there is no element "${step.element}"`, {
    expected: "a TypeScript element or a GStreamer element that is installed; `windhover inspect` lists them",
    suggestion: suggest(step.element, candidates),
  });
  return breakStep(step, null, resolution);
}

function resolveNative(step: PreparedStep, factory: FactoryInfo, resolution: Resolution): ResolvedStep {
  checkUsable(step, factory, resolution.faults);
  const checked = checkNative(step, factory, resolution.faults);
  const name = resolution.prefix + step.name;
  const { values: properties, origins } = checked;
  const part: Part = {
    name,
    kind: "native",
    factory: factory.name,
    properties,
    origins,
    pads: factory.pads,
    onward: null,
  };
  return { ...breakStep(step, null, resolution), parts: [part], broken: false };
}

function resolveTypescript(step: PreparedStep, definition: AnyElement, resolution: Resolution): ResolvedStep {
  const before = resolution.faults.size;
  const checked = checkTypescript(step, definition, resolution.faults);
  const name = resolution.prefix + step.name;
  if (definition.kind === "composite") {
    if (resolution.faults.size > before) return breakStep(step, definition, resolution);
    return expand(step, definition, checked, resolution);
  }
  const part: Part = {
    name,
    kind: "typescript",
    factory: definition.name,
    properties: checked.values,
    origins: checked.origins,
    pads: padsOf(definition),
    onward: null,
  };
  return { ...breakStep(step, definition, resolution), parts: [part], broken: false };
}
