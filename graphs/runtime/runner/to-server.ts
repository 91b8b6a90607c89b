/** Events and failures of a graph as messages to the server. Pure. */
import { maskCredentials } from "../../../schemas/mask.ts";
import type { RunnerFailure, RunnerJob, RunnerMessage } from "../../../schemas/runner.ts";
import type { GraphPlan } from "../../compiler/plan.ts";
import type { GraphEvent, GraphFailure } from "../events.ts";
import { explainFailure } from "../explain-failure.ts";

export function toMessages(event: GraphEvent): readonly RunnerMessage[] {
  if (event.type === "log") {
    const { level, node, message, fields } = event;
    const details = fields === undefined ? "" : ` ${JSON.stringify(fields)}`;
    return [{ type: "log", level, node, message: message + details }];
  }
  // Statistics are part of the progress.
  if (event.type !== "element" || event.event.type === "stats") return [];
  const { type, state, reason } = event.event;
  const message: RunnerMessage = { type: "element", node: event.node, event: event.event };
  if (type !== "source") return [message];
  if (state === "live") return [{ type: "reconnecting", reconnecting: false, detail: "" }, message];
  if (state !== "lost" && state !== "waiting") return [message];
  return [{ type: "reconnecting", reconnecting: true, detail: String(reason ?? "") }, message];
}

/** A failure of these elements is a failure of the source. */
const SOURCE_ELEMENTS = new Set(["source", "decode"]);

export async function describeFailure(failure: GraphFailure, plan: GraphPlan, job: RunnerJob): Promise<RunnerFailure> {
  const nodes = [plan.main, ...plan.branches].flatMap(({ nodes }) => nodes);
  const element = nodes.find(({ author }) => author === failure.node)?.element ?? "";
  const explained = await explainFailure(failure, plan);
  const isSource = SOURCE_ELEMENTS.has(element) || explained !== maskCredentials(failure.message);
  const { node, trace } = failure;
  return {
    kind: isSource ? "source" : "pipeline",
    detail: hideSource(explained, job),
    ...(node !== null && node !== "" && { node }),
    ...(trace.length > 0 && { trace: [...trace] }),
  };
}

/** Hides the path of a file and the credentials of a stream, which is shown by its label. */
export const hideSource = (text: string, { sourceUri, sourceLabel }: RunnerJob): string =>
  isPath(sourceUri)
    ? maskCredentials(text.replaceAll(sourceUri, "the video"))
    : maskCredentials(text).replaceAll(maskCredentials(sourceUri), sourceLabel ?? maskCredentials(sourceUri));

export const isPath = (uri: string): boolean => uri.startsWith("/");
