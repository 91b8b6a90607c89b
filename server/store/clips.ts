/** Rendered clips: what was asked for, who renders it, and what became of it. */
import type { ClipState } from "../../schemas/api/clips.ts";
import { ServiceError } from "../service-error.ts";
import { type Fragment, firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { byCreation, fetchPage, filterBy, type Page, type PageRequest, type TimeRange } from "./page.ts";
import { lockUser } from "./users.ts";

export interface ClipRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  readonly processUuid: string | null;
  readonly isFile: boolean;
  readonly fromMs: number;
  readonly toMs: number;
  readonly baseMs: number;
  readonly state: ClipState;
  readonly progress: number;
  readonly error: string | null;
  readonly crashes: number;
  readonly sizeBytes: number | null;
  readonly nodeUuid: string | null;
  readonly fence: number;
  readonly createdAt: Date;
}

export type NewClipRow = Pick<
  ClipRow,
  "uuid" | "userUuid" | "sourceUuid" | "alias" | "processUuid" | "isFile" | "fromMs" | "toMs" | "baseMs"
>;
export type ClipClaim = Pick<ClipRow, "uuid" | "fence">;

const columns = (sql: Queries): Fragment => sql`
  uuid, user_uuid, source_uuid, alias, process_uuid, is_file, from_ms, to_ms, base_ms, state, progress, error, crashes,
  size_bytes, node_uuid, fence, created_at`;

interface ClipLimits {
  /** Queued or being rendered. */
  readonly active: number;
  readonly total: number;
}

/** Rejects with `clips_limit_reached`. `isShared`: an equal one that has not failed is returned. */
export async function insertClip(sql: Sql, clip: NewClipRow, limits: ClipLimits, isShared: boolean): Promise<ClipRow> {
  const { uuid, userUuid, sourceUuid, alias, processUuid, isFile, fromMs, toMs, baseMs } = clip;
  return sql.begin(async (transaction) => {
    await lockUser(transaction, userUuid);
    const equal = isShared ? await findEqual(transaction, clip) : null;
    if (equal !== null) return equal;
    const [{ active = 0, total = 0 } = {}] = await transaction<{ active: number; total: number }[]>`
      select count(*) filter (where state in ('queued', 'rendering')) as active, count(*) as total
      from clips where user_uuid = ${userUuid}`;
    if (active >= limits.active || total >= limits.total)
      throw new ServiceError("clips_limit_reached", {
        detail:
          active >= limits.active
            ? `${active} clips of this key are queued or being rendered (limit ${limits.active}); wait for one, or cancel it (DELETE /clip/{clip_uuid})`
            : `this key has ${total} clips (limit ${limits.total}); delete one first (DELETE /clip/{clip_uuid})`,
      });
    return writtenRow(transaction<ClipRow[]>`
      insert into clips (uuid, user_uuid, source_uuid, alias, process_uuid, is_file, from_ms, to_ms, base_ms, created_at)
      values (${uuid}, ${userUuid}, ${sourceUuid}, ${alias}, ${processUuid}, ${isFile}, ${fromMs}, ${toMs}, ${baseMs},
        clock_timestamp())
      returning ${columns(transaction)}`);
  });
}

const findEqual = (sql: Queries, { userUuid, sourceUuid, processUuid, isFile, fromMs, toMs }: NewClipRow) =>
  firstOf(sql<ClipRow[]>`
    select ${columns(sql)} from clips
    where user_uuid = ${userUuid} and source_uuid = ${sourceUuid} and process_uuid is not distinct from ${processUuid}
      and is_file = ${isFile} and from_ms = ${fromMs} and to_ms = ${toMs} and state <> 'failed'
    order by created_at desc limit 1`);

interface ClipsRequest extends PageRequest {
  readonly sourceUuid?: string | undefined;
  readonly state?: ClipState | undefined;
  readonly created: TimeRange;
}

export const listClips = (sql: Sql, userUuid: string, request: ClipsRequest): Promise<Page<ClipRow>> =>
  fetchPage(sql, request, byCreation<ClipRow>("clips"), (end) => {
    const filters = { source_uuid: request.sourceUuid, state: request.state, "clips.created_at": request.created };
    return sql<ClipRow[]>`
      select ${columns(sql)} from clips where user_uuid = ${userUuid} ${filterBy(sql, filters)} ${end}`;
  });

/** `userUuid` null: of any user, for signed URLs. Rejects with `clip_not_found`. */
export async function findClip(sql: Queries, userUuid: string | null, uuid: string): Promise<ClipRow> {
  const row = await firstOf(sql<ClipRow[]>`
    select ${columns(sql)} from clips
    where uuid = ${uuid} ${userUuid === null ? sql`` : sql`and user_uuid = ${userUuid}`}`);
  if (row === null) throw notFound(uuid);
  return row;
}

export async function deleteClip(sql: Queries, userUuid: string, uuid: string): Promise<void> {
  const { count } = await sql`delete from clips where user_uuid = ${userUuid} and uuid = ${uuid}`;
  if (count === 0) throw notFound(uuid);
}

const notFound = (uuid: string): ServiceError =>
  new ServiceError("clip_not_found", { detail: `there is no clip ${uuid}; GET /clips lists yours` });

interface ClaimOptions {
  readonly isAlone: boolean;
  /** Only clips of up to this length; null: any. */
  readonly maxMs: number | null;
}

