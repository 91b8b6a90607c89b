/** Which processes have a track report. */
import { TrackedListing, TrackedQuery } from "../../schemas/api/track-reports.ts";
import type { ProcessRecordings } from "../media/recordings/process-recordings.ts";
import type { Signer } from "../media/sign.ts";
import type { Sql } from "../store/client.ts";
import { listTracked, type TrackedRow } from "../store/tracked-processes.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { describeFiles } from "./process-recordings.ts";

interface TrackedNeeds {
  readonly sql: Sql;
  readonly recordings: Pick<ProcessRecordings, "list">;
  readonly signer: Pick<Signer, "sign">;
}

export function trackedProcessEndpoints({ sql, recordings, signer }: TrackedNeeds): readonly AnyEndpoint[] {
  const findVideo = async ({ uuid }: TrackedRow, { hasRecording }: User, publicUrl: string): Promise<string | null> => {
    if (!hasRecording) return null;
    const [first] = describeFiles(await recordings.list(uuid), uuid, signer, publicUrl);
    return first?.download_url ?? null;
  };
  return [
    defineEndpoint({
      method: "GET",
      path: "/tracked_processes",
      tag: "Track reports",
      id: "listTrackedProcesses",
      summary: "Lists your processes that have a track report",
      description:
        "Those whose key had the track logger when they started and whose report was not deleted, with the processed video of keys with process recording. Tracks are kept for `report.retention_days`, also of processes that run.",
      access: "key",
      query: TrackedQuery,
      answers: { 200: { description: "Newest first.", schema: TrackedListing } },
      errors: [],
      async handle({ user, query, publicUrl }) {
        const { rows, nextCursor } = await listTracked(sql, user.uuid, query);
        const listed = [];
        for (const row of rows) listed.push(describe(row, await findVideo(row, user, publicUrl)));
        return { status: 200, body: { tracked_processes: listed, ...(nextCursor && { next_cursor: nextCursor }) } };
      },
    }),
  ];
}

const describe = (row: TrackedRow, videoUrl: string | null) => ({
  ...{ uuid: row.uuid, process_uuid: row.uuid, source_uuid: row.sourceUuid, alias: row.alias },
  started_at: row.startedAt?.toISOString() ?? null,
  finished_at: row.finishedAt?.toISOString() ?? null,
  track_count: row.trackCount,
  enhancement: row.enhancement,
  video_url: videoUrl,
});
