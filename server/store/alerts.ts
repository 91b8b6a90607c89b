/**
 * Alerts of a user (table `alerts`): registered for all processes, or for one process, which are deleted with it. A pair
 * (table `process_alerts`) is what one process runs with of one alert: written when the process starts or the alert is
 * created, changed with `force`, deleted with the process, and always under the lock of the user.
 */
import type { AlertConfiguration } from "../../schemas/alerts.ts";
import type { WebhookTemplate } from "../../schemas/api/alerts.ts";
import type { Json } from "../../schemas/json.ts";
import type { Schedule } from "../../schemas/schedule.ts";
import { ServiceError } from "../service-error.ts";
import type { Fragment, Queries, Sql } from "./client.ts";
import type { StoredEvidence } from "./evidence.ts";
import {
  byCreationOrAlias,
  fetchPage,
  filterBy,
  isoTime,
  type Page,
  type PageOrder,
  type PageRequest,
  textKey,
  timeKey,
} from "./page.ts";
import { type Claim, expectActiveProcess } from "./processes.ts";
import { lockUser } from "./users.ts";

/** One output, with its secrets. `uuid`: of its destination. */
export type StoredOutput = { readonly uuid: string } & (
  | {
      readonly type: "mqtt";
      readonly config: {
        /** As it was given, without credentials. */
        readonly host: string;
        readonly topic: string;
        readonly qos: 0 | 1 | 2;
        readonly username: string | null;
        readonly password: string | null;
      };
    }
  | {
      readonly type: "webhook";
      readonly config: { readonly url: string; readonly secret: string; readonly template?: WebhookTemplate };
    }
  | {
      readonly type: "email";
      readonly config: {
        readonly to: readonly string[];
        readonly subject: string | null;
        readonly text: string | null;
      };
    }
);

/** What is evaluated, and what is kept of each notice. */
export type StoredConfiguration = AlertConfiguration & { readonly evidence?: StoredEvidence };

/** What a change without `force` leaves as it is on running processes. */
export interface AlertSetting {
  readonly configuration: StoredConfiguration;
  readonly output: readonly StoredOutput[];
}

export interface AlertRow extends AlertSetting {
  readonly uuid: string;
  readonly processUuid: string | null;
  readonly alias: string;
  readonly type: string;
  readonly status: "active" | "inactive";
  /** Null: it is always evaluated. A change takes effect at once. */
  readonly schedule: Schedule | null;
  readonly createdAt: string;
  /** What some process still runs with, when that differs. */
  readonly running: AlertSetting | null;
}

export interface NewAlertRow extends Omit<AlertRow, "createdAt" | "running"> {
  /** The number of values in its configuration. */
  readonly weight: number;
}

export interface RunningAlert extends AlertSetting, Pick<AlertRow, "uuid" | "alias" | "type" | "schedule"> {
  readonly processUuid: string;
}

/** The limits of a user: alerts, and values of all their configurations. */
export interface AlertLimits {
  readonly alerts: number;
  readonly weight: number;
}

const ACTIVE = (sql: Queries) => sql`processes.state not in ('finished', 'failed')`;

const columns = (sql: Queries) => sql`
  alerts.uuid, alerts.alias, alerts.type, alerts.status, alerts.schedule, alerts.configuration, alerts.output,
  ${isoTime(sql, "alerts.created_at")} as created_at`;

const older = (sql: Queries) => sql`
  (process_alerts.configuration, process_alerts.output) is distinct from (alerts.configuration, alerts.output)`;

/** The oldest pair that differs. An inactive alert runs nowhere. */
const running = (sql: Queries) => sql`
  left join lateral (
    select process_alerts.configuration as running_configuration, process_alerts.output as running_output
    from process_alerts join processes on processes.uuid = process_alerts.process_uuid
    where alert_uuid = alerts.uuid and ${ACTIVE(sql)} and ${older(sql)}
    order by process_alerts.created_at, process_alerts.uuid limit 1
  ) as running on alerts.status = 'active'`;

interface FoundAlert extends Omit<AlertRow, "running"> {
  readonly runningConfiguration: StoredConfiguration | null;
  readonly runningOutput: readonly StoredOutput[] | null;
}

function toRow<T extends FoundAlert>({ runningConfiguration: configuration, runningOutput: output, ...row }: T) {
  return { ...row, running: configuration === null || output === null ? null : { configuration, output } };
}

/** Not one of an ended process, which is deleted a little later. */
const isThere = (sql: Queries) => sql`
  (alerts.process_uuid is null
    or exists (select from processes where processes.uuid = alerts.process_uuid and ${ACTIVE(sql)}))`;

