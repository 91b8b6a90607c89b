/** Track reports: read in pages of bounded size, written once a track has ended, deleted. */
import type { EnhancementStatus } from "../../schemas/api/track-reports.ts";
import { beginEntry, type EntryPatch, type EntryTrack, type KnownSpot } from "../../tracks/report-entry.ts";
import { firstOf, type Queries, type Sql } from "./client.ts";
import { byCreation, fetchPage, filterBy, type Page, type PageRequest, type TimeRange } from "./page.ts";
import { byEnd, type ProcessRow } from "./processes.ts";
import { matchTracks, type SummaryRow, summaryColumns, type TrackFilter } from "./tracks.ts";

export interface ReportPlace {
  readonly processUuid: string;
  /** Excludes tracks not seen since, and earlier points; null: excludes none. */
  readonly since: Date | null;
}

/** Which tracks of a report, and whether from the highest id down. */
export interface ReportSelection extends ReportPlace {
  readonly filter?: TrackFilter;
  readonly isDescending?: boolean;
}

export interface ReportRow {
  readonly trackId: number;
  /** As from `beginEntry`; null: the track is live, or started before the window. */
  readonly report: string | null;
  /** In JSON. */
  readonly enhanced: string | null;
  readonly patch: EntryPatch | null;
}

/** Approximate size of a page. The first track is included whatever its size. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Memory for a point of a track that is not written yet. */
const BYTES_A_POINT = 100;
const MAX_POINTS_COUNTED = 100_000;
const NEVER = new Date(0);

/** By id, beyond `after`: up to `limit`, fewer if they are large. Empty at the end. */
export async function readReportPage(
  sql: Queries,
  { processUuid, since, filter = {}, isDescending = false }: ReportSelection,
  { after, limit, withPatches }: { readonly after: number; readonly limit: number; readonly withPatches: boolean },
): Promise<readonly ReportRow[]> {
  const from = since ?? NEVER;
  const sorted = isDescending ? sql`order by track_id desc` : sql`order by track_id`;
  const patch = withPatches
    ? sql`left join track_patches patches using (process_uuid, track_id)`
    : sql`cross join (select null::bytea as jpeg, null::timestamptz as seen_at, null::double precision as confidence) patches`;
  const rows = await sql<(Omit<ReportRow, "patch"> & { jpeg: string | null; timeMs: number; confidence: number })[]>`
    select track_id, report, enhanced, encode(jpeg, 'base64') as jpeg, time_ms, confidence
    from (
      select *, sum(bytes) over (${sorted}) - bytes as bytes_before
      from (
        select track_id, case when is_written then report end as report, enhanced_data::text as enhanced, jpeg,
          round(extract(epoch from patches.seen_at) * 1000)::bigint as time_ms, patches.confidence,
          coalesce(octet_length(jpeg), 0) + case when is_written then octet_length(report)
            else ${BYTES_A_POINT}::bigint * least(sightings, ${MAX_POINTS_COUNTED}) end as bytes
        from tracks ${patch}
        cross join lateral (select not is_live and report is not null and first_seen >= ${from} as is_written) state
        where process_uuid = ${processUuid} and track_id ${isDescending ? sql`<` : sql`>`} ${after}
          and last_seen >= ${from} ${matchTracks(sql, filter)}
        ${sorted} limit ${limit}
      ) page
    ) cut
    where bytes_before < ${MAX_PAGE_BYTES} ${sorted}`;
  return rows.map(({ jpeg, timeMs, confidence, ...row }) => ({
    ...row,
    // PostgreSQL inserts line breaks, as in MIME.
    patch: jpeg === null ? null : { jpeg: jpeg.replaceAll("\n", ""), timeMs, confidence },
  }));
}

interface EntryRow extends SummaryRow {
  readonly processUuid: string;
  readonly firstSpot: KnownSpot | null;
  readonly lastSpot: KnownSpot | null;
}

const entryColumns = (sql: Queries) => sql`${summaryColumns(sql)}, process_uuid, first_spot, last_spot`;

/** These tracks, with their points in the window. */
export async function readEntries(
  sql: Queries,
  { processUuid, since }: ReportPlace,
  trackIds: readonly number[],
): Promise<readonly EntryTrack[]> {
  if (trackIds.length === 0) return [];
  const rows = await sql<EntryRow[]>`
    select ${entryColumns(sql)} from tracks where process_uuid = ${processUuid} and track_id in (
      select value::bigint from jsonb_array_elements_text(${sql.json([...trackIds])}))`;
  return addPoints(sql, rows, since);
}

async function addPoints(sql: Queries, rows: readonly EntryRow[], since: Date | null): Promise<readonly EntryTrack[]> {
  const places = rows.map(({ processUuid, id }) => ({ processUuid, id }));
  const found = await sql<{ processUuid: string; trackId: number; timeMs: number; confidence: number }[]>`
    select process_uuid, track_id, round(extract(epoch from seen_at) * 1000)::bigint as time_ms, confidence
    from jsonb_to_recordset(${sql.json(places)}) as wanted ("processUuid" uuid, id bigint)
    join track_points on (process_uuid, track_id) = ("processUuid", id)
    where seen_at >= ${since ?? NEVER}
    order by process_uuid, track_id, index`;
  const points = new Map<string, EntryTrack["points"][number][]>(
    rows.map((row) => [keyOf(row.processUuid, row.id), []]),
  );
  for (const { processUuid, trackId, ...point } of found) points.get(keyOf(processUuid, trackId))?.push(point);
  return rows.map(({ processUuid, best, mean, least, ...row }) => ({
    ...row,
    confidence: { best, mean, least },
    points: points.get(keyOf(processUuid, row.id)) ?? [],
  }));
}

