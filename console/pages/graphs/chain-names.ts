/** Display names of the chains of a running graph. Pure. */
import type { Output } from "../../../client/client.ts";

interface ChainName {
  readonly title: string;
  /** Name of a step, without the prefix of its chain. */
  nameStep(step: string): string;
}

/** Attached chains are `<slot>:<id>`; the id of an output's chain is the output's uuid. */
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
