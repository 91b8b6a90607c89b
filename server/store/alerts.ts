/** Alerts of a user: registered ones, and those of one process, which go with it. */
import type { AlertConfiguration } from "../../schemas/alerts.ts";
import type { Json } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import { pairAlert } from "./alert-pairs.ts";
import type { Queries, Sql } from "./client.ts";
import { cutPage, isoTime, type Page, type PageRequest, readPage } from "./page.ts";
import { lockUser } from "./users.ts";

/** One output, with its secrets, as it is kept. `uuid` is that of its destination. */
export type StoredOutput = { readonly uuid: string } & (
  | {
      readonly type: "mqtt";
      readonly config: {
        /** As it was given, without userinfo. */
        readonly host: string;
        readonly topic: string;
        readonly qos: 0 | 1 | 2;
        readonly username: string | null;
        readonly password: string | null;
      };
    }
  | { readonly type: "webhook"; readonly config: { readonly url: string; readonly secret: string } }
);

/** What a change without `force` waits with. */
export interface AlertSetting {
  readonly configuration: AlertConfiguration;
  readonly output: readonly StoredOutput[];
}

export interface AlertRow extends AlertSetting {
  readonly uuid: string;
  readonly processUuid: string | null;
  readonly alias: string;
  readonly type: string;
  readonly status: "active" | "inactive";
  readonly createdAt: string;
  /** What some process still runs with, where that is not the newest. */
  readonly running: AlertSetting | null;
}

export interface NewAlertRow extends AlertSetting {
  readonly uuid: string;
  readonly processUuid: string | null;
  readonly alias: string;
  readonly type: string;
  readonly status: AlertRow["status"];
  readonly weight: number;
}

/** How many a user may have, and how much they may hold together. */
export interface AlertBounds {
  readonly alerts: number;
  readonly weight: number;
}

const ACTIVE = (sql: Queries) => sql`processes.state not in ('finished', 'failed')`;

const columns = (sql: Queries) => sql`
  alerts.uuid, alerts.alias, alerts.type, alerts.status, alerts.configuration, alerts.output,
  ${isoTime(sql, sql`alerts.created_at`)} as created_at`;

const older = (sql: Queries) => sql`
  (process_alerts.configuration, process_alerts.output) is distinct from (alerts.configuration, alerts.output)`;

/** The oldest of those that differ. One that is not active runs nowhere. */
const running = (sql: Queries) => sql`
  left join lateral (
    select process_alerts.configuration as running_configuration, process_alerts.output as running_output
    from process_alerts join processes on processes.uuid = process_alerts.process_uuid
    where alert_uuid = alerts.uuid and ${ACTIVE(sql)} and ${older(sql)}
    order by process_alerts.created_at, process_alerts.uuid limit 1
  ) as running on alerts.status = 'active'`;

interface FoundAlert extends Omit<AlertRow, "running"> {
  readonly runningConfiguration: AlertConfiguration | null;
  readonly runningOutput: readonly StoredOutput[] | null;
}

function toRow<T extends FoundAlert>({ runningConfiguration: configuration, runningOutput: output, ...row }: T) {
  return { ...row, running: configuration === null || output === null ? null : { configuration, output } };
}

/** Those of a process that has ended are gone, if not yet from the table. */
const isThere = (sql: Queries) => sql`
  (alerts.process_uuid is null
    or exists (select from processes where processes.uuid = alerts.process_uuid and ${ACTIVE(sql)}))`;

