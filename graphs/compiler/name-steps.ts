/**
 * Gives every step its node name: the author's, else the element's, with `-2`, `-3` … for repeats. All chains share one
 * set of names; a slot has its own, as each attached instance is prefixed. Names do not depend on `when`, and a step that
 * has its name (from the graph it was inherited from) keeps it.
 */
import type { Chain, ElementStep, GraphDocument, Step } from "./document.ts";
import type { FaultList } from "./fault-list.ts";

export function nameSteps(document: GraphDocument, faults: FaultList): GraphDocument {
  const slots = document.slots.map((slot) => ({ ...slot, chain: nameChains([slot.chain], faults)[0] ?? slot.chain }));
  return { ...document, chains: nameChains(document.chains, faults), slots };
}

function nameChains(chains: readonly Chain[], faults: FaultList): readonly Chain[] {
  const taken = new Map<string, ElementStep>();
  const repeated = new Set<ElementStep>();
  for (const step of chains.flatMap((chain) => chain.steps)) {
    if (step.kind !== "element" || step.name === null) continue;
    const first = taken.get(step.name.value);
    if (first === undefined) {
      taken.set(step.name.value, step);
      continue;
    }
    repeated.add(step);
    const { file, line } = first.name?.at ?? first.at;
    const where = file === step.name.at.file ? `line ${line}` : `${file}:${line}`;
    faults.add("duplicate_name", step.name.at, `two nodes are named "${step.name.value}"; the first is on ${where}`, {
      expected: "a name of its own for each node",
    });
  }
  const lastSuffix = new Map<string, number>();
  const nameStep = (step: Step): Step => {
    if (step.kind !== "element" || (step.name !== null && !repeated.has(step))) return step;
    let suffix = lastSuffix.get(step.element) ?? 0;
    let name: string;
    do {
      suffix++;
      name = suffix === 1 ? step.element : `${step.element}-${suffix}`;
    } while (taken.has(name));
    lastSuffix.set(step.element, suffix);
    taken.set(name, step);
    return { ...step, name: { value: name, at: step.at } };
  };
  return chains.map((chain) => ({ ...chain, steps: chain.steps.map(nameStep) }));
}
