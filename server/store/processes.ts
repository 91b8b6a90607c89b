/** Processes as they are kept: what is wanted, what is, and what is told of them. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { LiveValues } from "../../schemas/live-values.ts";
import type { ProcessCrash, ProcessState } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { pairProcess } from "./alerts.ts";
import type { Queries, Sql } from "./client.ts";
import { lockUser } from "./lock-user.ts";
import { cutPage, type Page, type PageRequest, readPage } from "./page.ts";

export type Desired = "running" | "paused" | "stopped";

export type LiveProperties = LiveValues;

/** `ProcessCrash` as JSON. */
export type StoredCrash = Omit<ProcessCrash, "at"> & { readonly at: string };

export interface ProcessRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly sourceUuid: string;
  /** Without credentials. */
  readonly sourceUrl: string;
  readonly graph: string;
  readonly graphText: string | null;
  readonly params: JsonRecord;
  /** Properties by node, set while it ran. */
  readonly live: LiveProperties;
  readonly hasTrackLogger: boolean;
  /** How its telemetry comes, as it was when it started; null: it has none, or has ended. */
  readonly telemetryCfg: TelemetrySetting | null;
  readonly desired: Desired;
  readonly state: ProcessState;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly positionNs: number;
  readonly nextTrackId: number;
  readonly restarts: number;
  readonly lastError: StoredCrash | null;
  /** Null of a live source. */
  readonly framesLost: number | null;
  readonly endsAt: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly nodeUuid: string | null;
  readonly fence: number;
}

/** With what is attached to it. */
export interface ProcessView extends ProcessRow {
  readonly outputs: readonly string[];
  readonly alerts: readonly string[];
}

export interface NewProcess
  extends Pick<
    ProcessRow,
    | "uuid"
    | "userUuid"
    | "sourceUuid"
    | "sourceUrl"
    | "graph"
    | "graphText"
    | "params"
    | "hasTrackLogger"
    | "telemetryCfg"
    | "endsAt"
  > {
  readonly nodeUuid: string;
  readonly leaseSeconds: number;
  /** Registered alerts apply to it. */
  readonly takesAlerts: boolean;
  readonly nextTrackId: number;
}

/**
 * Claimed from the first moment, so that no other machine takes it. Rejects with `processes_limit_reached` when the user
 * has as many as may be: of two at once, one.
 */
export async function insertProcess(sql: Sql, process: NewProcess, limit: number): Promise<ProcessRow> {
  const { userUuid, sourceUuid, leaseSeconds, params, takesAlerts, ...row } = process;
  return sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    await expectSource(sql, userUuid, sourceUuid);
    const active = await countActive(sql, userUuid);
    if (active >= limit)
      throw new ServiceError("processes_limit_reached", {
        detail: `${active} processes of this key are active and it may have ${limit}; stop one (DELETE /process/{process_uuid}) and try again`,
      });
    const [inserted] = await sql<ProcessRow[]>`
      insert into processes
        (uuid, user_uuid, source_uuid, source_url, graph, graph_text, params, has_track_logger, telemetry_cfg,
         takes_alerts, desired, state, next_track_id, ends_at, node_uuid, lease_until, fence)
      values
        (${row.uuid}, ${userUuid}, ${sourceUuid}, ${row.sourceUrl}, ${row.graph}, ${row.graphText}, ${sql.json(params)},
         ${row.hasTrackLogger}, ${sql.typed.sealed(row.telemetryCfg)},
         ${takesAlerts}, 'running', 'starting', ${row.nextTrackId}, ${row.endsAt}, ${row.nodeUuid},
         now() + make_interval(secs => ${leaseSeconds}), 1)
      returning *`;
    if (inserted === undefined) throw new Error("the new process was not returned");
    if (takesAlerts) await pairProcess(sql, userUuid, row.uuid);
    return inserted;
  });
}

/** A start that came to nothing leaves nothing: its uuid was never told to anybody. */
export async function deleteProcess(sql: Queries, uuid: string, fence: number): Promise<void> {
  await sql`delete from processes where uuid = ${uuid} and fence = ${fence}`;
}

export async function findProcess(sql: Queries, userUuid: string, uuid: string): Promise<ProcessView | null> {
  const [found] = await sql<ProcessView[]>`
    select ${viewOf(sql)} from processes
    where uuid = ${uuid} and user_uuid = ${userUuid}`;
  return found ?? null;
}

/** Newest first. */
export async function listProcesses(
  sql: Queries,
  userUuid: string,
  request: PageRequest & { readonly withEnded: boolean },
): Promise<Page<ProcessView>> {
  const { place, fetch } = readPage(request);
  const fetched = await sql<ProcessView[]>`
    select ${viewOf(sql)} from processes
    where user_uuid = ${userUuid}
      ${request.withEnded ? sql`` : sql`and state not in ('finished', 'failed')`}
      ${place === null ? sql`` : sql`and (created_at, uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
    order by created_at desc, uuid desc
    limit ${fetch}`;
  return cutPage(fetched, request, ({ createdAt, uuid }) => ({ createdAt: createdAt.toISOString(), uuid }));
}

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
      detail: `there is no source ${sourceUuid}; GET /sources lists those there are`,
    });
}

async function countActive(sql: Queries, userUuid: string): Promise<number> {
  const [row] = await sql<{ active: number }[]>`
    select count(*) as active from processes where user_uuid = ${userUuid} and state not in ('finished', 'failed')`;
  return row?.active ?? 0;
}

/** Those of these that are known, with their users. What is not a uuid is nobody's. */
export async function findProcessOwners(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (uuids.length === 0) return new Map();
  const rows = await sql<{ uuid: string; userUuid: string }[]>`
    select uuid, user_uuid from processes where uuid::text in ${sql([...uuids])}`;
  return new Map(rows.map(({ uuid, userUuid }) => [uuid, userUuid]));
}
