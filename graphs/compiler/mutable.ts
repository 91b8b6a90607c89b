/** Which properties are mutable while PLAYING: the one answer for `explain`, `live_params`, PATCH and the command line. */
import type { AnyElement } from "../../elements/element.ts";
import type { Registry } from "../../schemas/registry.ts";
import { isLiveProperty } from "./element-properties.ts";
import type { PlanNode } from "./plan.ts";

export interface ElementKnowledge {
  readonly registry: Pick<Registry, "get">;
  readonly elements: ReadonlyMap<string, AnyElement>;
}

/** A TypeScript element declares it in its schema, a GStreamer element by the flags of the property. */
export function isMutable(
  { kind, factory }: Pick<PlanNode, "kind" | "factory">,
  property: string,
  { registry, elements }: ElementKnowledge,
): boolean {
  if (kind === "native") return registry.get(factory)?.properties[property]?.live === true;
  const definition = elements.get(factory);
  return definition !== undefined && isLiveProperty(definition, property);
}
