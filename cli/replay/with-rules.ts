import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../../graphs/compiler/plan.ts";
import type { AlertRule } from "../../schemas/alerts.ts";
import type { Json } from "../../schemas/json.ts";
import { UsageFault } from "../command.ts";

const ELEMENT = "alerts";

/** Throws `UsageFault` for a graph that evaluates no rules. */
export function expectAlerts({ graph, offers }: Pick<GraphPlan, "graph" | "offers">): void {
  if (offers.includes(ELEMENT)) return;
  throw new UsageFault(
    `--alerts is for the element \`${ELEMENT}\`, and the graph "${graph}" has none; put it behind \`track\`, as \`npx windhover explain detect\` shows`,
  );
}

/** The same graph with these rules beside its own from the first frame on; of several elements the first has them, as in the service. */
export function withRules(compiled: Compiled, plan: GraphPlan, rules: readonly AlertRule[]): Compiled {
  const segments = [plan.main, ...plan.branches];
  const first = segments.flatMap(({ nodes }) => nodes).find(({ element }) => element === ELEMENT);
  const give = (node: PlanNode): PlanNode => {
    if (node !== first) return node;
    const own = (node.properties.rules ?? []) as readonly Json[];
    return { ...node, properties: { ...node.properties, rules: [...own, ...(rules as unknown as Json[])] } };
  };
  const change = (segment: PlanSegment): PlanSegment => ({ ...segment, nodes: segment.nodes.map(give) });
  return { ...compiled, plan: { ...plan, main: change(plan.main), branches: plan.branches.map(change) } };
}