export interface AlertsRequest extends PageRequest {
  readonly type?: string | undefined;
  readonly alias?: string | undefined;
  readonly status?: string | undefined;
  /** Of active alerts. */
  readonly processUuid?: string | undefined;
}

const filtersOf = ({ type, alias, status }: AlertsRequest) => ({
  ...{ "alerts.type": type, "alerts.alias": alias, "alerts.status": status },
});

/** Registered alerts. */
export const listAlerts = (sql: Queries, userUuid: string, request: AlertsRequest): Promise<Page<AlertRow>> =>
  fetchPage(sql, request, byCreationOrAlias<AlertRow>("alerts"), async (end) => {
    const found = await sql<FoundAlert[]>`
        select ${columns(sql)}, null as process_uuid, running_configuration, running_output
        from alerts ${running(sql)} where user_uuid = ${userUuid} and process_uuid is null
          ${filterBy(sql, filtersOf(request))} ${end}`;
    return found.map(toRow);
  });

/** An alert may be on several processes: sorted by the pair. */
type ActiveRow = AlertRow & { readonly place: { readonly createdAt: string; readonly uuid: string } };
const ACTIVE_ORDER: PageOrder<ActiveRow> = {
  uuid: "process_alerts.uuid",
  uuidOf: ({ place }) => place.uuid,
  keys: {
    created_at: timeKey("process_alerts.created_at", ({ place }) => place.createdAt),
    alias: textKey("alerts.alias", ({ alias }) => alias),
  },
};

/** One entry for every active alert and process that it runs on. */
export const listActive = (sql: Queries, userUuid: string, request: AlertsRequest): Promise<Page<AlertRow>> =>
  fetchPage(sql, request, ACTIVE_ORDER, async (end) => {
    const found = await sql<(FoundAlert & Pick<ActiveRow, "place">)[]>`
      select ${columns(sql)}, process_alerts.process_uuid,
        case when ${older(sql)} then process_alerts.configuration end as running_configuration,
        case when ${older(sql)} then process_alerts.output end as running_output, jsonb_build_object(
          'createdAt', ${isoTime(sql, "process_alerts.created_at")}, 'uuid', process_alerts.uuid) as place
      from process_alerts join alerts on alerts.uuid = alert_uuid
        join processes on processes.uuid = process_alerts.process_uuid
      where alerts.user_uuid = ${userUuid} and alerts.status = 'active' and ${ACTIVE(sql)}
        ${filterBy(sql, { ...filtersOf(request), "process_alerts.process_uuid": request.processUuid })} ${end}`;
    return found.map(toRow);
  });

/** Rejects with `alert_not_found`, also for alerts of other users and of ended processes. */
export async function findAlert(sql: Queries, userUuid: string, uuid: string): Promise<AlertRow> {
  const [row] = await sql<FoundAlert[]>`
    select ${columns(sql)}, alerts.process_uuid, running_configuration, running_output
    from alerts ${running(sql)}
    where user_uuid = ${userUuid} and alerts.uuid = ${uuid} and ${isThere(sql)}`;
  if (row === undefined) throw notFound(uuid);
  return toRow(row);
}

/** Locks it and the limits of its user until the end of the transaction. */
export async function lockAlert(sql: Queries, userUuid: string, uuid: string): Promise<AlertRow> {
  await lockUser(sql, userUuid);
  await sql`select from alerts where uuid = ${uuid} for no key update`;
  return findAlert(sql, userUuid, uuid);
}

/** Rejects with `alerts_limit_reached`, and with `process_not_found` when its process has ended. */
export async function insertAlert(
  sql: Queries,
  userUuid: string,
  alert: NewAlertRow,
  limits: AlertLimits,
): Promise<void> {
  const { uuid, processUuid, alias, type, status, weight } = alert;
  await lockUser(sql, userUuid);
  await expectRoom(sql, userUuid, weight, null, limits);
  if (processUuid !== null) await expectActiveProcess(sql, userUuid, processUuid);
  await sql`
    insert into alerts (uuid, user_uuid, process_uuid, alias, type, status, schedule, configuration, output, weight, created_at)
    values (${uuid}, ${userUuid}, ${processUuid}, ${alias}, ${type}, ${status}, ${toNullableJson(sql, alert.schedule)},
      ${toJson(sql, alert.configuration)}, ${sql.typed.sealed(alert.output)}, ${weight}, clock_timestamp())`;
  await pairAlert(sql, uuid);
}

