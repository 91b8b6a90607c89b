/** Chains as written → chains with parameters put in and what `when:` keeps out left out. */
import type { Json } from "../../schemas/json.ts";
import type { Chain, JoinStep, UnreadableStep } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import type { Located } from "./located.ts";
import type { ParamValues } from "./params.ts";
import type { Position } from "./plan.ts";
import { Substitution } from "./substitute.ts";
import { isKept } from "./when.ts";

export interface PreparedProperty {
  readonly name: string;
  readonly at: Position;
  readonly written: Located;
  readonly value: Json;
  /** Depends on a parameter without a value: not to be checked. */
  readonly unknown: boolean;
  /** Text of a launch line, to be read as the property's type. */
  readonly untyped: boolean;
  readonly params: readonly string[];
}

export interface PreparedStep {
  readonly kind: "element";
  readonly at: Position;
  readonly element: string;
  readonly name: string;
  readonly properties: readonly PreparedProperty[];
}

export type PreparedItem = PreparedStep | JoinStep | UnreadableStep;

export interface PreparedChain {
  readonly name: string;
  readonly at: Position;
  readonly items: readonly PreparedItem[];
}

export interface Prepared {
  readonly chains: readonly PreparedChain[];
  /** Names of nodes that `when:` keeps out. */
  readonly leftOut: ReadonlySet<string>;
}

export function prepare(chains: readonly Chain[], params: ParamValues, faults: FaultList): Prepared {
  const substitution = new Substitution(params, faults);
  const leftOut = new Set<string>();
  const prepared = chains.flatMap((chain): readonly PreparedChain[] => {
    const chainKept = isKept(chain.when, params, faults);
    const items = chain.steps.flatMap((step): readonly PreparedItem[] => {
      if (step.kind !== "element") return [step];
      const name = step.name?.value ?? step.element;
      // Asked in any case: a fault in what is kept out today is a fault tomorrow.
      const stepKept = isKept(step.when, params, faults);
      const properties = step.properties.map((entry) => {
        const { value, unknown, params: used } = substitution.apply(entry.value);
        const untyped = entry.value.kind === "scalar" && entry.value.untyped === true;
        return { name: entry.key, at: entry.at, written: entry.value, value, unknown, untyped, params: used };
      });
      if (chainKept && stepKept) return [{ kind: "element", at: step.at, element: step.element, name, properties }];
      leftOut.add(name);
      return [];
    });
    const isEmpty =
      items.every((item) => item.kind === "from" || item.kind === "to") && chain.steps.length > items.length;
    const joinsBoth = items.length === 2;
    return chainKept && (!isEmpty || joinsBoth) ? [{ name: chain.name, at: chain.at, items }] : [];
  });
  return { chains: prepared, leftOut };
}
