/**
 * Which chains make up `main` and which are branches. A branch hangs on a tee of main and leads nowhere back, so that it
 * can be taken off and put on while main runs; chains that hang on a branch belong to it. Everything else is main.
 */
import type { ConnectedChain } from "./connect.ts";
import type { ResolvedStep } from "./resolved.ts";

export interface Segment {
  readonly name: string;
  /** Null for main. */
  readonly tee: ResolvedStep | null;
  readonly chains: readonly ConnectedChain[];
}

export const isTee = (step: ResolvedStep): boolean => step.parts.length === 1 && step.parts[0]?.factory === "tee";

/** Main first, then the branches in the order written. */
export function partition(chains: readonly ConnectedChain[]): readonly Segment[] {
  const owner = new Map<ResolvedStep, ConnectedChain>();
  for (const chain of chains) for (const step of chain.steps) owner.set(step, chain);
  const parentOf = (chain: ConnectedChain) => (chain.from === null ? undefined : owner.get(chain.from));
  const main = new Set(chains.filter((chain) => chain.name === "main" || parentOf(chain) === undefined));

  /** The chain at the root of the branch, or undefined for a chain of main. */
  const rootOf = (chain: ConnectedChain): ConnectedChain | undefined => {
    const seen = new Set<ConnectedChain>();
    let current = chain;
    while (!main.has(current)) {
      const parent = parentOf(current);
      if (parent === undefined || seen.has(current)) return undefined;
      if (main.has(parent) && current.from !== null && isTee(current.from)) return current;
      seen.add(current);
      current = parent;
    }
    return undefined;
  };

  let settled = false;
  while (!settled) {
    settled = true;
    for (const chain of chains) {
      const parent = parentOf(chain);
      const hangsOnMain =
        !main.has(chain) && parent !== undefined && main.has(parent) && chain.from !== null && !isTee(chain.from);
      if (hangsOnMain) settled = !addTo(main, chain) && settled;
      if (main.has(chain) && parent !== undefined) settled = !addTo(main, parent) && settled;
      const target = chain.to === null ? undefined : owner.get(chain.to);
      // What joins two segments makes one of them, and only main may have several inputs.
      if (target === undefined || rootOf(chain) === rootOf(target)) continue;
      settled = !(addTo(main, chain) || addTo(main, target)) && settled;
    }
  }
  const roots = chains.filter((chain) => rootOf(chain) === chain);
  const branches = roots.map((root) => ({
    name: root.name,
    tee: root.from,
    chains: chains.filter((chain) => rootOf(chain) === root),
  }));
  return [{ name: "main", tee: null, chains: chains.filter((chain) => rootOf(chain) === undefined) }, ...branches];
}

function addTo<T>(set: Set<T>, item: T): boolean {
  if (set.has(item)) return false;
  set.add(item);
  return true;
}
