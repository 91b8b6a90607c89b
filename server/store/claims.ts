/**
 * Who runs which process. A machine holds what it claimed as long as it renews; every claim raises the fence, and what
 * is written with an earlier fence is lost: the writer learns that it does not own the process any more.
 */
import type { JsonRecord } from "../../schemas/json.ts";
import type { ProcessState } from "../processes/processes.ts";
import type { Queries } from "./client.ts";
import type { Desired, LiveProperties, ProcessRow, StoredCrash } from "./processes.ts";

export interface Claim {
  readonly uuid: string;
  readonly fence: number;
}

/** What changes while it runs. */
export interface ProcessSnapshot {
  readonly desired: Desired;
  readonly live: LiveProperties;
  readonly params: JsonRecord;
  readonly state: ProcessState;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly positionNs: number;
  readonly nextTrackId: number;
  readonly restarts: number;
  readonly lastError: StoredCrash | null;
  readonly framesLost: number | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** So many at once; what is left is claimed with the next. */
const MOST_AT_ONCE = 64;

/**
 * Claims what nobody holds, be it what this machine itself did not renew in time. `isAlone`: nobody else can be there, so
 * that whoever held anything is gone.
 */
export async function claimFree(
  sql: Queries,
  nodeUuid: string,
  leaseSeconds: number,
  isAlone: boolean,
): Promise<readonly ProcessRow[]> {
  return sql<ProcessRow[]>`
    update processes
    set node_uuid = ${nodeUuid}, lease_until = now() + make_interval(secs => ${leaseSeconds}), fence = fence + 1
    where uuid in (
      select uuid from processes
      where state not in ('finished', 'failed')
        and (lease_until < now()
          or (node_uuid is distinct from ${nodeUuid} and (node_uuid is null or lease_until is null or ${isAlone})))
      order by created_at
      limit ${MOST_AT_ONCE}
      for update skip locked)
    returning *`;
}

export interface RenewedClaim extends Claim {
  readonly desired: Desired;
}

/** Of these claims, those that are still this machine's: with what is wished, which others may have written down. */
export async function renewClaims(
  sql: Queries,
  nodeUuid: string,
  leaseSeconds: number,
  claims: readonly Claim[],
): Promise<readonly RenewedClaim[]> {
  const given = claims.map(({ uuid, fence }) => ({ uuid, fence }));
  return sql<RenewedClaim[]>`
    update processes set lease_until = now() + make_interval(secs => ${leaseSeconds})
    from jsonb_to_recordset(${sql.json(given)}) as claims (uuid uuid, fence bigint)
    where processes.uuid = claims.uuid and processes.fence = claims.fence
      and node_uuid = ${nodeUuid} and state not in ('finished', 'failed')
    returning processes.uuid, processes.fence, desired`;
}

/**
 * False: somebody else owns it now, or it is gone with its user. What has ended lets its outputs go. A wish that it stop
 * stays, whoever wrote it down.
 */
export async function saveSnapshot(sql: Queries, { uuid, fence }: Claim, snapshot: ProcessSnapshot): Promise<boolean> {
  const [row] = await sql<{ saved: number }[]>`
    with saved as (
      update processes set
        desired = case desired when 'stopped' then desired else ${snapshot.desired} end,
        live = ${sql.json(snapshot.live)}, params = ${sql.json(snapshot.params)}, state = ${snapshot.state}, error_code = ${snapshot.errorCode},
        error_detail = ${snapshot.errorDetail}, position_ns = ${snapshot.positionNs},
        next_track_id = ${snapshot.nextTrackId}, restarts = ${snapshot.restarts}, frames_lost = ${snapshot.framesLost},
        last_error = ${snapshot.lastError === null ? null : sql.json({ ...snapshot.lastError })}, started_at = ${snapshot.startedAt},
        finished_at = ${snapshot.finishedAt},
        telemetry_cfg = case when ${snapshot.state} in ('finished', 'failed') then null else telemetry_cfg end
      where uuid = ${uuid} and fence = ${fence}
      returning uuid, state),
    freed as (
      delete from process_outputs using saved
      where process_uuid = saved.uuid and saved.state in ('finished', 'failed'))
    select count(*) as saved from saved`;
  return row?.saved === 1;
}

export interface UnheldProcesses {
  readonly userUuid: string;
  /** This one only; null: all of the user's. */
  readonly uuid: string | null;
  /** Counts as nobody: what it has claimed and does not run yet. */
  readonly nodeUuid: string;
  /** Not these: they run there. */
  readonly held: readonly string[];
}

export interface UnheldClaim extends Claim {
  /** Nobody ran it: it has ended, and who held it before has lost it. Else its holder is to stop it. */
  readonly isEnded: boolean;
}

/** Ends what should run and nobody runs, and writes down for whoever runs the others that they are to stop. */
export async function stopUnheld(sql: Queries, unheld: UnheldProcesses): Promise<readonly UnheldClaim[]> {
  const { userUuid, uuid, nodeUuid, held } = unheld;
  const isFree = sql`(node_uuid is null or node_uuid = ${nodeUuid} or lease_until is null or lease_until < now())`;
  return sql<UnheldClaim[]>`
    with stopped as (
      update processes set
        desired = 'stopped',
        state = case when ${isFree} then 'finished' else state end,
        finished_at = case when ${isFree} then now() end,
        fence = case when ${isFree} then fence + 1 else fence end
      where user_uuid = ${userUuid} and state not in ('finished', 'failed')
        ${uuid === null ? sql`` : sql`and uuid = ${uuid}`}
        -- A start that nobody answers any more, or that is just being written down here, is neither.
        and (started_at is not null or not ${isFree})
        and uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json([...held])}))
      returning uuid, fence, state = 'finished' as is_ended),
    freed as (delete from process_outputs using stopped where process_uuid = stopped.uuid and stopped.is_ended)
    select uuid, fence, is_ended from stopped order by uuid`;
}

/** So that the next server, or another machine, takes it over at once. */
export async function releaseClaim(sql: Queries, { uuid, fence }: Claim): Promise<void> {
  await sql`
    update processes set node_uuid = null, lease_until = null
    where uuid = ${uuid} and fence = ${fence}`;
}
