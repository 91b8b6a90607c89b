/** `remove:` in a graph that extends another: nodes, whole chains and slots, and what would miss them. */
import { suggest } from "../../schemas/suggest.ts";
import type { Chain, GraphDocument, Removal } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import type { Position } from "./plan.ts";

export interface Removed {
  /** By address: a name, or `slot/node`. */
  readonly nodes: ReadonlySet<string>;
  readonly chains: ReadonlySet<string>;
  readonly slots: ReadonlySet<string>;
}

/** A name alone is a node; where no node has it, a chain or a slot. `addresses` are those of the base's nodes. */
export function resolveRemovals(
  base: GraphDocument,
  removals: readonly Removal[],
  addresses: readonly string[],
  faults: FaultList,
): Removed {
  const known = {
    node: addresses,
    chain: base.chains.map(({ name }) => name),
    slot: base.slots.map(({ chain }) => chain.name),
  };
  const removed = { node: new Set<string>(), chain: new Set<string>(), slot: new Set<string>() };
  const kinds = ["node", "chain", "slot"] as const;
  for (const { kind, value, at } of removals) {
    const fitting = kinds.filter((each) => (kind ?? each) === each && known[each].includes(value));
    const [found] = fitting;
    if (found === undefined) {
      if (!base.damaged) reportUnknown({ kind, value, at }, base.graph, known, faults);
    } else if (found === "chain" && fitting.includes("slot")) {
      faults.add("unknown_node", at, `graph "${base.graph}" has a chain and a slot "${value}"`, {
        expected: `\`chain: ${value}\` or \`slot: ${value}\``,
      });
    } else removed[found].add(value);
  }
  return { nodes: removed.node, chains: removed.chain, slots: removed.slot };
}

function reportUnknown(
  { kind, value, at }: Removal,
  graph: string,
  known: Readonly<Record<"node" | "chain" | "slot", readonly string[]>>,
  faults: FaultList,
): void {
  const inSlot = known.node.find((address) => address.endsWith(`/${value}`));
  const names = kind === null ? [...known.node, ...known.chain, ...known.slot] : known[kind];
  faults.add("unknown_node", at, `graph "${graph}" has no ${kind ?? "node, chain or slot"} "${value}"`, {
    expected:
      kind === null ? "the name of a node, chain or slot of it, or `slot/node`" : names.join(", ") || `no ${kind}`,
    suggestion: (kind === null || kind === "node" ? inSlot : undefined) ?? suggest(value, names),
  });
}

/**
 * What is left in `edited` and joins a node that was removed, unless `own` brings the node or replaces what joins it. True
 * when there is something.
 */
export function reportDangling(
  base: GraphDocument,
  edited: GraphDocument,
  own: GraphDocument,
  faults: FaultList,
): boolean {
  const provided = namesOf([...edited.chains, ...own.chains]);
  const removed = new Set([...namesOf(base.chains)].filter((name) => !provided.has(name)));
  const left = [
    ...edited.chains.filter(({ name }) => !own.chains.some((chain) => chain.name === name)).map(asUser("chain")),
    ...edited.slots
      .map(({ chain }) => chain)
      .filter(({ name }) => !own.slots.some((slot) => slot.chain.name === name))
      .map(asUser("slot")),
  ];
  const before = faults.size;
  for (const { kind, chain } of left)
    for (const step of chain.steps) {
      if ((step.kind !== "from" && step.kind !== "to") || !removed.has(step.node)) continue;
      faults.add(
        "unknown_node",
        blame(base, own, step.node),
        `"${step.node}" is removed, but ${kind} "${chain.name}" of graph "${base.graph}" has \`${step.kind}: ${step.node}\``,
        {
          expected: `\`${kind}: ${chain.name}\` in \`remove\` as well, or a ${kind} "${chain.name}" of your own`,
        },
      );
    }
  return faults.size > before;
}

const asUser =
  (kind: "chain" | "slot") =>
  (chain: Chain): { readonly kind: "chain" | "slot"; readonly chain: Chain } => ({ kind, chain });

const namesOf = (chains: readonly Chain[]): ReadonlySet<string> =>
  new Set(
    chains.flatMap(({ steps }) =>
      steps.flatMap((step) => (step.kind === "element" ? [step.name?.value ?? step.element] : [])),
    ),
  );

/** Where the removal of the node, or of its chain, was written. */
function blame(base: GraphDocument, own: GraphDocument, node: string): Position {
  const chain = base.chains.find((each) => namesOf([each]).has(node))?.name;
  const { remove } = own.edits;
  const found = remove.find(({ value }) => value === node) ?? remove.find(({ value }) => value === chain);
  return found?.at ?? own.extends?.at ?? own.paramsAt;
}
