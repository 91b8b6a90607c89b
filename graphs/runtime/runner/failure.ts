/** Why a job failed, for the server. */
import { maskCredentials } from "../../../schemas/mask.ts";
import type { RunnerFailure, RunnerJob } from "../../../schemas/runner.ts";
import type { GraphPlan } from "../../compiler/plan.ts";
import type { GraphFailure } from "../events.ts";
import { explainFailure } from "../explain-failure.ts";

/** What brings in video. If it breaks, so did what came in. */
const AT_SOURCE = new Set(["source", "decode"]);

export async function describeFailure(failure: GraphFailure, plan: GraphPlan, job: RunnerJob): Promise<RunnerFailure> {
  const nodes = [plan.main, ...plan.branches].flatMap(({ nodes }) => nodes);
  const element = nodes.find(({ author }) => author === failure.node)?.element ?? "";
  const explained = await explainFailure(failure, plan);
  const isSource = AT_SOURCE.has(element) || explained !== maskCredentials(failure.message);
  const { node, trace } = failure;
  return {
    kind: isSource ? "source" : "pipeline",
    detail: hideSource(explained, job),
    ...(node !== null && node !== "" && { node }),
    ...(trace.length > 0 && { trace: [...trace] }),
  };
}

/** Where a video lies on the server is nobody's business, and its password neither. A stream goes by its own name. */
export const hideSource = (text: string, { sourceUri, sourceLabel }: RunnerJob): string =>
  isPath(sourceUri)
    ? maskCredentials(text.replaceAll(sourceUri, "the video"))
    : maskCredentials(text).replaceAll(maskCredentials(sourceUri), sourceLabel ?? maskCredentials(sourceUri));

export const isPath = (uri: string): boolean => uri.startsWith("/");
