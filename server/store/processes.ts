/** Processes: their rows. */
import type { PROCESS_STATES } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import { ServiceError } from "../service-error.ts";
import { capacityExhausted, hasRoomFor, lockRoom, type Reserved } from "./capacity.ts";
import { firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { expectGraphVersion } from "./graphs.ts";
import {
  byCreation,
  fetchPage,
  filterBy,
  type Page,
  type PageRequest,
  type SortKey,
  type TimeRange,
  UNENDED,
} from "./page.ts";
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

/** With what is reserved for it on its node. */
export interface ProcessRow extends Reserved {
  readonly uuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  /** Without credentials. */
  readonly sourceUrl: string;
  readonly graph: string;
  readonly graphText: string | null;
  /** Of a graph that its user has stored; its text is `graphText`. */
  readonly graphVersion: number | null;
  /** Models of its user that its graph names. */
  readonly models: readonly string[];
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
  /** It runs only on nodes with these labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Nodes that cannot run it. */
  readonly declinedBy: readonly string[];
  /** Since when no node has had room for it. */
  readonly waitingSince: Date | null;
  /** Its live source is lost, and its runner reconnects. */
  readonly reconnecting: boolean;
  /** Of the claim under which frames have flowed last; null: none have. */
  readonly runFence: number | null;
  /** It waits for its source; null: it does not. */
  readonly wait: WaitSetting | null;
  /** Of a process that waits now: when it fails; null: never. */
  readonly waitsUntil: Date | null;
}

export interface WaitSetting {
  /** Null: for ever. */
  readonly seconds: number | null;
  /** Whenever its source is lost, and not only before its first frame. */
  readonly keep: boolean;
}

/** With its attachments. */
export interface ProcessView extends ProcessRow {
  readonly outputs: readonly string[];
  readonly alerts: readonly string[];
}

export interface NewProcess
  extends Pick<
    ProcessRow,
    | ("uuid" | "userUuid" | "sourceUuid" | "sourceUrl" | "graph" | "graphText" | "graphVersion" | "params")
    | ("models" | "wait")
    | ("hasTrackLogger" | "telemetryCfg" | "endsAt" | "nextTrackId" | "cores" | "memoryBytes" | "labels")
  > {
  readonly nodeUuid: string;
  /** Default: `running`. */
  readonly desired?: "running" | "paused";
  /** Registered alerts apply to it. */
  readonly takesAlerts: boolean;
}

/** Rejects with `processes_limit_reached`. A shadow counts as a process. */
export async function expectProcessRoom(sql: Queries, userUuid: string, limit: number): Promise<void> {
  const [{ active = 0 } = {}] = await sql<{ active: number }[]>`
    select count(*) + count(*) filter (where shadow_until > now()) as active from processes
    where user_uuid = ${userUuid} and state not in ('finished', 'failed')`;
  if (active < limit) return;
  throw new ServiceError("processes_limit_reached", {
    detail: `process limit reached for this key (${limit}); stop one (DELETE /process/{process_uuid}) and try again`,
  });
}

/**
 * Claimed at once, so that no other machine starts it. Rejects with `processes_limit_reached`, `source_not_found`,
 * `graph_not_found`, or `capacity_exhausted` when its node has no room.
 */
export async function insertProcess(sql: Sql, process: NewProcess, limit: number): Promise<ProcessRow> {
  const { userUuid, sourceUuid, params, takesAlerts, desired = "running", ...row } = process;
  return sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    await expectSource(sql, userUuid, sourceUuid);
    await expectGraphVersion(sql, userUuid, row);
    await expectProcessRoom(sql, userUuid, limit);
    if (!hasRoomFor(await lockRoom(sql, row.nodeUuid), row)) throw capacityExhausted();
    const inserted = await writtenRow(sql<ProcessRow[]>`
      insert into processes
        (uuid, user_uuid, source_uuid, source_url, graph, graph_text, graph_version, params, has_track_logger,
         telemetry_cfg, takes_alerts, desired, state, next_track_id, ends_at, node_uuid, fence, cores, memory_bytes,
         labels, models, wait)
      values
        (${row.uuid}, ${userUuid}, ${sourceUuid}, ${row.sourceUrl}, ${row.graph}, ${row.graphText}, ${row.graphVersion},
         ${sql.json(params)}, ${row.hasTrackLogger}, ${sql.typed.sealed(row.telemetryCfg)},
         ${takesAlerts}, ${desired}, 'starting', ${row.nextTrackId}, ${row.endsAt}, ${row.nodeUuid}, 1,
         ${row.cores}, ${row.memoryBytes}, ${sql.json(row.labels)}, ${sql.json([...row.models])},
         ${row.wait === null ? null : sql.json({ ...row.wait })})
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

/** Those that have not ended come last, by their uuid. */
export const byEnd: SortKey<Pick<ProcessRow, "finishedAt">> = {
  type: "time",
  by: (sql) => sql`coalesce(processes.finished_at, 'infinity')`,
  of: ({ finishedAt }) => finishedAt ?? UNENDED,
};

export interface ProcessesRequest extends PageRequest {
  readonly state: ProcessState | "active" | "all";
  readonly sourceUuid?: string | undefined;
  readonly graph?: string | undefined;
  readonly created: TimeRange;
}

const creation = byCreation<ProcessView>("processes");
const ORDER = { ...creation, keys: { ...creation.keys, finished_at: byEnd } };

export const listProcesses = (sql: Queries, userUuid: string, request: ProcessesRequest): Promise<Page<ProcessView>> =>
  fetchPage<ProcessView>(sql, request, ORDER, (end) => {
    const { state, sourceUuid, graph, created } = request;
    const filters = {
      ...(state !== "active" && state !== "all" && { "processes.state": state }),
      ...{ "processes.source_uuid": sourceUuid, "processes.graph": graph, "processes.created_at": created },
    };
    return sql<ProcessView[]>`
      select ${viewOf(sql)} from processes where user_uuid = ${userUuid} ${filterBy(sql, filters)}
        ${state === "active" ? sql`and state not in ('finished', 'failed')` : sql``} ${end}`;
  });

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
    select uuid, user_uuid from processes where uuid::text in ${sql([...uuids])}
    union all select uuid, user_uuid from clips where uuid::text in ${sql([...uuids])}`;
  return new Map(rows.map(({ uuid, userUuid }) => [uuid, userUuid]));
}

/**
 * A machine owns a process while it renews its lease. Every claim increments the fence; writes with an earlier fence are
 * rejected, so that a machine learns that it lost the process.
 */
/** The node that runs a process, or ran it last; null: there is none. */
export async function findLastNode(sql: Queries, uuid: string): Promise<string | null> {
  const row = await firstOf(sql<{ nodeUuid: string | null }[]>`select node_uuid from processes where uuid = ${uuid}`);
  return row?.nodeUuid ?? null;
}

export type Claim = Pick<ProcessRow, "uuid" | "fence">;

/** What changes while it is running. */
export type ProcessSnapshot = Pick<
  ProcessRow,
  | ("graphText" | "graphVersion" | "models")
  | ("desired" | "live" | "params" | "state" | "errorCode" | "errorDetail" | "positionNs" | "nextTrackId")
  | ("restarts" | "lastError" | "framesLost" | "startedAt" | "finishedAt" | "reconnecting" | "runFence" | "waitsUntil")
>;

/** False: lease lost, or deleted with its user. An end detaches its outputs. A desired state `stopped` is never overwritten. */
export async function saveSnapshot(sql: Queries, { uuid, fence }: Claim, snapshot: ProcessSnapshot): Promise<boolean> {
  const [row] = await sql<{ saved: number }[]>`
    with saved as (
      update processes set
        graph_text = case when graph_version is distinct from ${snapshot.graphVersion}::integer
          then ${snapshot.graphText} else graph_text end,
        graph_version = ${snapshot.graphVersion}, models = ${sql.json([...snapshot.models])},
        desired = case desired when 'stopped' then desired else ${snapshot.desired} end,
        live = ${sql.json(snapshot.live)}, params = ${sql.json(snapshot.params)}, state = ${snapshot.state}, error_code = ${snapshot.errorCode},
        error_detail = ${snapshot.errorDetail}, position_ns = ${snapshot.positionNs},
        next_track_id = ${snapshot.nextTrackId}, restarts = ${snapshot.restarts}, frames_lost = ${snapshot.framesLost},
        last_error = ${snapshot.lastError === null ? null : sql.json({ ...snapshot.lastError })}, started_at = ${snapshot.startedAt},
        finished_at = ${snapshot.finishedAt}, reconnecting = ${snapshot.reconnecting}, run_fence = ${snapshot.runFence},
        waits_until = ${snapshot.waitsUntil},
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
