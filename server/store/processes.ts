/** Processes: their rows, and which machine runs them. */
import type { PROCESS_STATES } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import { ServiceError } from "../service-error.ts";
import { firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { isUnowned } from "./nodes.ts";
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
  /** Reserved for it on its node. */
  readonly cores: number;
  readonly memoryBytes: number;
  /** It runs only on nodes with these labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Nodes that cannot run it. */
  readonly declinedBy: readonly string[];
  /** Since when no node has had room for it. */
  readonly waitingSince: Date | null;
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
    | ("hasTrackLogger" | "telemetryCfg" | "endsAt" | "nextTrackId" | "cores" | "memoryBytes" | "labels")
  > {
  readonly nodeUuid: string;
  /** Registered alerts apply to it. */
  readonly takesAlerts: boolean;
}

/**
 * Claimed at once, so that no other machine starts it. Rejects with `processes_limit_reached`, `source_not_found`, or
 * `capacity_exhausted` when its node has no room.
 */
export async function insertProcess(sql: Sql, process: NewProcess, limit: number): Promise<ProcessRow> {
  const { userUuid, sourceUuid, params, takesAlerts, ...row } = process;
  return sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    await expectSource(sql, userUuid, sourceUuid);
    const [{ active = 0 } = {}] = await sql<{ active: number }[]>`
      select count(*) as active from processes where user_uuid = ${userUuid} and state not in ('finished', 'failed')`;
    if (active >= limit)
      throw new ServiceError("processes_limit_reached", {
        detail: `process limit reached for this key (${limit}); stop one (DELETE /process/{process_uuid}) and try again`,
      });
    if (!hasRoomFor(await lockRoom(sql, row.nodeUuid), row)) throw capacityExhausted();
    const inserted = await writtenRow(sql<ProcessRow[]>`
      insert into processes
        (uuid, user_uuid, source_uuid, source_url, graph, graph_text, params, has_track_logger, telemetry_cfg,
         takes_alerts, desired, state, next_track_id, ends_at, node_uuid, fence, cores, memory_bytes, labels)
      values
        (${row.uuid}, ${userUuid}, ${sourceUuid}, ${row.sourceUrl}, ${row.graph}, ${row.graphText}, ${sql.json(params)},
         ${row.hasTrackLogger}, ${sql.typed.sealed(row.telemetryCfg)},
         ${takesAlerts}, 'running', 'starting', ${row.nextTrackId}, ${row.endsAt}, ${row.nodeUuid}, 1,
         ${row.cores}, ${row.memoryBytes}, ${sql.json(row.labels)})
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

export interface ProcessOwner {
  readonly nodeUuid: string;
  readonly fence: number;
}

/** The nodes that own these processes, which have not ended; others are left out. */
export async function findOwners(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, ProcessOwner>> {
  const rows = await sql<(ProcessOwner & { uuid: string })[]>`
    select uuid, node_uuid, fence from processes
    where uuid in ${sql([...uuids])} and node_uuid is not null and state not in ('finished', 'failed')`;
  return new Map(rows.map(({ uuid, nodeUuid, fence }) => [uuid, { nodeUuid, fence }]));
}

/** Of a process of which nothing is known. */
const USUAL_COST = { cores: 1, memoryBytes: 512 * 2 ** 20 };
/** The last runs that count. */
const COUNTED_RUNS = 20;

/**
 * What a process is likely to use: what earlier runs of the same graph with the same model have used (95 % quantile), on the
 * same source where there were any, as the cost depends on its resolution and frame rate.
 */
export async function estimateCost(
  sql: Queries,
  { graph, params, sourceUuid }: Pick<ProcessRow, "graph" | "params" | "sourceUuid">,
): Promise<Reserved> {
  const row = await firstOf(sql<{ cores: number | null; memoryBytes: number | null }[]>`
    with runs as (
      select used_cores, used_bytes, source_uuid = ${sourceUuid} as is_same from processes
      where graph = ${graph} and used_cores is not null
        and params -> 'model' is not distinct from ${sql.json(params.model ?? null)}::jsonb
      order by is_same desc, created_at desc limit ${COUNTED_RUNS}),
    counted as (select * from runs where is_same or not exists (select from runs where is_same))
    select percentile_disc(0.95) within group (order by used_cores) as cores,
      percentile_disc(0.95) within group (order by used_bytes) as memory_bytes
    from counted`);
  return { cores: row?.cores ?? USUAL_COST.cores, memoryBytes: row?.memoryBytes ?? USUAL_COST.memoryBytes };
}

/** What a node can still take. `Infinity`: not limited. */
export interface Room {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

type Reserved = Pick<ProcessRow, "cores" | "memoryBytes">;

const NO_ROOM: Room = { cores: 0, memoryBytes: 0, processes: 0 };
const UNLIMITED = { cores: null, memoryBytes: null, processes: null };

/**
 * Locks the node until the end of the transaction, so that starts and claims at the same time do not exceed its capacity
 * together. A node that drains has no room.
 */
async function lockRoom(sql: Queries, nodeUuid: string): Promise<Room> {
  const [node] = await sql<(Record<keyof Room, number | null> & { isDraining: boolean })[]>`
    select cores, memory_bytes, max_processes as processes, drains_until is not null as is_draining
    from nodes where uuid = ${nodeUuid} for no key update`;
  if (node?.isDraining === true) return NO_ROOM;
  const { cores, memoryBytes, processes } = node ?? UNLIMITED;
  const left = (limit: number | null, used: number): number =>
    limit === null ? Number.POSITIVE_INFINITY : limit - used;
  if (cores === null && memoryBytes === null && processes === null)
    return { cores: left(null, 0), memoryBytes: left(null, 0), processes: left(null, 0) };
  const [used = NO_ROOM] = await sql<Room[]>`
    select coalesce(sum(cores), 0)::double precision as cores, coalesce(sum(memory_bytes), 0)::bigint as memory_bytes,
      count(*) as processes
    from processes where node_uuid = ${nodeUuid} and state not in ('finished', 'failed')`;
  return {
    cores: left(cores, used.cores),
    memoryBytes: left(memoryBytes, used.memoryBytes),
    processes: left(processes, used.processes),
  };
}

/** Cores are stored with single precision. */
const ROUNDING = 1e-3;

const hasRoomFor = (room: Room, { cores, memoryBytes }: Reserved): boolean =>
  room.processes >= 1 && room.cores + ROUNDING >= cores && room.memoryBytes >= memoryBytes;

const takeFrom = (room: Room, { cores, memoryBytes }: Reserved): Room => ({
  cores: room.cores - cores,
  memoryBytes: room.memoryBytes - memoryBytes,
  processes: room.processes - 1,
});

export const capacityExhausted = (): ServiceError =>
  new ServiceError("capacity_exhausted", {
    detail: "no node has room for another process; stop one, add a node, or try again later",
    retryAfterSeconds: 10,
  });

/**
 * A machine owns a process while it renews its lease. Every claim increments the fence; writes with an earlier fence are
 * rejected, so that a machine learns that it lost the process.
 */
export type Claim = Pick<ProcessRow, "uuid" | "fence">;

/** What changes while it is running. */
export type ProcessSnapshot = Pick<
  ProcessRow,
  | ("desired" | "live" | "params" | "state" | "errorCode" | "errorDetail" | "positionNs" | "nextTrackId")
  | ("restarts" | "lastError" | "framesLost" | "startedAt" | "finishedAt")
>;

interface Claimer {
  readonly nodeUuid: string;
  /** There are no other machines. */
  readonly isAlone: boolean;
  /** Also processes of machines whose lease has ended. */
  readonly canTakeOver: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Those that it runs, or is about to. */
  readonly held: readonly string[];
  /** Others had time to claim their part: it takes one more than its own. */
  readonly isPatient: boolean;
  /** Only this one, which another machine hands over. */
  readonly only?: string;
}

/** Per call. */
const MAX_CLAIMED = 64;

/**
 * Claims processes without an owner, oldest first: as many as this machine has room for, up to the average number of
 * processes a machine, so that those of a lost one are spread over the others. What no machine has room for waits.
 */
export async function claimFree(sql: Sql, claimer: Claimer): Promise<readonly ProcessRow[]> {
  const { nodeUuid, isAlone, canTakeOver, labels, held, isPatient, only = null } = claimer;
  const isFree = sql`
    state not in ('finished', 'failed') and not declined_by ? ${nodeUuid} and ${sql.json(labels)} @> labels
    and case
      -- Given up by this machine. Without \`started_at\`: being started here.
      when processes.node_uuid = ${nodeUuid} then started_at is not null
        and uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json([...held])}))
      when ${isAlone} or processes.node_uuid is null then true
      else ${canTakeOver} and ${isUnowned(sql)} end
    ${only === null ? sql`` : sql`and uuid = ${only}`}`;
  return sql.begin(async (sql): Promise<readonly ProcessRow[]> => {
    let room = await lockRoom(sql, nodeUuid);
    const [{ active = 0, nodes = 1 } = {}] = await sql<{ active: number; nodes: number }[]>`
      select (select count(*) from processes where state not in ('finished', 'failed')) as active,
        (select count(*) from nodes where lease_until > now() and drains_until is null) as nodes`;
    const part = Math.max(isPatient ? 1 : 0, Math.ceil(active / Math.max(1, nodes)) - held.length);
    const share = isAlone || only !== null ? MAX_CLAIMED : Math.min(MAX_CLAIMED, part);
    const found = await sql<(Reserved & { uuid: string })[]>`
      select uuid, cores, memory_bytes from processes where ${isFree}
      order by created_at limit ${share} for update skip locked`;
    const chosen: string[] = [];
    const waiting: string[] = [];
    for (const process of found)
      if (hasRoomFor(room, process)) {
        room = takeFrom(room, process);
        chosen.push(process.uuid);
      } else waiting.push(process.uuid);
    if (waiting.length > 0)
      await sql`update processes set waiting_since = coalesce(waiting_since, now()) where uuid in ${sql(waiting)}`;
    if (chosen.length === 0) return [];
    return sql<ProcessRow[]>`
      update processes set node_uuid = ${nodeUuid}, fence = fence + 1, waiting_since = null
      where uuid in ${sql(chosen)} returning *`;
  });
}

/**
 * This machine cannot run it: it lacks its file or its graph. Another one claims it. False: every live machine has
 * declined it, or it is not this machine's any longer.
 */
export async function declineProcess(sql: Queries, { uuid, fence }: Claim, nodeUuid: string): Promise<boolean> {
  const { count } = await sql`
    update processes set node_uuid = null, declined_by = declined_by || to_jsonb(${nodeUuid}::text)
    where uuid = ${uuid} and fence = ${fence}
      and exists (
        select from nodes where lease_until > now() and nodes.uuid <> ${nodeUuid} and not processes.declined_by ? nodes.uuid::text)`;
  return count > 0;
}

/** Processes that no machine has room for, or whose labels no live machine has. */
export async function countWaiting(sql: Queries): Promise<number> {
  const row = await firstOf(sql<{ waiting: number }[]>`
    select count(*) as waiting from processes
    where state not in ('finished', 'failed') and (waiting_since is not null or ${isUnowned(sql)} and not exists (
      select from nodes where lease_until > now() and nodes.labels @> processes.labels))`);
  return row?.waiting ?? 0;
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
        telemetry_cfg = case when ${snapshot.state} in ('finished', 'failed') then null else telemetry_cfg end,
        declined_by = '[]', waiting_since = null
      where uuid = ${uuid} and fence = ${fence}
      returning uuid, state),
    freed as (
      delete from process_outputs using saved
      where process_uuid = saved.uuid and saved.state in ('finished', 'failed'))
    select count(*) as saved from saved`;
  return row?.saved === 1;
}

/** What changes all the time while it runs. */
export interface ProcessProgress
  extends Claim,
    Pick<ProcessRow, "positionNs" | "nextTrackId" | "framesLost" | "restarts"> {
  /** What it uses; null: not measured yet. */
  readonly usedCores: number | null;
  readonly usedBytes: number | null;
  /** For listings of other machines; null where there are none. */
  readonly view: JsonRecord | null;
}

/** Of all processes of a machine in one statement. Resolves with those that the machine still owns. */
export async function saveProgress(sql: Queries, entries: readonly ProcessProgress[]): Promise<ReadonlySet<string>> {
  if (entries.length === 0) return new Set();
  const rows = await sql<{ uuid: string }[]>`
    with entries as (
      select * from jsonb_to_recordset(${sql.json(entries.map((entry) => ({ ...entry })))}) as entries (
        uuid uuid, fence bigint, "positionNs" bigint, "nextTrackId" bigint, "framesLost" bigint, restarts integer,
        "usedCores" real, "usedBytes" bigint, view jsonb)),
    saved as (
      update processes set
        position_ns = entries."positionNs", next_track_id = greatest(next_track_id, entries."nextTrackId"),
        frames_lost = entries."framesLost", restarts = entries.restarts,
        used_cores = coalesce(entries."usedCores", used_cores), used_bytes = coalesce(entries."usedBytes", used_bytes)
      from entries
      where processes.uuid = entries.uuid and processes.fence = entries.fence and state not in ('finished', 'failed')
      returning processes.uuid),
    views as (
      insert into process_views (process_uuid, fence, view)
      select entries.uuid, entries.fence, entries.view from entries join saved using (uuid)
      where entries.view is not null
      on conflict (process_uuid) do update set fence = excluded.fence, view = excluded.view, updated_at = now())
    select uuid from saved`;
  return new Set(rows.map(({ uuid }) => uuid));
}

export interface StoredView {
  readonly view: JsonRecord;
  /** Its owner is lost, and no other machine has resumed it yet. */
  readonly isLost: boolean;
}

/** As their owners have last shown them, by uuid. */
export async function readViews(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, StoredView>> {
  if (uuids.length === 0) return new Map();
  const rows = await sql<(StoredView & { uuid: string })[]>`
    select process_uuid as uuid, view, process_views.fence <> processes.fence or ${isUnowned(sql)} as is_lost
    from process_views join processes on processes.uuid = process_uuid
    where process_uuid in ${sql([...uuids])} and state not in ('finished', 'failed')`;
  return new Map(rows.map(({ uuid, ...stored }) => [uuid, stored]));
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
  const isFree = sql`(processes.node_uuid = ${nodeUuid} or ${isUnowned(sql)})`;
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
  await sql`update processes set node_uuid = null where uuid = ${uuid} and fence = ${fence}`;
}
