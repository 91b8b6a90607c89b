/** Processes: their rows, and which machine runs them. */
import type { PROCESS_STATES } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import { ServiceError } from "../service-error.ts";
import { firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { fetchPage, type Page, type PageRequest } from "./page.ts";
import type { TelemetrySetting } from "./sources.ts";
import { lockUser } from "./users.ts";

export type ProcessState = (typeof PROCESS_STATES)[number];

type Desired = "running" | "paused" | "stopped";

export type LiveProperties = LiveValues;

/** Why a runner crashed. */
interface StoredCrash {
  readonly at: string;
  /** The node of the graph that failed; null if unknown. */
  readonly node: string | null;
  readonly detail: string;
  /** Where in the sources an element threw, innermost first. For operators only. */
  readonly trace: readonly string[];
}

export interface ProcessRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  /** Without credentials. */
  readonly sourceUrl: string;
  readonly graph: string;
  readonly graphText: string | null;
  readonly params: JsonRecord;
  /** Properties by node, set while it was running. */
  readonly live: LiveProperties;
  readonly hasTrackLogger: boolean;
  /** Telemetry settings at its start; null: none, or it has ended. */
  readonly telemetryCfg: TelemetrySetting | null;
  readonly desired: Desired;
  readonly state: ProcessState;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly positionNs: number;
  readonly nextTrackId: number;
  readonly restarts: number;
  readonly lastError: StoredCrash | null;
  /** Null for a live source. */
  readonly framesLost: number | null;
  readonly endsAt: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly nodeUuid: string | null;
  readonly fence: number;
}

/** With its attachments. */
export interface ProcessView extends ProcessRow {
  readonly outputs: readonly string[];
  readonly alerts: readonly string[];
}

export interface NewProcess
  extends Pick<
    ProcessRow,
    | ("uuid" | "userUuid" | "sourceUuid" | "sourceUrl" | "graph" | "graphText" | "params")
    | ("hasTrackLogger" | "telemetryCfg" | "endsAt" | "nextTrackId")
  > {
  readonly nodeUuid: string;
  readonly leaseSeconds: number;
  /** Registered alerts apply to it. */
  readonly takesAlerts: boolean;
}

/** Claimed at once, so that no other machine starts it. Rejects with `processes_limit_reached` or `source_not_found`. */
export async function insertProcess(sql: Sql, process: NewProcess, limit: number): Promise<ProcessRow> {
  const { userUuid, sourceUuid, leaseSeconds, params, takesAlerts, ...row } = process;
  return sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    await expectSource(sql, userUuid, sourceUuid);
    const [{ active = 0 } = {}] = await sql<{ active: number }[]>`
      select count(*) as active from processes where user_uuid = ${userUuid} and state not in ('finished', 'failed')`;
    if (active >= limit)
      throw new ServiceError("processes_limit_reached", {
        detail: `process limit reached for this key (${limit}); stop one (DELETE /process/{process_uuid}) and try again`,
      });
    const inserted = await writtenRow(sql<ProcessRow[]>`
      insert into processes
        (uuid, user_uuid, source_uuid, source_url, graph, graph_text, params, has_track_logger, telemetry_cfg,
         takes_alerts, desired, state, next_track_id, ends_at, node_uuid, lease_until, fence)
      values
        (${row.uuid}, ${userUuid}, ${sourceUuid}, ${row.sourceUrl}, ${row.graph}, ${row.graphText}, ${sql.json(params)},
         ${row.hasTrackLogger}, ${sql.typed.sealed(row.telemetryCfg)},
         ${takesAlerts}, 'running', 'starting', ${row.nextTrackId}, ${row.endsAt}, ${row.nodeUuid},
         now() + make_interval(secs => ${leaseSeconds}), 1)
      returning *`);
    // It starts with all registered alerts of its user, as they are now.
    if (takesAlerts)
      await sql`
        insert into process_alerts (process_uuid, alert_uuid, configuration, output)
        select ${row.uuid}, uuid, configuration, output from alerts
        where user_uuid = ${userUuid} and process_uuid is null`;
    return inserted;
  });
}

/** After a failed start: no client has received its uuid. */
export async function deleteProcess(sql: Queries, uuid: string, fence: number): Promise<void> {
  await sql`delete from processes where uuid = ${uuid} and fence = ${fence}`;
}

export const findProcess = (sql: Queries, userUuid: string, uuid: string): Promise<ProcessView | null> =>
  firstOf(sql<ProcessView[]>`select ${viewOf(sql)} from processes where uuid = ${uuid} and user_uuid = ${userUuid}`);

