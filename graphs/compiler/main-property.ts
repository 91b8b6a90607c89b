/** The short form of a step: `- filter: "class_name == 'car'"` gives the main property of the element. */
import type { AnyElement } from "../../elements/element.ts";
import { kebab } from "../../schemas/names.ts";
import type { Chain, GraphDocument, Step } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { describeLocated } from "./located.ts";

/** The document with every short form written out. An element without a main property is a fault. */
export function nameMain(
  document: GraphDocument,
  elements: ReadonlyMap<string, AnyElement>,
  faults: FaultList,
): GraphDocument {
  const before = faults.size;
  const nameStep = (step: Step): Step => {
    if (step.kind !== "element" || step.main === null) return step;
    const { main: value, element } = step;
    const main = elements.get(element)?.main;
    if (main !== undefined) return { ...step, main: null, properties: [{ key: kebab(main), at: value.at, value }] };
    faults.add("document_shape", value.at, `"${element}" is given ${describeLocated(value)}`, {
      expected: `properties: \`${element}: { property: value }\``,
    });
    return { kind: "unreadable", at: step.at };
  };
  const nameChain = (chain: Chain): Chain => ({ ...chain, steps: chain.steps.map(nameStep) });
  const { edits } = document;
  const named: GraphDocument = {
    ...document,
    chains: document.chains.map(nameChain),
    slots: document.slots.map((slot) => ({ ...slot, chain: nameChain(slot.chain) })),
    edits: { ...edits, insert: edits.insert.map((item) => ({ ...item, steps: item.steps.map(nameStep) })) },
  };
  return faults.size > before ? { ...named, damaged: true } : named;
}
