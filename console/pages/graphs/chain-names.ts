/** Chains that are attached to a running graph, as people know them. Pure. */
import type { Output } from "../../../client/client.ts";

export interface ChainName {
  readonly title: string;
  /** The name of one of its steps, without that of the chain. */
  nameStep(step: string): string;
}

/** Attached ones are `<slot>:<id>`, and those of outputs have the output's uuid as the id. */
export function nameChain(chain: string, outputs: readonly Pick<Output, "uuid" | "alias">[]): ChainName {
  const [slot = chain, id] = chain.split(":");
  if (id === undefined) return { title: chain, nameStep: (step) => step };
  const output = outputs.find(({ uuid }) => uuid === id);
  const prefix = `${chain}/`;
  return {
    title: output === undefined ? slot : `${slot} output ${output.alias}`,
    nameStep: (step) => (step.startsWith(prefix) ? step.slice(prefix.length) : step),
  };
}
