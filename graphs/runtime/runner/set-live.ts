/** Other values for live properties while the graph runs: all of them, or none. */
import type { JsonRecord } from "../../../schemas/json.ts";
import type { Compiled } from "../../compiler/compile.ts";
import type { Fault } from "../../compiler/fault.ts";
import type { RunningGraph } from "../running-graph.ts";
import type { LiveValues } from "./compile-job.ts";
import { Refusal } from "./requests.ts";

export function mergeLive(before: LiveValues, given: LiveValues): LiveValues {
  const merged: Record<string, JsonRecord> = { ...before };
  for (const [node, values] of Object.entries(given)) merged[node] = { ...merged[node], ...values };
  return merged;
}

/** `next` and `before` are the graph with and without the new values. Throws `Refusal`; nothing has changed then. */
export async function setLive(
  graph: Pick<RunningGraph, "preview" | "apply">,
  next: Compiled,
  before: Compiled,
): Promise<void> {
  const reasons = graph.preview(next).flatMap((change) => {
    if (change.label === "live") return [];
    return change.label === "relaunch" ? [change.reason] : ["a part of the graph would come or go"];
  });
  if (reasons.length > 0) throw new Refusal("invalid", `this cannot be changed while it runs: ${reasons.join("; ")}`);
  try {
    await graph.apply(next);
  } catch (error) {
    await graph.apply(before).catch(() => {}); // what was changed before one refused
    throw new Refusal("invalid", (error as Error).message);
  }
}

/** Places in a text that nobody wrote are of no help. */
export const sayFaults = (faults: readonly Fault[]): string =>
  faults
    .map(({ message, expected, suggestion }) => {
      if (suggestion !== undefined) return `${message}; did you mean "${suggestion}"?`;
      return expected === undefined ? message : `${message}; expected ${expected}`;
    })
    .join("\n");
