/** Steps in the order frames reach them. A circle is a fault; the edge that closes it is left out. */
import type { Edge } from "./connect.ts";
import type { FaultList } from "./fault-list.ts";
import type { ResolvedStep } from "./resolved.ts";

export interface Ordered {
  readonly steps: readonly ResolvedStep[];
  readonly edges: readonly Edge[];
}

export function orderSteps(steps: Iterable<ResolvedStep>, edges: readonly Edge[], faults: FaultList): Ordered {
  const outgoing = groupBy(edges, (edge) => edge.from);
  const done = new Set<ResolvedStep>();
  const path: ResolvedStep[] = [];
  const closing = new Set<Edge>();
  const order: ResolvedStep[] = [];
  const visit = (step: ResolvedStep): void => {
    if (done.has(step)) return;
    path.push(step);
    for (const edge of outgoing.get(step) ?? []) {
      const start = path.indexOf(edge.to);
      if (start < 0) {
        visit(edge.to);
        continue;
      }
      closing.add(edge);
      const circle = [...path.slice(start), edge.to].map((node) => node.name);
      faults.add("cycle", edge.at, `frames would go round in a circle: ${circle.join(" → ")}`, {
        expected: "chains that only lead forward",
      });
    }
    path.pop();
    done.add(step);
    order.push(step);
  };
  for (const step of steps) visit(step);
  return { steps: order.reverse(), edges: edges.filter((edge) => !closing.has(edge)) };
}

export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
