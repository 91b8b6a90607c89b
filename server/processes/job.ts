/** What a runner is told to run. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import type { AttachedOutput } from "../store/attachments.ts";
import type { ProcessRow } from "../store/processes.ts";

type Attachment = RunnerJob["attach"][number];

/** The feed is attached under this name, outputs under their uuids. */
export const FEED = "feed";

export interface JobParts {
  readonly row: Pick<ProcessRow, "uuid" | "sourceUrl" | "graph" | "graphText" | "params">;
  readonly sourceUri: string;
  readonly positionNs: number;
  /** When its first data came; null in the run in which it does. A file's first frame counts as taken then. */
  readonly startedAt: Date | null;
  readonly firstTrackId: number;
  readonly outputs: readonly AttachedOutput[];
  readonly hasViewers: boolean;
  readonly pictureSocket: string;
  readonly giveUpSeconds: number;
}

export function makeJob(parts: JobParts): RunnerJob {
  const { uuid, sourceUrl, graph, graphText, params } = parts.row;
  const attached = parts.outputs.flatMap((output) => attachmentOf(output) ?? []);
  return {
    uuid,
    graph,
    graphText,
    params,
    sourceUri: parts.sourceUri,
    sourceLabel: sourceUrl,
    positionNs: String(parts.positionNs),
    ...(parts.startedAt !== null && { epochMs: parts.startedAt.getTime() }),
    firstTrackId: parts.firstTrackId,
    attach: parts.hasViewers ? [...attached, { id: FEED, slot: FEED, params: {} }] : attached,
    pictureSocket: parts.pictureSocket,
    giveUpSeconds: parts.giveUpSeconds,
  };
}

/** The slot has the name of the type. Null for data: it flows anyway. */
export function attachmentOf(output: AttachedOutput): Attachment | null {
  const params = slotParams(output);
  return params === null ? null : { id: output.outputUuid, slot: output.type, params };
}

function slotParams({ type, url, settings, username }: AttachedOutput): JsonRecord | null {
  if (type === "rtmp") return { url: url ?? "", resolution: settings };
  if (type === "rtsp") return { path: `${username}/${(url ?? "").replace(/^rtsp:\/\//, "")}`, resolution: settings };
  return null;
}