const keyOf = (processUuid: string, id: number): string => `${processUuid}/${id}`;

/** Tracks and points per call. */
const MAX_WRITTEN = 500;
const MAX_WRITTEN_POINTS = 50_000;

/**
 * Writes reports of some tracks that have ended, of any node; those that another one is writing are left to it. Resolves
 * with 0 when all are written.
 */
export const writeEndedReports = (sql: Sql): Promise<number> =>
  sql.begin((transaction): Promise<number> => writeSomeReports(transaction));

async function writeSomeReports(sql: Queries): Promise<number> {
  const found = await sql<EntryRow[]>`
    select ${entryColumns(sql)} from tracks where not is_live and report is null limit ${MAX_WRITTEN}
    for update skip locked`;
  let points = 0;
  const some = found.filter(({ sightings }, i) => {
    points += Math.min(sightings, MAX_POINTS_COUNTED);
    return i === 0 || points <= MAX_WRITTEN_POINTS;
  });
  if (some.length === 0) return 0;
  const entries = await addPoints(sql, some, null);
  const written = entries.map((entry, i) => ({
    ...{ processUuid: some[i]?.processUuid ?? "", id: entry.id, sightings: entry.sightings },
    report: beginEntry(entry),
  }));
  // Only if the track was not updated meanwhile.
  await sql`
    update tracks set report = written.report
    from jsonb_to_recordset(${sql.json(written)}) as written ("processUuid" uuid, id bigint, sightings integer, report text)
    where process_uuid = "processUuid" and track_id = id and tracks.sightings = written.sightings and not is_live`;
  const isLast = found.length < MAX_WRITTEN && some.length === found.length;
  return isLast ? 0 : some.length;
}

/** Deletes all tracks of a process, `most` at a time to keep transactions short. */
export async function deleteReport(
  sql: Sql,
  processUuid: string,
  { isEnded, most }: { readonly isEnded: boolean; readonly most: number },
): Promise<void> {
  // The report of a running process continues with what is seen from now on.
  if (isEnded) await sql`update processes set report_deleted_at = now() where uuid = ${processUuid}`;
  await sql`delete from enhancements where process_uuid = ${processUuid}`;
  for (const table of ["track_patches", "tracks", "track_points"])
    for (let some = most; some >= most; )
      some = (
        await sql`
          delete from ${sql(table)} where ctid = any(array(
            select ctid from ${sql(table)} where process_uuid = ${processUuid} limit ${most} for update))`
      ).count;
}

export interface ReportedProcess
  extends Pick<
    ProcessRow,
    "uuid" | "state" | "sourceUrl" | "hasTrackLogger" | "createdAt" | "startedAt" | "finishedAt"
  > {
  readonly reportDeletedAt: Date | null;
}

/** Null if the user has no such process. */
export const findReported = (sql: Queries, userUuid: string, uuid: string): Promise<ReportedProcess | null> =>
  firstOf(sql<ReportedProcess[]>`
    select uuid, state, source_url, has_track_logger, report_deleted_at, created_at, started_at, finished_at
    from processes where uuid = ${uuid} and user_uuid = ${userUuid}`);

export interface TrackedRow extends Pick<ProcessRow, "uuid" | "sourceUuid" | "createdAt" | "startedAt" | "finishedAt"> {
  /** Null: the source was deleted. */
  readonly alias: string | null;
  readonly trackCount: number;
  readonly enhancement: EnhancementStatus | null;
}

export interface TrackedRequest extends PageRequest {
  readonly sourceUuid?: string | undefined;
  readonly created?: TimeRange | undefined;
}

const creation = byCreation<TrackedRow>("processes");
const ORDER = { ...creation, keys: { ...creation.keys, finished_at: byEnd } };

/** Processes with a report. */
export const listTracked = (sql: Queries, userUuid: string, request: TrackedRequest): Promise<Page<TrackedRow>> =>
  fetchPage<TrackedRow>(
    sql,
    request,
    ORDER,
    (end, order) => sql<TrackedRow[]>`
      select processes.uuid, source_uuid, sources.alias, processes.created_at, started_at, finished_at,
        (select count(*)::integer from tracks where process_uuid = processes.uuid) as track_count,
        (select status from enhancements where process_uuid = processes.uuid) as enhancement
      from (
        select uuid, user_uuid, source_uuid, created_at, started_at, finished_at from processes
        where user_uuid = ${userUuid} and has_track_logger and report_deleted_at is null
          ${filterBy(sql, { source_uuid: request.sourceUuid, "processes.created_at": request.created })} ${end}
      ) processes
      left join sources on sources.uuid = source_uuid
      ${order}`,
  );