/** The oldest of the user with the fewest being rendered, or one whose renderer was lost. Null: there is none. */
export const claimClip = (
  sql: Queries,
  nodeUuid: string,
  leaseSeconds: number,
  { isAlone, maxMs }: ClaimOptions,
): Promise<ClipRow | null> =>
  firstOf(sql<ClipRow[]>`
  update clips set
    state = 'rendering', node_uuid = ${nodeUuid}, fence = fence + 1, progress = 0,
    crashes = crashes + case when state = 'rendering' then 1 else 0 end,
    lease_until = now() + make_interval(secs => ${leaseSeconds})
  where uuid = (
    select uuid from clips as waiting
    where state in ('queued', 'rendering')
      and (state = 'queued' or lease_until < now() or (${isAlone} and node_uuid is distinct from ${nodeUuid}))
      and (wanted_node is null or wanted_node = ${nodeUuid} or wanted_node not in (select uuid from nodes))
      ${maxMs === null ? sql`` : sql`and to_ms - from_ms <= ${maxMs}`}
    order by (select count(*) from clips as others where others.user_uuid = waiting.user_uuid and state = 'rendering'),
      created_at
    limit 1 for update skip locked)
  returning ${columns(sql)}`);

/** Those of these claims that this machine still owns. */
export const renewClips = (
  sql: Queries,
  leaseSeconds: number,
  jobs: readonly (ClipClaim & { readonly progress: number })[],
): Promise<readonly ClipClaim[]> => sql<ClipClaim[]>`
  update clips set lease_until = now() + make_interval(secs => ${leaseSeconds}), progress = claims.progress
  from jsonb_to_recordset(${sql.json(jobs.map(({ uuid, fence, progress }) => ({ uuid, fence, progress })))})
    as claims (uuid uuid, fence bigint, progress real)
  where clips.uuid = claims.uuid and clips.fence = claims.fence and state = 'rendering'
  returning clips.uuid, clips.fence`;

/** It is rendered by the next server, or by the node that has its recordings. */
export async function requeueClip(sql: Queries, { uuid, fence }: ClipClaim, wantedNode: string | null): Promise<void> {
  await sql`
    update clips set state = 'queued', lease_until = null, wanted_node = ${wantedNode}
    where uuid = ${uuid} and fence = ${fence} and state = 'rendering'`;
}

/** False: it was deleted, or the lease was lost. */
export async function endClip(
  sql: Queries,
  { uuid, fence }: ClipClaim,
  end: { readonly sizeBytes: number } | { readonly error: string },
): Promise<boolean> {
  const isReady = "sizeBytes" in end;
  const { count } = await sql`
    update clips set
      state = ${isReady ? "ready" : "failed"}, progress = ${isReady ? 1 : sql`progress`},
      size_bytes = ${isReady ? end.sizeBytes : null}, error = ${isReady ? null : end.error}, lease_until = null,
      ended_at = now()
    where uuid = ${uuid} and fence = ${fence} and state = 'rendering'`;
  return count > 0;
}

/** Any node: files are removed by the node that has them. */
export async function removeOldClips(sql: Queries, before: Date): Promise<number> {
  const { count } = await sql`delete from clips where state in ('ready', 'failed') and ended_at < ${before}`;
  return count;
}

/** Those of these clips that exist. */
export async function findKnownClips(sql: Queries, uuids: readonly string[]): Promise<ReadonlySet<string>> {
  if (uuids.length === 0) return new Set();
  const rows = await sql<{ uuid: string }[]>`select uuid from clips where uuid in ${sql([...uuids])}`;
  return new Set(rows.map(({ uuid }) => uuid));
}

/** Of this node, ready, and not in the bucket: their files are on its disk. */
export async function listLocalClips(sql: Queries, nodeUuid: string): Promise<readonly string[]> {
  const rows = await sql<{ uuid: string }[]>`
    select uuid from clips where state = 'ready' and node_uuid = ${nodeUuid}
      and not exists (select from files where kind = 'clip' and owner_uuid = clips.uuid and removed_at is null)`;
  return rows.map(({ uuid }) => uuid);
}

export async function forgetClips(sql: Queries, uuids: readonly string[]): Promise<void> {
  if (uuids.length > 0) await sql`delete from clips where uuid in ${sql([...uuids])}`;
}

export interface DrawnProcess {
  readonly uuid: string;
  readonly startedAt: Date;
}

/** The newest process of this source that ran at this time; of a file, the newest that ran. Null: there is none. */
export const findDrawnProcess = (
  sql: Queries,
  { userUuid, sourceUuid, isFile, fromMs, toMs }: Omit<NewClipRow, "uuid" | "alias" | "processUuid" | "baseMs">,
  processUuid: string | null,
): Promise<DrawnProcess | null> =>
  firstOf(sql<DrawnProcess[]>`
    select uuid, started_at from processes
    where user_uuid = ${userUuid} and source_uuid = ${sourceUuid} and started_at is not null
      ${processUuid === null ? sql`` : sql`and uuid = ${processUuid}`}
      ${isFile || processUuid !== null ? sql`` : sql`and started_at < ${new Date(toMs)} and (finished_at is null or finished_at > ${new Date(fromMs)})`}
    order by created_at desc limit 1`);
