/** Models that a client has uploaded: their names in a compiled graph become the cards that the runner can open. */
import type { RunnerJob } from "../../../schemas/runner.ts";
import type { Compiled } from "../../compiler/compile.ts";
import type { PlanNode, PlanSegment } from "../../compiler/plan.ts";
import { isModelProperty } from "../../compiler/restrict.ts";

export function nameModels(compiled: Compiled, models: RunnerJob["models"] = {}): Compiled {
  if (Object.keys(models).length === 0) return compiled;
  const nameNode = (node: PlanNode): PlanNode => {
    const changed = Object.entries(node.properties).flatMap(([property, value]) => {
      const isModel = typeof value === "string" && isModelProperty(node.element, property);
      return isModel && Object.hasOwn(models, value) ? [[property, models[value]?.card ?? value] as const] : [];
    });
    if (changed.length === 0) return node;
    return Object.freeze({ ...node, properties: { ...node.properties, ...Object.fromEntries(changed) } });
  };
  const nameSegment = (segment: PlanSegment): PlanSegment =>
    Object.freeze({ ...segment, nodes: Object.freeze(segment.nodes.map(nameNode)) });
  const { plan } = compiled;
  return {
    ...compiled,
    plan: plan && Object.freeze({ ...plan, main: nameSegment(plan.main), branches: plan.branches.map(nameSegment) }),
    asLive: () => nameModels(compiled.asLive(), models),
    slot(name, instance, params) {
      const { segment, faults } = compiled.slot(name, instance, params);
      return { segment: segment && nameSegment(segment), faults };
    },
  };
}
