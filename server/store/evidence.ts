/**
 * Evidence of notices: what was requested, its state, and the jobs that cut clips, which are claimed like processes. Rows
 * outlive their notice until the node that has the clip has removed it.
 */
import type { EvidenceSetting, EvidenceState, MissingEvidence } from "../../schemas/api/evidence.ts";
import { firstOf, type Queries, type Sql } from "./client.ts";
import { hasValidKey } from "./users.ts";

/** Of an alert, with all defaults. */
export interface StoredEvidence {
  readonly clip?: Required<Required<EvidenceSetting>["clip"]>;
  readonly snapshot: boolean;
}

/** As part of a notice. */
export interface EvidenceRow {
  readonly state: EvidenceState;
  readonly missing: readonly MissingEvidence[];
  readonly hasClip: boolean;
  readonly hasSnapshot: boolean;
  readonly clipFromMs: number | null;
  readonly clipToMs: number | null;
  readonly clipBytes: number;
}

const ms = (sql: Queries, column: string) => sql`round(extract(epoch from ${sql(column)}) * 1000)`;

const described = (sql: Queries) => sql`
  jsonb_build_object(
    'state', state, 'missing', missing, 'hasClip', before_ms is not null, 'hasSnapshot', has_snapshot,
    'clipFromMs', ${ms(sql, "clip_from")}, 'clipToMs', ${ms(sql, "clip_to")}, 'clipBytes', clip_bytes)`;

/** Of the notice of the query around it. */
export const evidenceOf = (sql: Queries) =>
  sql`(select ${described(sql)} from evidence where evidence.notice_uuid = notices.uuid)`;

export interface NewEvidence {
  readonly noticeUuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly processUuid: string;
  readonly nodeUuid: string;
  readonly happenedAtMs: number;
  readonly positionMs: number | null;
  /** Null: no clip. */
  readonly clip: { readonly beforeMs: number; readonly afterMs: number; readonly hasBoxes: boolean } | null;
  readonly hasSnapshot: boolean;
  readonly snapshot: Buffer | null;
  readonly destinations: readonly string[];
  /** When the clip may be complete. */
  readonly dueAt: Date;
}

export interface EvidenceLimits {
  readonly pending: number;
  readonly bytes: number;
}

const NO_SNAPSHOT: MissingEvidence = { part: "snapshot", reason: "the frame could not be encoded" };

/** In the transaction of the notices. Resolves with the state of each. */
export async function insertEvidence(
  sql: Queries,
  evidence: readonly NewEvidence[],
  limits: EvidenceLimits,
): Promise<ReadonlyMap<string, EvidenceRow>> {
  const states = new Map<string, EvidenceRow>();
  if (evidence.length === 0) return states;
  const users = [...new Set(evidence.map(({ userUuid }) => userUuid))];
  const used = await sql<{ userUuid: string; pending: number; bytes: number }[]>`
    select user_uuid, count(*) filter (where state = 'pending') as pending,
      coalesce(sum(clip_bytes + snapshot_bytes), 0)::bigint as bytes
    from evidence where user_uuid in ${sql(users)} group by user_uuid`;
  const room = new Map(used.map(({ userUuid, pending, bytes }) => [userUuid, { pending, bytes }]));
  for (const each of evidence) {
    const { userUuid, clip, hasSnapshot, snapshot } = each;
    const user = room.get(userUuid) ?? { pending: 0, bytes: 0 };
    const skipped = whySkipped(user, clip !== null, limits);
    const missing =
      skipped !== null
        ? [
            ...(clip === null ? [] : [{ part: "clip" as const, reason: skipped }]),
            ...(hasSnapshot ? [{ part: "snapshot" as const, reason: skipped }] : []),
          ]
        : hasSnapshot && snapshot === null
          ? [NO_SNAPSHOT]
          : [];
    const state: EvidenceState =
      skipped !== null ? "skipped" : clip !== null ? "pending" : missing.length > 0 ? "failed" : "ready";
    const kept = skipped === null ? snapshot : null;
    room.set(userUuid, {
      pending: user.pending + (state === "pending" ? 1 : 0),
      bytes: user.bytes + (kept?.length ?? 0),
    });
    const nothing = { clipFromMs: null, clipToMs: null, clipBytes: 0 };
    states.set(each.noticeUuid, { state, missing, hasClip: clip !== null, hasSnapshot, ...nothing });
    await insertOne(sql, each, { state, missing, snapshot: kept });
  }
  return states;
}