/** Newest first. */
export const listProcesses = (
  sql: Queries,
  userUuid: string,
  request: PageRequest & { readonly withEnded: boolean },
): Promise<Page<ProcessView>> =>
  fetchPage(
    sql,
    request,
    "processes.created_at",
    (end) => sql<ProcessView[]>`
      select ${viewOf(sql)} from processes where user_uuid = ${userUuid}
      ${request.withEnded ? sql`` : sql`and state not in ('finished', 'failed')`} ${end}`,
  );

const viewOf = (sql: Queries) => sql`
  processes.*,
  to_jsonb(array(
    select output_uuid from process_outputs where process_uuid = processes.uuid
    order by attached_at, output_uuid)) as outputs,
  to_jsonb(array(
    select alerts.uuid from process_alerts join alerts on alerts.uuid = process_alerts.alert_uuid
    where process_alerts.process_uuid = processes.uuid and alerts.status = 'active'
      and processes.state not in ('finished', 'failed')
    order by alerts.created_at, alerts.uuid)) as alerts`;

async function expectSource(sql: Queries, userUuid: string, sourceUuid: string): Promise<void> {
  const found = await sql`
    select from sources where uuid = ${sourceUuid} and user_uuid = ${userUuid} for key share`;
  if (found.length === 0)
    throw new ServiceError("source_not_found", {
      detail: `there is no source ${sourceUuid}; GET /sources lists yours`,
    });
}

/** Rejects with `process_not_found`. Locks the process until the end of the transaction, so that it cannot end meanwhile. */
export async function expectActiveProcess(sql: Queries, userUuid: string, processUuid: string): Promise<void> {
  const [process] = await sql<{ state: string }[]>`
    select state from processes where uuid = ${processUuid} and user_uuid = ${userUuid} for key share`;
  if (process !== undefined && process.state !== "finished" && process.state !== "failed") return;
  const found = process === undefined ? `no process ${processUuid}` : `the process ${processUuid} has ended`;
  throw new ServiceError("process_not_found", { detail: `${found}; GET /processes lists the active ones` });
}

/** The users of these processes. Unknown ones, and texts that are not uuids, are left out. */
export async function findProcessOwners(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (uuids.length === 0) return new Map();
  const rows = await sql<{ uuid: string; userUuid: string }[]>`
    select uuid, user_uuid from processes where uuid::text in ${sql([...uuids])}`;
  return new Map(rows.map(({ uuid, userUuid }) => [uuid, userUuid]));
}

/**
 * A machine owns a process while it renews its lease. Every claim increments the fence; writes with an earlier fence are
 * rejected, so that a machine learns that it lost the process.
 */
export type Claim = Pick<ProcessRow, "uuid" | "fence">;
export type RenewedClaim = Pick<ProcessRow, "uuid" | "fence" | "desired">;

/** What changes while it is running. */
export type ProcessSnapshot = Pick<
  ProcessRow,
  | ("desired" | "live" | "params" | "state" | "errorCode" | "errorDetail" | "positionNs" | "nextTrackId")
  | ("restarts" | "lastError" | "framesLost" | "startedAt" | "finishedAt")
>;

/** Per call. */
const MAX_CLAIMED = 64;

/** Claims processes without an owner, including those that this machine did not renew in time. `isAlone`: there are no other machines. */
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
      limit ${MAX_CLAIMED}
      for update skip locked)
    returning *`;
}

/** Those of these claims that this machine still owns, with the desired state, which other machines may have changed. */
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

/** False: lease lost, or deleted with its user. An end detaches its outputs. A desired state `stopped` is never overwritten. */
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

interface UnheldProcesses {
  readonly userUuid: string;
  /** Only this one; null: all of the user. */
  readonly uuid: string | null;
  /** Its own claims count as not running. */
  readonly nodeUuid: string;
  /** These are running there. */
  readonly held: readonly string[];
}

export interface UnheldClaim extends Claim {
  /** It was not running and has ended. Otherwise its owner stops it. */
  readonly isEnded: boolean;
}

/** Ends processes that no machine runs, and sets the desired state of the others to `stopped`. */
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
        -- Not a start in progress, nor one whose client has gone.
        and (started_at is not null or not ${isFree})
        and uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json([...held])}))
      returning uuid, fence, state = 'finished' as is_ended),
    freed as (delete from process_outputs using stopped where process_uuid = stopped.uuid and stopped.is_ended)
    select uuid, fence, is_ended from stopped order by uuid`;
}

/** Lets the next server, or another machine, take it over at once. */
export async function releaseClaim(sql: Queries, { uuid, fence }: Claim): Promise<void> {
  await sql`
    update processes set node_uuid = null, lease_until = null
    where uuid = ${uuid} and fence = ${fence}`;
}
