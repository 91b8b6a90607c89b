/** Processes, as far as their track reports are concerned. */
import type { EnhancementStatus } from "../../schemas/api/track-reports.ts";
import type { ProcessState } from "../processes/processes.ts";
import type { Queries } from "./client.ts";
import { cutPage, type Page, type PageRequest, readPage } from "./page.ts";

export interface ReportedProcess {
  readonly uuid: string;
  readonly state: ProcessState;
  readonly sourceUrl: string;
  readonly hasTrackLogger: boolean;
  readonly reportDeletedAt: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** Null: this user has no such process. */
export async function findReported(sql: Queries, userUuid: string, uuid: string): Promise<ReportedProcess | null> {
  const [found] = await sql<ReportedProcess[]>`
    select uuid, state, source_url, has_track_logger, report_deleted_at, created_at, started_at, finished_at
    from processes where uuid = ${uuid} and user_uuid = ${userUuid}`;
  return found ?? null;
}

export interface TrackedRow {
  readonly uuid: string;
  readonly sourceUuid: string;
  /** Null: the source is gone. */
  readonly alias: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly trackCount: number;
  readonly enhancement: EnhancementStatus | null;
}

/** Those that have a report, newest first. */
export async function listTracked(sql: Queries, userUuid: string, request: PageRequest): Promise<Page<TrackedRow>> {
  const { place, fetch } = readPage(request);
  const fetched = await sql<TrackedRow[]>`
    select processes.uuid, source_uuid, sources.alias, processes.created_at, started_at, finished_at,
      (select count(*)::integer from tracks where process_uuid = processes.uuid) as track_count,
      (select status from enhancements where process_uuid = processes.uuid) as enhancement
    from (
      select uuid, user_uuid, source_uuid, created_at, started_at, finished_at from processes
      where user_uuid = ${userUuid} and has_track_logger and report_deleted_at is null
        ${place === null ? sql`` : sql`and (created_at, uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
      order by created_at desc, uuid desc limit ${fetch}
    ) processes
    left join sources on sources.uuid = source_uuid
    order by processes.created_at desc, processes.uuid desc`;
  return cutPage(fetched, request, ({ createdAt, uuid }) => ({ createdAt: createdAt.toISOString(), uuid }));
}
