import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan, PlanSegment } from "../../graphs/compiler/plan.ts";
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

/** The same graph with these rules from its first frame on, in place of those it may have itself, as in the service. */
export function withRules(compiled: Compiled, plan: GraphPlan, rules: readonly AlertRule[]): Compiled {
  const give = (segment: PlanSegment): PlanSegment => ({
    ...segment,
    nodes: segment.nodes.map((node) =>
      node.element === ELEMENT
        ? { ...node, properties: { ...node.properties, rules: rules as unknown as Json } }
        : node,
    ),
  });
  return { ...compiled, plan: { ...plan, main: give(plan.main), branches: plan.branches.map(give) } };
}