/** Registered ones, newest first. */
export async function listAlerts(sql: Queries, userUuid: string, request: PageRequest): Promise<Page<AlertRow>> {
  const { place, fetch } = readPage(request);
  const rows = await sql<FoundAlert[]>`
    select ${columns(sql)}, null as process_uuid, running_configuration, running_output
    from alerts ${running(sql)}
    where user_uuid = ${userUuid} and process_uuid is null
    ${place === null ? sql`` : sql`and (created_at, uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
    order by alerts.created_at desc, uuid desc limit ${fetch}`;
  return cutPage(rows.map(toRow), request, (row) => row);
}

/** One for every active alert and process that it runs on, newest first. */
export async function listActive(sql: Queries, userUuid: string, request: PageRequest): Promise<Page<AlertRow>> {
  const { place, fetch } = readPage(request);
  const rows = await sql<(FoundAlert & { pairedAt: string; pairUuid: string })[]>`
    select ${columns(sql)}, process_alerts.process_uuid,
      case when ${older(sql)} then process_alerts.configuration end as running_configuration,
      case when ${older(sql)} then process_alerts.output end as running_output,
      ${isoTime(sql, sql`process_alerts.created_at`)} as paired_at, process_alerts.uuid as pair_uuid
    from process_alerts join alerts on alerts.uuid = alert_uuid
      join processes on processes.uuid = process_alerts.process_uuid
    where alerts.user_uuid = ${userUuid} and alerts.status = 'active' and ${ACTIVE(sql)}
    ${place === null ? sql`` : sql`and (process_alerts.created_at, process_alerts.uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
    order by process_alerts.created_at desc, process_alerts.uuid desc limit ${fetch}`;
  return cutPage(rows.map(toRow), request, ({ pairedAt, pairUuid }) => ({ createdAt: pairedAt, uuid: pairUuid }));
}

/** Rejects with `alert_not_found`, for those of other users and of processes that have ended too. */
export async function findAlert(sql: Queries, userUuid: string, uuid: string): Promise<AlertRow> {
  const [row] = await sql<FoundAlert[]>`
    select ${columns(sql)}, alerts.process_uuid, running_configuration, running_output
    from alerts ${running(sql)}
    where user_uuid = ${userUuid} and alerts.uuid = ${uuid} and ${isThere(sql)}`;
  if (row === undefined) throw notFound(uuid);
  return toRow(row);
}

/** Until the end of the transaction nobody else changes it, nor anything else of this user's that counts. */
export async function lockAlert(sql: Queries, userUuid: string, uuid: string): Promise<AlertRow> {
  await lockUser(sql, userUuid);
  await sql`select from alerts where uuid = ${uuid} for no key update`;
  return findAlert(sql, userUuid, uuid);
}

/** Rejects with `alerts_limit_reached`, and with `process_not_found` where its process has ended. */
export async function insertAlert(
  sql: Queries,
  userUuid: string,
  alert: NewAlertRow,
  bounds: AlertBounds,
): Promise<void> {
  const { uuid, processUuid, alias, type, status, weight } = alert;
  await lockUser(sql, userUuid);
  await expectRoom(sql, userUuid, weight, null, bounds);
  if (processUuid !== null) await expectProcess(sql, userUuid, processUuid);
  await sql`
    insert into alerts (uuid, user_uuid, process_uuid, alias, type, status, configuration, output, weight, created_at)
    values (${uuid}, ${userUuid}, ${processUuid}, ${alias}, ${type}, ${status}, ${toJson(sql, alert.configuration)},
      ${sql.typed.sealed(alert.output)}, ${weight}, clock_timestamp())`;
  await pairAlert(sql, uuid);
}

export type AlertUpdate = AlertSetting & Pick<NewAlertRow, "alias" | "status" | "weight">;

/** Of one that is locked. */
export async function updateAlert(
  sql: Queries,
  userUuid: string,
  uuid: string,
  { alias, status, weight, configuration, output }: AlertUpdate,
  bounds: AlertBounds,
): Promise<void> {
  await expectRoom(sql, userUuid, weight, uuid, bounds);
  await sql`
    update alerts set alias = ${alias}, status = ${status}, configuration = ${toJson(sql, configuration)},
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
  bounds: AlertBounds,
): Promise<void> {
  const [{ count = 0, weight: others = 0 } = {}] = await sql<{ count: number; weight: number }[]>`
    select count(*), coalesce(sum(weight), 0)::bigint as weight from alerts
    where user_uuid = ${userUuid} and ${isThere(sql)} ${besides === null ? sql`` : sql`and uuid <> ${besides}`}`;
  if (besides === null && count >= bounds.alerts)
    throw new ServiceError("alerts_limit_reached", {
      detail: `${count} alerts exist and this key may have ${bounds.alerts}; delete one first (DELETE /alert/{alert_uuid})`,
    });
  if (others + weight > bounds.weight)
    throw new ServiceError("alerts_limit_reached", {
      detail: `the configurations of all alerts of a key may hold ${bounds.weight} values together, and there would be ${others + weight}; use fewer points or delete an alert`,
    });
}

async function expectProcess(sql: Queries, userUuid: string, uuid: string): Promise<void> {
  const found = await sql`
    select from processes where uuid = ${uuid} and user_uuid = ${userUuid} and ${ACTIVE(sql)} for key share`;
  if (found.length === 0)
    throw new ServiceError("process_not_found", {
      detail: `there is no active process ${uuid}; GET /processes lists those that are active`,
    });
}

const toJson = (sql: Queries, value: unknown) => sql.json(value as Json as never);

const notFound = (uuid: string): ServiceError =>
  new ServiceError("alert_not_found", {
    detail: `there is no alert ${uuid}; GET /alerts lists those that are registered, GET /active/alerts those of single processes too`,
  });
