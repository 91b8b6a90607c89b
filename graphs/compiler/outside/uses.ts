/** Every property that a graph sets, in chains and slots alike, with the parameters that its value is made of. */
import type { ElementStep, GraphDocument, Step } from "../document.ts";
import type { Located, LocatedEntry } from "../located.ts";

export interface PropertyUse {
  readonly step: ElementStep;
  readonly entry: LocatedEntry;
  readonly params: readonly string[];
  /** The parameter that the value is, if it is one and nothing else. */
  readonly whole: string | null;
}

const WHOLE = /^\$([A-Za-z][A-Za-z0-9_-]*)$/;
const PART = /\$\$|\$\{([^$}]*)\}/g;

export function listSteps(document: GraphDocument): readonly ElementStep[] {
  const chains = [...document.chains, ...document.slots.map((slot) => slot.chain)];
  return chains.flatMap((chain) => chain.steps.filter(isElement));
}

export const isElement = (step: Step): step is ElementStep => step.kind === "element";

export const listUses = (document: GraphDocument): readonly PropertyUse[] =>
  listSteps(document).flatMap((step) =>
    step.properties.map((entry) => {
      const { value } = entry;
      const whole = value.kind === "scalar" && typeof value.value === "string" ? WHOLE.exec(value.value)?.[1] : null;
      return { step, entry, params: [...new Set(paramsIn(value))], whole: whole ?? null };
    }),
  );

function paramsIn(value: Located): readonly string[] {
  if (value.kind === "list") return value.items.flatMap(paramsIn);
  if (value.kind === "map") return value.entries.flatMap((entry) => paramsIn(entry.value));
  if (typeof value.value !== "string") return [];
  const whole = WHOLE.exec(value.value)?.[1];
  if (whole !== undefined) return [whole];
  return [...value.value.matchAll(PART)].flatMap(([, name]) => (name === undefined ? [] : [name]));
}
