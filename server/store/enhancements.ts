/** Enhancements of reports: owner, progress, results. Claimed like processes. */
import type { EnhancementStatus } from "../../schemas/api/track-reports.ts";
import type { EnhancedTrack, TrackToEnhance } from "../../schemas/enhancement.ts";
import { ServiceError } from "../service-error.ts";
import { firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { lockUser } from "./users.ts";

export interface EnhancementRow {
  readonly processUuid: string;
  readonly status: EnhancementStatus;
  readonly fault: string | null;
  readonly total: number;
  readonly done: number;
  readonly lastTrackId: number;
  readonly crashes: number;
  readonly nodeUuid: string | null;
  readonly fence: number;
}

/** Writes with an earlier fence are rejected. */
type EnhancementClaim = Pick<EnhancementRow, "processUuid" | "fence">;

interface NewEnhancement {
  readonly processUuid: string;
  readonly userUuid: string;
  readonly nodeUuid: string;
  readonly leaseSeconds: number;
  /** Active processes and enhancements of the user together. */
  readonly limit: number;
}

/** A running one is returned; one that has ended is started again. Rejects with `processes_limit_reached`. */
export async function insertEnhancement(
  sql: Sql,
  { processUuid, userUuid, nodeUuid, leaseSeconds, limit }: NewEnhancement,
): Promise<{ readonly row: EnhancementRow; readonly isNew: boolean }> {
  return sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    const running = await findEnhancement(sql, processUuid);
    if (running?.status === "RUNNING") return { row: running, isNew: false };
    await expectBelowLimit(sql, userUuid, limit);
    const row = await writtenRow(sql<EnhancementRow[]>`
      insert into enhancements (process_uuid, status, total, node_uuid, lease_until)
      select ${processUuid}, 'RUNNING', count(*), ${nodeUuid}, now() + make_interval(secs => ${leaseSeconds})
      from tracks where process_uuid = ${processUuid}
      on conflict (process_uuid) do update set
        status = 'RUNNING', fault = null, total = excluded.total, done = 0, last_track_id = 0, crashes = 0,
        started_at = now(), ended_at = null, node_uuid = excluded.node_uuid, lease_until = excluded.lease_until,
        fence = enhancements.fence + 1
      returning *`);
    return { row, isNew: true };
  });
}

async function expectBelowLimit(sql: Queries, userUuid: string, limit: number): Promise<void> {
  const [row] = await sql<{ processes: number; enhancements: number }[]>`
    select
      (select count(*) from processes where user_uuid = ${userUuid} and state not in ('finished', 'failed')) as processes,
      (select count(*) from enhancements join processes on uuid = process_uuid
        where user_uuid = ${userUuid} and status = 'RUNNING') as enhancements`;
  const { processes = 0, enhancements = 0 } = row ?? {};
  if (processes + enhancements < limit) return;
  throw new ServiceError("processes_limit_reached", {
    detail: `process limit reached for this key (${limit}): ${processes} processes and ${enhancements} enhancements are active; stop one (DELETE /process/{process_uuid}) or wait, and try again`,
  });
}

export const findEnhancement = (sql: Queries, processUuid: string): Promise<EnhancementRow | null> =>
  firstOf(sql<EnhancementRow[]>`select * from enhancements where process_uuid = ${processUuid}`);

/** Claims enhancements without an owner, including those that this machine did not renew in time. */
export async function claimEnhancements(
  sql: Queries,
  nodeUuid: string,
  leaseSeconds: number,
  { isAlone, most }: { readonly isAlone: boolean; readonly most: number },
): Promise<readonly EnhancementRow[]> {
  return sql<EnhancementRow[]>`
    update enhancements
    set node_uuid = ${nodeUuid}, lease_until = now() + make_interval(secs => ${leaseSeconds}), fence = fence + 1
    where process_uuid in (
      select process_uuid from enhancements
      where status = 'RUNNING' and (lease_until is null or lease_until < now()
        or (${isAlone} and node_uuid is distinct from ${nodeUuid}))
      order by started_at limit ${most}
      for update skip locked)
    returning *`;
}

/** Those of these claims that this machine still owns. */
export async function renewEnhancements(
  sql: Queries,
  leaseSeconds: number,
  claims: readonly EnhancementClaim[],
): Promise<readonly EnhancementClaim[]> {
  const given = claims.map(({ processUuid, fence }) => ({ processUuid, fence }));
  return sql<EnhancementClaim[]>`
    update enhancements set lease_until = now() + make_interval(secs => ${leaseSeconds})
    from jsonb_to_recordset(${sql.json(given)}) as claims ("processUuid" uuid, fence bigint)
    where process_uuid = "processUuid" and enhancements.fence = claims.fence and status = 'RUNNING'
    returning process_uuid, enhancements.fence`;
}

/** Lets the next server continue at once. */
export async function releaseEnhancement(sql: Queries, { processUuid, fence }: EnhancementClaim): Promise<void> {
  await sql`
    update enhancements set node_uuid = null, lease_until = null
    where process_uuid = ${processUuid} and fence = ${fence}`;
}

/** By id, above `after`, each with its image. */
export async function readTracksToEnhance(
  sql: Queries,
  processUuid: string,
  after: number,
  limit: number,
): Promise<readonly TrackToEnhance[]> {
  const rows = await sql<{ id: number; className: string; jpeg: Buffer | null }[]>`
    select tracks.track_id as id, class_name, jpeg
    from tracks left join track_patches using (process_uuid, track_id)
    where tracks.process_uuid = ${processUuid} and tracks.track_id > ${after}
    order by tracks.track_id limit ${limit}`;
  return rows.map(({ jpeg, ...row }) => ({ ...row, jpeg: jpeg?.toString("base64") ?? null }));
}

/** Results and progress in one transaction: each track is done once. False: lease lost, or deleted. */
export async function writeEnhanced(
  sql: Sql,
  { processUuid, fence }: EnhancementClaim,
  tracks: readonly EnhancedTrack[],
): Promise<boolean> {
  const lastTrackId = tracks.at(-1)?.id ?? 0;
  return sql.begin(async (sql) => {
    const moved = await sql`
      update enhancements set done = done + ${tracks.length}, last_track_id = ${lastTrackId}, crashes = 0
      where process_uuid = ${processUuid} and fence = ${fence} and status = 'RUNNING' and last_track_id < ${lastTrackId}`;
    if (moved.count === 0) return false;
    await sql`
      update tracks set enhanced_data = data
      from jsonb_to_recordset(${sql.json(tracks.map((track) => ({ ...track })) as never)}) as news (id bigint, data jsonb)
      where process_uuid = ${processUuid} and track_id = id`;
    return true;
  });
}

/** Resolves with the number of crashes since the last finished track; null: lease lost. */
export async function countCrash(sql: Queries, { processUuid, fence }: EnhancementClaim): Promise<number | null> {
  const [row] = await sql<{ crashes: number }[]>`
    update enhancements set crashes = crashes + 1
    where process_uuid = ${processUuid} and fence = ${fence} and status = 'RUNNING'
    returning crashes`;
  return row?.crashes ?? null;
}

/** `fault` null: all tracks are done. */
export async function endEnhancement(
  sql: Queries,
  { processUuid, fence }: EnhancementClaim,
  fault: string | null,
): Promise<void> {
  await sql`
    update enhancements set
      status = ${fault === null ? "FINISHED" : "FAILED"}, fault = ${fault}, ended_at = now(), node_uuid = null,
      lease_until = null, total = case when ${fault === null} then done else total end
    where process_uuid = ${processUuid} and fence = ${fence} and status = 'RUNNING'`;
}
