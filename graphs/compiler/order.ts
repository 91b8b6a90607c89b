/** Steps in the order frames reach them. A circle is a fault; the edge that closes it is left out. */
import type { Edge } from "./connect.ts";
import type { FaultList } from "./fault-list.ts";
import type { ResolvedStep } from "./resolved.ts";

export interface Ordered {
  readonly steps: readonly ResolvedStep[];
  readonly edges: readonly Edge[];
}

/** Of two steps that could both come next, the one written first does: so that the second of two rivals is the one blamed. */
export function orderSteps(steps: ReadonlySet<ResolvedStep>, edges: readonly Edge[], faults: FaultList): Ordered {
  const closing = findClosing(steps, edges, faults);
  const forward = edges.filter((edge) => !closing.has(edge));
  const outgoing = groupBy(forward, (edge) => edge.from);
  const waiting = new Map([...steps].map((step) => [step, 0]));
  for (const edge of forward) waiting.set(edge.to, (waiting.get(edge.to) ?? 0) + 1);
  const order: ResolvedStep[] = [];
  while (waiting.size > 0) {
    const next = [...waiting].find(([, inputs]) => inputs === 0)?.[0];
    if (next === undefined) break;
    waiting.delete(next);
    order.push(next);
    for (const edge of outgoing.get(next) ?? []) waiting.set(edge.to, (waiting.get(edge.to) ?? 0) - 1);
  }
  return { steps: order, edges: forward };
}

/** Edges that lead back to a step they came from. */
function findClosing(steps: ReadonlySet<ResolvedStep>, edges: readonly Edge[], faults: FaultList): ReadonlySet<Edge> {
  const outgoing = groupBy(edges, (edge) => edge.from);
  const done = new Set<ResolvedStep>();
  const path: ResolvedStep[] = [];
  const closing = new Set<Edge>();
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
  };
  for (const step of steps) visit(step);
  return closing;
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