export type AlertUpdate = AlertSetting & Pick<NewAlertRow, "alias" | "status" | "schedule" | "weight">;

/** The alert must be locked. */
export async function updateAlert(
  sql: Queries,
  userUuid: string,
  uuid: string,
  { alias, status, schedule, weight, configuration, output }: AlertUpdate,
  limits: AlertLimits,
): Promise<void> {
  await expectRoom(sql, userUuid, weight, uuid, limits);
  await sql`
    update alerts set alias = ${alias}, status = ${status}, schedule = ${toNullableJson(sql, schedule)},
      configuration = ${toJson(sql, configuration)},
      output = ${sql.typed.sealed(output)}, weight = ${weight}
    where uuid = ${uuid}`;
}

export async function stopAlert(sql: Sql, userUuid: string, uuid: string): Promise<void> {
  await sql.begin(async (transaction) => {
    await lockAlert(transaction, userUuid, uuid);
    await transaction`update alerts set status = 'inactive' where uuid = ${uuid}`;
  });
}

export async function deleteAlert(sql: Queries, uuid: string): Promise<void> {
  await sql`delete from alerts where uuid = ${uuid}`;
}

async function expectRoom(
  sql: Queries,
  userUuid: string,
  weight: number,
  besides: string | null,
  limits: AlertLimits,
): Promise<void> {
  const [{ count = 0, weight: others = 0 } = {}] = await sql<{ count: number; weight: number }[]>`
    select count(*), coalesce(sum(weight), 0)::bigint as weight from alerts
    where user_uuid = ${userUuid} and ${isThere(sql)} ${besides === null ? sql`` : sql`and uuid <> ${besides}`}`;
  if (besides === null && count >= limits.alerts)
    throw new ServiceError("alerts_limit_reached", {
      detail: `alert limit reached for this key (${limits.alerts}); delete an alert first (DELETE /alert/{alert_uuid})`,
    });
  if (others + weight > limits.weight)
    throw new ServiceError("alerts_limit_reached", {
      detail: `the configurations of all alerts of this key may hold ${limits.weight} values, and would hold ${others + weight}; use fewer points or delete an alert`,
    });
}

const toJson = (sql: Queries, value: unknown) => sql.json(value as Json as never);

/** Null as in SQL, not as in JSON. */
const toNullableJson = (sql: Queries, value: unknown) => (value === null ? null : toJson(sql, value));

const notFound = (uuid: string): ServiceError =>
  new ServiceError("alert_not_found", {
    detail: `no alert ${uuid}; GET /alerts lists registered alerts, GET /active/alerts also those of single processes`,
  });

/** A new alert applies to all processes of the user that can evaluate it, or to its own. */
async function pairAlert(sql: Queries, alertUuid: string): Promise<void> {
  await sql`
    insert into process_alerts (process_uuid, alert_uuid, configuration, output)
    select processes.uuid, alerts.uuid, configuration, output from alerts join processes
      on processes.user_uuid = alerts.user_uuid and processes.state not in ('finished', 'failed')
        and case when alerts.process_uuid is null then takes_alerts else processes.uuid = alerts.process_uuid end
    where alerts.uuid = ${alertUuid}`;
}

export async function isPaired(sql: Queries, alertUuid: string): Promise<boolean> {
  return (await sql`select from process_alerts where alert_uuid = ${alertUuid} limit 1`).length > 0;
}

/** All processes run with the newest setting. Waits for events that are being stored for the outputs before. */
export async function renewPairs(sql: Queries, alertUuid: string): Promise<void> {
  await sql`
    with held as materialized (
      select uuid from process_alerts where alert_uuid = ${alertUuid} order by uuid for no key update
    )
    update process_alerts set configuration = alerts.configuration, output = alerts.output
    from alerts where alerts.uuid = ${alertUuid} and process_alerts.uuid in (select uuid from held)`;
}

/** Active alerts on these processes, oldest first. */
export async function listRunning(sql: Queries, processUuids: readonly string[]): Promise<readonly RunningAlert[]> {
  if (processUuids.length === 0) return [];
  return sql<RunningAlert[]>`
    select process_alerts.process_uuid, alerts.uuid, alias, type, schedule, process_alerts.configuration, process_alerts.output
    from process_alerts join alerts on alerts.uuid = alert_uuid
    where process_alerts.process_uuid in ${sql([...processUuids])} and status = 'active'
    order by alerts.created_at, alerts.uuid`;
}

/**
 * The outputs for events of these processes and alerts, by `<process> <alert>`, without processes that another node has
 * claimed meanwhile. Locked until the end of the transaction: an
 * output that is closed meanwhile would accept no delivery.
 */
