/** What a runner is told to run. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import type { ProcessRow } from "../store/processes.ts";
import type { PictureSlot } from "./feed.ts";

export interface JobParts {
  readonly row: Pick<ProcessRow, "uuid" | "sourceUrl" | "graph" | "graphText">;
  /** As they are now. */
  readonly params: JsonRecord;
  readonly sourceUri: string;
  readonly sourceAddresses: readonly string[];
  readonly positionNs: number;
  /** When its first data came; null in the run in which it does. A file's first frame counts as taken then. */
  readonly startedAt: Date | null;
  readonly firstTrackId: number;
  /** What holds from the first frame on. */
  readonly live: LiveValues;
  /** Besides what viewers need. */
  readonly attached: RunnerJob["attach"];
  /** What viewers watch; attached under its own name, as outputs are under their uuids. */
  readonly watched: readonly PictureSlot[];
  readonly giveUpSeconds: number;
}

export function makeJob(parts: JobParts): RunnerJob {
  const { uuid, sourceUrl, graph, graphText } = parts.row;
  const { attached, params } = parts;
  return {
    uuid,
    graph,
    graphText,
    params,
    sourceUri: parts.sourceUri,
    ...(parts.sourceAddresses.length > 0 && { sourceAddresses: [...parts.sourceAddresses] }),
    sourceLabel: sourceUrl,
    positionNs: String(parts.positionNs),
    ...(parts.startedAt !== null && { epochMs: parts.startedAt.getTime() }),
    firstTrackId: parts.firstTrackId,
    ...(Object.keys(parts.live).length > 0 && { live: parts.live }),
    attach: [...attached, ...parts.watched.map((slot) => ({ id: slot, slot, params: {} }))],
    giveUpSeconds: parts.giveUpSeconds,
  };
}
