/**
 * What every process runs with of every alert that applies to it. It is written when the process starts or the alert is
 * made, changed by `force`, and goes with the process. Whoever writes it holds the lock of the user.
 */
import type { AlertConfiguration } from "../../schemas/alerts.ts";
import type { StoredOutput } from "./alerts.ts";
import type { Queries } from "./client.ts";

export interface RunningAlert {
  readonly processUuid: string;
  readonly uuid: string;
  readonly alias: string;
  readonly type: string;
  readonly configuration: AlertConfiguration;
  readonly output: readonly StoredOutput[];
}

/** A process that begins: all registered alerts of its user, as they are now. */
export async function pairProcess(sql: Queries, userUuid: string, processUuid: string): Promise<void> {
  await sql`
    insert into process_alerts (process_uuid, alert_uuid, configuration, output)
    select ${processUuid}, uuid, configuration, output from alerts
    where user_uuid = ${userUuid} and process_uuid is null`;
}

/** A new alert: all processes of the user that can evaluate it, or the one that it is for. */
export async function pairAlert(sql: Queries, alertUuid: string): Promise<void> {
  await sql`
    insert into process_alerts (process_uuid, alert_uuid, configuration, output)
    select processes.uuid, alerts.uuid, configuration, output from alerts join processes
      on processes.user_uuid = alerts.user_uuid and processes.state not in ('finished', 'failed')
        and case when alerts.process_uuid is null then takes_alerts else processes.uuid = alerts.process_uuid end
    where alerts.uuid = ${alertUuid}`;
}

/** Whether some process has it. */
export async function isPaired(sql: Queries, alertUuid: string): Promise<boolean> {
  return (await sql`select from process_alerts where alert_uuid = ${alertUuid} limit 1`).length > 0;
}

/** All processes run with the newest. */
export async function renewPairs(sql: Queries, alertUuid: string): Promise<void> {
  await sql`
    update process_alerts set configuration = alerts.configuration, output = alerts.output
    from alerts where alerts.uuid = ${alertUuid} and alert_uuid = alerts.uuid`;
}

/** Those that are active, on these processes, oldest first. */
export async function listRunning(sql: Queries, processUuids: readonly string[]): Promise<readonly RunningAlert[]> {
  if (processUuids.length === 0) return [];
  return sql<RunningAlert[]>`
    select process_alerts.process_uuid, alerts.uuid, alias, type, process_alerts.configuration, process_alerts.output
    from process_alerts join alerts on alerts.uuid = alert_uuid
    where process_alerts.process_uuid in ${sql([...processUuids])} and status = 'active'
    order by alerts.created_at, alerts.uuid`;
}

/** Who is told what these processes find of these alerts, by `<process> <alert>`: until the end of the transaction. */
export async function findReceivers(
  sql: Queries,
  pairs: readonly { readonly processUuid: string; readonly alertUuid: string }[],
): Promise<ReadonlyMap<string, { readonly alias: string; readonly output: readonly StoredOutput[] }>> {
  if (pairs.length === 0) return new Map();
  const rows = await sql<(Pick<RunningAlert, "processUuid" | "alias" | "output"> & { alertUuid: string })[]>`
    select process_alerts.process_uuid, alert_uuid, alias, process_alerts.output
    from process_alerts join alerts on alerts.uuid = alert_uuid
    where process_alerts.process_uuid in ${sql([...new Set(pairs.map(({ processUuid }) => processUuid))])}
      and alert_uuid in ${sql([...new Set(pairs.map(({ alertUuid }) => alertUuid))])}
    order by alert_uuid, process_alerts.uuid
    for key share of process_alerts`;
  return new Map(
    rows.map(({ processUuid, alertUuid, alias, output }) => [`${processUuid} ${alertUuid}`, { alias, output }]),
  );
}

/** All that is told of an alert: by its newest outputs, and by those that processes still run with. */
export async function listOutputs(sql: Queries, alertUuid: string): Promise<readonly StoredOutput[]> {
  const rows = await sql<{ output: readonly StoredOutput[] }[]>`
    select output from alerts where uuid = ${alertUuid}
    union all select output from process_alerts where alert_uuid = ${alertUuid}`;
  const all = rows.flatMap(({ output }) => output);
  return [...new Map(all.map((output) => [output.uuid, output])).values()];
}

/** Processes that have ended, a while ago, and still have alerts: with whose they are. */
export async function findEnded(sql: Queries, seconds: number): Promise<readonly { uuid: string; userUuid: string }[]> {
  return sql<{ uuid: string; userUuid: string }[]>`
    select uuid, user_uuid from processes
    where state in ('finished', 'failed') and finished_at < now() - make_interval(secs => ${seconds})
      and (exists (select from process_alerts where process_uuid = processes.uuid)
        or exists (select from alerts where process_uuid = processes.uuid))
    limit 100`;
}

/** Of a process that has ended. Resolves with the alerts that it ran, and with the one-off ones, which are gone. */
export async function unpairProcess(
  sql: Queries,
  processUuid: string,
): Promise<{ readonly alerts: readonly string[]; readonly outputs: readonly StoredOutput[] }> {
  const pairs = await sql<{ alertUuid: string; output: readonly StoredOutput[] }[]>`
    delete from process_alerts using processes
    where process_uuid = ${processUuid} and processes.uuid = process_uuid and state in ('finished', 'failed')
    returning alert_uuid, output`;
  const gone = await sql<{ uuid: string; output: readonly StoredOutput[] }[]>`
    delete from alerts using processes
    where process_uuid = ${processUuid} and processes.uuid = process_uuid and state in ('finished', 'failed')
    returning alerts.uuid, output`;
  return {
    alerts: [...new Set([...pairs.map(({ alertUuid }) => alertUuid), ...gone.map(({ uuid }) => uuid)])],
    outputs: [...pairs, ...gone].flatMap(({ output }) => output),
  };
}