export async function findReceivers(
  sql: Queries,
  pairs: readonly { readonly process: Claim; readonly alertUuid: string }[],
): Promise<ReadonlyMap<string, Pick<RunningAlert, "alias" | "output" | "configuration">>> {
  if (pairs.length === 0) return new Map();
  const claims = pairs.map(({ process: { uuid, fence } }) => ({ uuid, fence }));
  const rows = await sql<(Omit<RunningAlert, "uuid" | "type"> & { alertUuid: string })[]>`
    select process_alerts.process_uuid, alert_uuid, alias, process_alerts.output, process_alerts.configuration
    from process_alerts join alerts on alerts.uuid = alert_uuid
      join processes on processes.uuid = process_alerts.process_uuid
    where (processes.uuid, processes.fence) in (
        select uuid, fence from jsonb_to_recordset(${sql.json(claims)}) as claims (uuid uuid, fence bigint))
      and alert_uuid in ${sql([...new Set(pairs.map(({ alertUuid }) => alertUuid))])}
    order by alert_uuid, process_alerts.uuid
    for share of process_alerts`;
  return new Map(rows.map(({ processUuid, alertUuid, ...found }) => [`${processUuid} ${alertUuid}`, found]));
}

/** Uuids of those that their nodes still own. */
export async function findClaimed(sql: Queries, claims: readonly Claim[]): Promise<ReadonlySet<string>> {
  if (claims.length === 0) return new Set();
  const wanted = claims.map(({ uuid, fence }) => ({ uuid, fence }));
  const rows = await sql<{ uuid: string }[]>`
    select uuid from processes where (uuid, fence) in (
      select uuid, fence from jsonb_to_recordset(${sql.json(wanted)}) as claims (uuid uuid, fence bigint))`;
  return new Set(rows.map(({ uuid }) => uuid));
}

/** The newest outputs of an alert, then others that processes still run with; each destination once, as it is newest. */
export async function listOutputs(sql: Queries, alertUuid: string): Promise<readonly StoredOutput[]> {
  const rows = await sql<{ output: readonly StoredOutput[] }[]>`
    select output, true as is_newest from alerts where uuid = ${alertUuid}
    union all select output, false from process_alerts where alert_uuid = ${alertUuid} order by is_newest desc`;
  const known = new Map<string, StoredOutput>();
  for (const { output } of rows) for (const each of output) if (!known.has(each.uuid)) known.set(each.uuid, each);
  return [...known.values()];
}

export interface EndedProcess {
  readonly uuid: string;
  readonly userUuid: string;
}

/** Processes that ended this long ago and still have alerts. */
export const findEnded = (sql: Queries, seconds: number): Promise<readonly EndedProcess[]> =>
  sql<EndedProcess[]>`
    select uuid, user_uuid from processes
    where finished_at < now() - make_interval(secs => ${seconds})
      and (exists (select from process_alerts where process_uuid = processes.uuid)
        or exists (select from alerts where process_uuid = processes.uuid))
      and ${HAS_ENDED(sql)}
    limit 100`;

/** Evidence of its last notices may still be cut, and is announced to their destinations. */
const HAS_ENDED = (sql: Queries): Fragment => sql`
  processes.state in ('finished', 'failed')
  and not exists (select from evidence where evidence.process_uuid = processes.uuid and evidence.state = 'pending')`;

/** Deletes pairs and own alerts of an ended process. Resolves with the destinations that no output uses now, in order. */
export async function releaseProcess(sql: Queries, { uuid, userUuid }: EndedProcess): Promise<readonly string[]> {
  await lockUser(sql, userUuid);
  const pairs = await sql<{ alertUuid: string; output: readonly StoredOutput[] }[]>`
    delete from process_alerts using processes
    where process_uuid = ${uuid} and processes.uuid = process_uuid and ${HAS_ENDED(sql)}
    returning alert_uuid, output`;
  const own = await sql<{ alertUuid: string; output: readonly StoredOutput[] }[]>`
    delete from alerts using processes
    where process_uuid = ${uuid} and processes.uuid = process_uuid and ${HAS_ENDED(sql)}
    returning alerts.uuid as alert_uuid, output`;
  const unused = new Set([...pairs, ...own].flatMap(({ output }) => output.map((each) => each.uuid)));
  for (const alert of new Set(pairs.map(({ alertUuid }) => alertUuid)))
    for (const output of await listOutputs(sql, alert)) unused.delete(output.uuid);
  return [...unused].sort();
}
