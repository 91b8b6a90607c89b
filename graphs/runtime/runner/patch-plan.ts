/**
 * Other values for live properties of TypeScript elements, without compiling: what they are checked by is their own schema,
 * and nothing else of the plan follows from them. Compiling takes long enough for frames to wait.
 */
import type { AnyElement } from "../../../elements/element.ts";
import type { LiveValues } from "../../../schemas/live-values.ts";
import type { Compiled } from "../../compiler/compile.ts";
import { findElementProperty, isLiveProperty } from "../../compiler/properties.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../../compiler/plan.ts";
import { validate } from "../../compiler/schema-check.ts";

/** Null where it takes more than that, or something is wrong: compiling tells what. */
export function patchPlan(
  compiled: Compiled,
  given: LiveValues,
  elements: ReadonlyMap<string, AnyElement>,
): Compiled | null {
  const { plan } = compiled;
  if (plan === null || Object.keys(given).some((node) => !mayPatch(plan, node, given, elements))) return null;
  const patch = (segment: PlanSegment): PlanSegment =>
    Object.freeze({ ...segment, nodes: Object.freeze(segment.nodes.map((node) => patchNode(node, given))) });
  const patched = Object.freeze({ ...plan, main: patch(plan.main), branches: Object.freeze(plan.branches.map(patch)) });
  const asLive = () => patchPlan(compiled.asLive(), given, elements) ?? compiled.asLive();
  return { ...compiled, plan: patched, asLive };
}

function mayPatch(
  { main, branches }: GraphPlan,
  name: string,
  given: LiveValues,
  elements: ReadonlyMap<string, AnyElement>,
): boolean {
  const nodes = [main, ...branches].flatMap((segment) => segment.nodes).filter(({ author }) => author === name);
  const [node] = nodes;
  const element = node === undefined ? undefined : elements.get(node.element);
  if (nodes.length !== 1 || node?.kind !== "typescript" || element === undefined || element.kind === "composite")
    return false;
  return Object.entries(given[name] ?? {}).every(([property, value]) => {
    const schema = findElementProperty(element, property);
    return schema !== undefined && isLiveProperty(element, property) && validate(schema, value).length === 0;
  });
}

function patchNode(node: PlanNode, given: LiveValues): PlanNode {
  const values = given[node.author];
  return values === undefined ? node : Object.freeze({ ...node, properties: { ...node.properties, ...values } });
}