function whySkipped(
  { pending, bytes }: { readonly pending: number; readonly bytes: number },
  hasClip: boolean,
  limits: EvidenceLimits,
): string | null {
  if (bytes >= limits.bytes)
    return `the evidence of this key has reached its limit of ${limits.bytes} bytes; delete notices`;
  if (hasClip && pending >= limits.pending) return `${limits.pending} clips of this key are waiting already`;
  return null;
}

async function insertOne(
  sql: Queries,
  evidence: NewEvidence,
  { state, missing, snapshot }: Pick<EvidenceRow, "state" | "missing"> & { readonly snapshot: Buffer | null },
): Promise<void> {
  const { noticeUuid, userUuid, sourceUuid, processUuid, nodeUuid, happenedAtMs, positionMs, clip, dueAt } = evidence;
  const { hasSnapshot, destinations } = evidence;
  const inserted = await sql`
    insert into evidence (notice_uuid, user_uuid, source_uuid, process_uuid, node_uuid, happened_at, position_ms, before_ms,
      after_ms, has_boxes, has_snapshot, state, missing, snapshot_bytes, destinations, due_at)
    values (${noticeUuid}, ${userUuid}, ${sourceUuid}, ${processUuid}, ${nodeUuid}, ${new Date(happenedAtMs)},
      ${positionMs}, ${clip?.beforeMs ?? null}, ${clip?.afterMs ?? null}, ${clip?.hasBoxes ?? false}, ${hasSnapshot},
      ${state}, ${sql.json(missing as never)}, ${snapshot?.length ?? 0},
      ${sql.json([...destinations])}, ${dueAt})
    on conflict (notice_uuid) do nothing`;
  if (inserted.count > 0 && snapshot !== null)
    await sql`insert into evidence_snapshots (notice_uuid, jpeg) values (${noticeUuid}, ${snapshot}) on conflict do nothing`;
}

/** A claimed job. */
export interface EvidenceJob {
  readonly noticeUuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly processUuid: string;
  readonly happenedAt: Date;
  readonly positionMs: number | null;
  readonly beforeMs: number;
  readonly afterMs: number;
  readonly hasBoxes: boolean;
  readonly hasSnapshot: boolean;
  readonly missing: readonly MissingEvidence[];
  readonly destinations: readonly string[];
  readonly isPlaced: boolean;
  readonly createdAt: Date;
  readonly fence: number;
}

/** Its node has ended. */
const isLost = (sql: Queries) => sql`
  not exists (select from nodes where nodes.uuid = evidence.node_uuid and nodes.lease_until > now())`;

/** Assigns clips, whose files this machine has, to it. */
export async function adoptEvidence(sql: Queries, nodeUuid: string, noticeUuids: readonly string[]): Promise<void> {
  if (noticeUuids.length === 0) return;
  await sql`
    update evidence set node_uuid = ${nodeUuid}
    where notice_uuid in (select value::uuid from jsonb_array_elements_text(${sql.json([...noticeUuids])}))`;
}

/** False: another node has it. */
export async function renewEvidence(
  sql: Queries,
  { noticeUuid, fence }: Claim,
  leaseSeconds: number,
): Promise<boolean> {
  const { count } = await sql`
    update evidence set lease_until = now() + make_interval(secs => ${leaseSeconds})
    where notice_uuid = ${noticeUuid} and fence = ${fence} and state = 'pending'`;
  return count > 0;
}

/** Due ones that this node may have the files of. */
export const claimEvidence = (
  sql: Queries,
  nodeUuid: string,
  { leaseSeconds, most }: { readonly leaseSeconds: number; readonly most: number },
): Promise<readonly EvidenceJob[]> => sql<EvidenceJob[]>`
  update evidence
  set node_uuid = ${nodeUuid}, lease_until = now() + make_interval(secs => ${leaseSeconds}), fence = fence + 1
  where notice_uuid in (
    select notice_uuid from evidence
    where state = 'pending' and not is_orphan and due_at <= now() and coalesce(lease_until < now(), true)
      and (node_uuid = ${nodeUuid} or ${isLost(sql)})
    order by due_at limit ${most}
    for update skip locked)
  returning notice_uuid, user_uuid, source_uuid, process_uuid, happened_at, position_ms, before_ms, after_ms, has_boxes,
    has_snapshot, missing, destinations, is_placed, created_at, fence`;

