/** Chains must come from somewhere and lead somewhere. */
import type { ConnectedChain } from "./connect.ts";
import type { FaultList } from "./fault-list.ts";

export interface EndsRequest {
  readonly chains: readonly ConnectedChain[];
  /** Names of the nodes that slots hang on. */
  readonly slotTees: ReadonlySet<string>;
  /** A `from:` or `to:` that names nothing may have meant any of the loose ends. */
  readonly unresolved: boolean;
  readonly faults: FaultList;
}

export function checkEnds({ chains, slotTees, unresolved, faults }: EndsRequest): void {
  const edges = chains.flatMap((chain) => chain.edges);
  const reached = new Set(edges.map((edge) => edge.to));
  const continued = new Set(edges.map((edge) => edge.from));
  for (const chain of chains) {
    const [first] = chain.steps;
    const last = chain.steps.at(-1);
    if (first !== undefined && !first.broken && !reached.has(first)) {
      const needsInput = first.parts[0]?.pads.some((pad) => pad.direction === "sink") ?? false;
      const mayBeReached =
        unresolved &&
        !(first.parts[0]?.pads.some((pad) => pad.direction === "sink" && pad.presence === "always") ?? false);
      if (needsInput && !mayBeReached) {
        faults.add(
          "chain_from_nowhere",
          first.at,
          `chain "${chain.name}" begins with "${first.name}", which needs an input`,
          {
            expected: "`source`, another element that makes frames, or `from: node` before it",
          },
        );
      }
    }
    if (last === undefined || last.broken || continued.has(last) || slotTees.has(last.name)) continue;
    const end = last.parts.at(-1);
    if (end === undefined || !end.pads.some((pad) => pad.direction === "src")) continue;
    if (end.factory === "tee") {
      if (unresolved) continue;
      faults.add(
        "not_linkable",
        last.at,
        `chain "${chain.name}" ends in the tee "${last.name}", on which nothing hangs`,
        {
          expected: `a chain or slot that begins with \`from: ${last.name}\``,
        },
      );
    } else {
      faults.add(
        "not_linkable",
        last.at,
        `chain "${chain.name}" ends in "${last.name}", which has an output that goes nowhere`,
        {
          expected: "a sink such as `print` or `fakesink` after it, or `to: node`",
        },
      );
    }
  }
}
