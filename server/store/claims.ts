/**
 * Who runs which process. A machine holds what it claimed as long as it renews; every claim raises the fence, and what
 * is written with an earlier fence is lost: the writer learns that it does not own the process any more.
 */
import type { ProcessState } from "../processes/processes.ts";
import type { Queries } from "./client.ts";
import type { Desired, LiveProperties, ProcessRow } from "./processes.ts";

export interface Claim {
  readonly uuid: string;
  readonly fence: number;
}

/** What changes while it runs. */
export interface ProcessSnapshot {
  readonly desired: Desired;
  readonly live: LiveProperties;
  readonly state: ProcessState;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly positionNs: number;
  readonly nextTrackId: number;
  readonly restarts: number;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** So many at once; what is left is claimed with the next. */
const MOST_AT_ONCE = 64;

/** Claims what nobody holds. `isAlone`: nobody else can be there, so that whoever held anything is gone. */
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
        and node_uuid is distinct from ${nodeUuid}
        and (node_uuid is null or lease_until is null or lease_until < now() or ${isAlone})
      order by created_at
      limit ${MOST_AT_ONCE}
      for update skip locked)
    returning *`;
}

/** Resolves with the claims that this machine still holds. */
export async function renewClaims(sql: Queries, nodeUuid: string, leaseSeconds: number): Promise<readonly Claim[]> {
  return sql<Claim[]>`
    update processes set lease_until = now() + make_interval(secs => ${leaseSeconds})
    where node_uuid = ${nodeUuid} and state not in ('finished', 'failed')
    returning uuid, fence`;
}

/** False: somebody else owns it now, or it is gone with its user. What has ended lets its outputs go. */
export async function saveSnapshot(sql: Queries, { uuid, fence }: Claim, snapshot: ProcessSnapshot): Promise<boolean> {
  const [row] = await sql<{ saved: number }[]>`
    with saved as (
      update processes set
        desired = ${snapshot.desired}, live = ${sql.json(snapshot.live)}, state = ${snapshot.state}, error_code = ${snapshot.errorCode},
        error_detail = ${snapshot.errorDetail}, position_ns = ${snapshot.positionNs},
        next_track_id = ${snapshot.nextTrackId}, restarts = ${snapshot.restarts}, started_at = ${snapshot.startedAt},
        finished_at = ${snapshot.finishedAt}
      where uuid = ${uuid} and fence = ${fence}
      returning uuid, state),
    freed as (
      delete from process_outputs using saved
      where process_uuid = saved.uuid and saved.state in ('finished', 'failed'))
    select count(*) as saved from saved`;
  return row?.saved === 1;
}

export interface FreeProcesses {
  readonly userUuid: string;
  /** This one only; null: all of the user's. */
  readonly uuid: string | null;
  /** Counts as nobody: what it has claimed and does not run yet. */
  readonly nodeUuid: string;
  /** Not these: they run. */
  readonly held: readonly string[];
}

/** Ends what should run and nobody runs. Resolves with the claims that became of them: who held one before has lost it. */
export async function endFree(sql: Queries, free: FreeProcesses): Promise<readonly Claim[]> {
  const { userUuid, uuid, nodeUuid, held } = free;
  return sql<Claim[]>`
    with ended as (
      update processes
      set desired = 'stopped', state = 'finished', finished_at = now(), fence = fence + 1
      where user_uuid = ${userUuid} and state not in ('finished', 'failed')
        ${uuid === null ? sql`` : sql`and uuid = ${uuid}`}
        -- A start that is under way is neither.
        and started_at is not null
        and (node_uuid is null or node_uuid = ${nodeUuid} or lease_until is null or lease_until < now())
        and uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json([...held])}))
      returning uuid, fence),
    freed as (delete from process_outputs using ended where process_uuid = ended.uuid)
    select uuid, fence from ended order by uuid`;
}

/** So that the next server, or another machine, takes it over at once. */
export async function releaseClaim(sql: Queries, { uuid, fence }: Claim): Promise<void> {
  await sql`
    update processes set node_uuid = null, lease_until = null
    where uuid = ${uuid} and fence = ${fence}`;
}
