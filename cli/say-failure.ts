/** Why a graph failed, for whoever started it in the foreground: with where in the sources an element threw. */
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import type { GraphFailure } from "../graphs/runtime/events.ts";
import { explainFailure } from "../graphs/runtime/explain-failure.ts";

export async function sayFailure(failure: GraphFailure, plan: GraphPlan): Promise<string> {
  const message = await explainFailure(failure, plan);
  return failure.isRefusal ? message : withTrace(message, failure.trace);
}

export const withTrace = (message: string, trace: readonly string[]): string =>
  [message, ...trace.map((frame) => `    ${frame}`)].join("\n");
