/** Faults that lie in the words of the command line and not in the graph: said of those words. */
import { ExpandFault } from "../elements/element.ts";
import { expandSource } from "../elements/source/expand.ts";
import { describeSource } from "../elements/source/uri.ts";
import type { Fault } from "../graphs/compiler/fault.ts";
import { maskCredentials } from "../schemas/mask.ts";
import type { Registry } from "../schemas/registry.ts";
import { UsageFault } from "./command.ts";

/** Throws `UsageFault` for a SOURCE that no graph could be started on. */
export function expectSource(uri: string, registry: Registry): void {
  try {
    expandSource(describeSource(uri), {}, registry);
  } catch (error) {
    if (!(error instanceof ExpandFault)) throw error;
    // Some name it themselves.
    const subject = error.message.startsWith('"') ? "SOURCE" : `SOURCE ${maskCredentials(uri)}:`;
    throw new UsageFault(`${subject} ${error.message}`, { cause: error });
  }
}

/** Throws `UsageFault` for those parameters that the command line gives wrong. */
export function expectParams(faults: readonly Fault[], given: Readonly<Record<string, string>>): void {
  const wrong = faults.flatMap((fault) => {
    if (fault.code !== "bad_param" && fault.code !== "unknown_param") return [];
    const name = Object.keys(given).find((candidate) => fault.message.includes(`"${candidate}"`));
    return name === undefined ? [] : [`${name}=${given[name]}: ${fault.message}${hints(fault)}`];
  });
  if (wrong.length > 0) throw new UsageFault(wrong.join("\n"));
}

const hints = ({ expected, suggestion }: Fault): string =>
  [
    expected === undefined ? "" : `; expected ${expected}`,
    suggestion === undefined ? "" : `; did you mean "${suggestion}"?`,
  ].join("");
