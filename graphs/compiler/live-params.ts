/** Parameters declared `live`: those that can change while PLAYING, and why the others cannot. */
import type { Chain, GraphDocument } from "./document.ts";
import { FaultList } from "./fault-list.ts";
import { type ElementKnowledge, isMutable } from "./mutable.ts";
import type { ParamValues } from "./params.ts";
import { Substitution } from "./substitute.ts";
import { paramOfWhen } from "./when.ts";

export interface LiveParams {
  readonly live: readonly string[];
  /** Declared live, but something that takes the value is fixed while PLAYING: what, by parameter. */
  readonly fixed: Readonly<Record<string, string>>;
}

export function findLiveParams(document: GraphDocument, params: ParamValues, knowledge: ElementKnowledge): LiveParams {
  // Only names are asked for here; what is wrong with the values has been reported.
  const substitution = new Substitution(params, new FaultList(null));
  const fixed: Record<string, string> = {};
  const visit = (chain: Chain, prefix: string, shadowed: readonly string[]): void => {
    const note = (param: string | null, reason: string): void => {
      if (param !== null && !shadowed.includes(param)) fixed[param] ??= reason;
    };
    note(paramOfWhen(chain.when), `\`when:\` of "${chain.name}" depends on it`);
    for (const step of chain.steps) {
      if (step.kind !== "element") continue;
      const { element, when, properties } = step;
      const name = prefix + (step.name?.value ?? element);
      const kind = knowledge.elements.has(element) ? "typescript" : "native";
      note(paramOfWhen(when), `\`when:\` of "${name}" depends on it`);
      for (const { key, value } of properties) {
        if (isMutable({ kind, factory: element }, key, knowledge)) continue;
        for (const param of substitution.apply(value).params)
          note(param, `"${name}" cannot change its property "${key}" while it runs`);
      }
    }
  };
  for (const chain of document.chains) visit(chain, "", []);
  for (const { chain, params: own } of document.slots)
    visit(
      chain,
      `${chain.name}/`,
      own.map(({ name }) => name),
    );
  const declared = document.params.filter((param) => param.live).map(({ name }) => name);
  return {
    live: declared.filter((name) => fixed[name] === undefined),
    fixed: Object.fromEntries(declared.flatMap((name) => (fixed[name] === undefined ? [] : [[name, fixed[name]]]))),
  };
}