type Claim = Pick<EvidenceJob, "noticeUuid" | "fence">;

/** It is tried again then; `nodeUuid`: by that node. */
export async function postponeEvidence(
  sql: Queries,
  { noticeUuid, fence }: Claim,
  dueAt: Date,
  nodeUuid: string | null = null,
): Promise<void> {
  await sql`
    update evidence set due_at = ${dueAt}, lease_until = null,
      node_uuid = coalesce(${nodeUuid}::uuid, node_uuid), is_placed = is_placed or ${nodeUuid !== null}
    where notice_uuid = ${noticeUuid} and fence = ${fence} and state = 'pending'`;
}

export interface EvidenceEnd extends Pick<EvidenceRow, "missing" | "state"> {
  readonly clip: { readonly fromMs: number; readonly toMs: number; readonly bytes: number } | null;
}

/** False: another node has it, or its notice was deleted. */
export async function endEvidence(
  sql: Queries,
  { noticeUuid, fence }: Claim,
  { state, missing, clip }: EvidenceEnd,
): Promise<boolean> {
  const { count } = await sql`
    update evidence set state = ${state}, missing = ${sql.json(missing as never)}, lease_until = null, ended_at = now(),
      clip_from = ${clip === null ? null : new Date(clip.fromMs)}, clip_to = ${clip === null ? null : new Date(clip.toMs)},
      clip_bytes = ${clip?.bytes ?? 0}
    where notice_uuid = ${noticeUuid} and fence = ${fence} and state = 'pending'
      and not is_orphan`;
  return count > 0;
}

export interface FoundEvidence extends EvidenceRow {
  readonly userUuid: string;
  readonly nodeUuid: string | null;
  readonly happenedAt: Date;
  readonly dueAt: Date;
  readonly alias: string;
  /** In the bucket; null: on the disk of its node. */
  readonly storedKey: string | null;
}

/** Of a notice that exists, of a user whose key is valid. */
export async function findEvidence(sql: Queries, noticeUuid: string): Promise<FoundEvidence | null> {
  const row = await firstOf(sql<(Omit<FoundEvidence, keyof EvidenceRow> & { readonly described: EvidenceRow })[]>`
    select ${described(sql)} as described, evidence.user_uuid, node_uuid, evidence.happened_at, due_at,
      notices.body ->> 'alias' as alias,
      (select key from files where kind = 'evidence' and owner_uuid = notice_uuid and stored_at is not null
        and removed_at is null limit 1) as stored_key
    from evidence join notices on notices.uuid = notice_uuid join users on users.uuid = evidence.user_uuid
    where notice_uuid = ${noticeUuid} and ${hasValidKey(sql)}`);
  if (row === null) return null;
  const { described: fields, ...rest } = row;
  return { ...fields, ...rest };
}

export async function readSnapshot(sql: Queries, noticeUuid: string): Promise<Buffer | null> {
  const row = await firstOf(sql<{ jpeg: Buffer }[]>`
    select jpeg from evidence_snapshots where notice_uuid = ${noticeUuid}`);
  return row?.jpeg ?? null;
}

/** Rows whose notice is gone, of this node and of nodes that no longer exist. Their files in the bucket go with them. */
export async function removeOrphans(sql: Sql, nodeUuid: string, most: number): Promise<readonly string[]> {
  const rows = await sql<{ noticeUuid: string }[]>`
    with gone as (
      delete from evidence where notice_uuid in (
        select notice_uuid from evidence
        where is_orphan and (node_uuid = ${nodeUuid} or ${isLost(sql)})
        limit ${most})
      returning notice_uuid),
    stored as (
      update files set removed_at = now() from gone
      where kind = 'evidence' and owner_uuid = gone.notice_uuid and removed_at is null)
    select notice_uuid from gone`;
  return rows.map(({ noticeUuid }) => noticeUuid);
}

/** Those of these notices that have evidence. */
export async function findKept(sql: Queries, noticeUuids: readonly string[]): Promise<ReadonlySet<string>> {
  if (noticeUuids.length === 0) return new Set();
  const rows = await sql<{ noticeUuid: string }[]>`
    select notice_uuid from evidence
    where notice_uuid in (select value::uuid from jsonb_array_elements_text(${sql.json([...noticeUuids])}))`;
  return new Set(rows.map(({ noticeUuid }) => noticeUuid));
}
