/** Which properties use which parameters, and which parameters declared `live` are mutable while PLAYING. */

import { listParams, paramOfWhen } from "./apply-params.ts";
import type { Chain, GraphDocument } from "./document.ts";
import { type ElementKnowledge, isMutable } from "./properties.ts";

/** A property whose value uses a parameter; the node as `set` names it. */
export interface ParamUse {
  readonly param: string;
  readonly node: string;
  readonly property: string;
  readonly isMutable: boolean;
}

interface LiveParams {
  readonly live: readonly string[];
  /** Declared live, but used by a property that is not mutable while PLAYING: the reason, by parameter. */
  readonly fixed: Readonly<Record<string, string>>;
}

export function listParamUses(document: GraphDocument, knowledge: ElementKnowledge): readonly ParamUse[] {
  return listChains(document).flatMap(({ chain, prefix, own }) =>
    chain.steps.flatMap((step) => {
      if (step.kind !== "element") return [];
      const { element } = step;
      const node = prefix + (step.name?.value ?? element);
      const kind = knowledge.elements.has(element) ? "typescript" : "native";
      return step.properties.flatMap(({ key, value }) =>
        listParams(value)
          .filter((param) => !own.includes(param))
          .map((param) => ({
            ...{ param, node, property: key },
            isMutable: isMutable({ kind, factory: element }, key, knowledge),
          })),
      );
    }),
  );
}

export function findLiveParams(document: GraphDocument, uses: readonly ParamUse[]): LiveParams {
  const fixed: Record<string, string> = {};
  for (const { param, node, property } of uses.filter((use) => !use.isMutable))
    fixed[param] ??= `property "${property}" of "${node}" is not mutable while PLAYING`;
  for (const { chain, prefix, own } of listChains(document)) {
    const steps = chain.steps.flatMap((step) =>
      step.kind === "element"
        ? step.when.map((when) => ({ name: prefix + (step.name?.value ?? step.element), when }))
        : [],
    );
    for (const { name, when } of [{ name: chain.name, when: chain.when }, ...steps]) {
      const param = paramOfWhen(when);
      if (param !== null && !own.includes(param)) fixed[param] ??= `\`when:\` of "${name}" depends on it`;
    }
  }
  const declared = document.params.filter((param) => param.live).map(({ name }) => name);
  return {
    live: declared.filter((name) => fixed[name] === undefined),
    fixed: Object.fromEntries(declared.flatMap((name) => (fixed[name] === undefined ? [] : [[name, fixed[name]]]))),
  };
}

interface NamedChain {
  readonly chain: Chain;
  readonly prefix: string;
  /** Parameters of the slot, which shadow those of the graph. */
  readonly own: readonly string[];
}

const listChains = ({ chains, slots }: GraphDocument): readonly NamedChain[] => [
  ...chains.map((chain) => ({ chain, prefix: "", own: [] })),
  ...slots.map(({ chain, params }) => ({ chain, prefix: `${chain.name}/`, own: params.map(({ name }) => name) })),
];
