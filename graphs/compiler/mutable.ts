/** Which properties are mutable while PLAYING: the one answer for `explain`, `live_params`, PATCH and the command line. */
import type { AnyElement } from "../../elements/element.ts";
import type { Registry } from "../../schemas/registry.ts";
import { isLiveProperty } from "./element-properties.ts";
import { findNativeProperty } from "./native-properties.ts";
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
  if (kind === "native") {
    const info = registry.get(factory);
    const found = info === undefined ? undefined : findNativeProperty(info, property);
    return found !== undefined && "live" in found && found.live;
  }
  const definition = elements.get(factory);
  return definition !== undefined && isLiveProperty(definition, property);
}
