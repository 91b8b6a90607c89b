/** Alerts as users create, change and delete them. A change is committed first, then applied to processes. */
import {
  type AlertConfiguration,
  type AlertTypeDefinition,
  CONFIGURATION_FIELDS,
  MOST_RULES,
} from "../../schemas/alerts.ts";
import type { AlertChange, AlertDescription, AlertRecord, NewAlert } from "../../schemas/api/alerts.ts";
import type { EvidenceSetting } from "../../schemas/api/evidence.ts";
import { checkConfiguration, findAlertType } from "../../schemas/check-alert.ts";
import type { Config } from "../../schemas/config.ts";
import { checkSchedule, type Schedule } from "../../schemas/schedule.ts";
import { suggest } from "../../schemas/suggest.ts";
import { describeStatus } from "../delivery/outbox.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import {
  type AlertLimits,
  type AlertRow,
  type AlertSetting,
  deleteAlert,
  findAlert,
  insertAlert,
  isPaired,
  listOutputs,
  lockAlert,
  renewPairs,
  type StoredConfiguration,
  type StoredOutput,
  stopAlert,
  updateAlert,
} from "../store/alerts.ts";
import type { Queries } from "../store/client.ts";
import { closeDestination, readStatuses, removeDestination, saveDestination } from "../store/destinations.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { completeEvidence } from "./alert-evidence.ts";
import type { Alerts } from "./alerts.ts";
import {
  checkOutputs,
  describeOutput,
  destinationOf,
  type GivenOutput,
  guardOutputs,
  isSameOutput,
  isSameReceiver,
  rejectFaults,
  storeOutputs,
} from "./outputs.ts";

type CompleteConfiguration = Required<AlertConfiguration> & Pick<StoredConfiguration, "evidence">;
type GivenConfiguration = { readonly [field in (typeof CONFIGURATION_FIELDS)[number]]?: unknown } & {
  readonly evidence?: EvidenceSetting | null | undefined;
};

/** An alert, and the outputs whose secrets are shown this once. */
export interface ChangedAlert {
  readonly alert: AlertRow;
  readonly shown: ReadonlySet<string>;
}

/** All rules go to the runner in one message, which holds about as much as the text of a graph. */
const MAX_VALUES = 30_000;

const limitsOf = ({ limits }: User): AlertLimits => ({
  alerts: Math.min(limits.alerts, MOST_RULES),
  weight: MAX_VALUES,
});

/** `processUuid`: for this process only, whose graph can evaluate it. */
export async function registerAlert(
  alerts: Alerts,
  user: User,
  body: NewAlert,
  processUuid: string | null,
): Promise<ChangedAlert> {
  const { sql, config } = alerts.deps;
  const type = expectType(alerts.deps.alertTypes, body.type, "/type");
  const given = (body.output ?? []) as readonly GivenOutput[];
  const { configuration, faults } = await readConfiguration(alerts, type, body, null);
  const schedule = body.schedule ?? null;
  rejectFaults([...checkNames(body), ...faults, ...findScheduleFaults(schedule), ...checkOutputs(given)]);
  await guardOutputs(given, config);
  const output = storeOutputs(given, [], () => false);
  const row = {
    ...{ uuid: newUuid(), processUuid, alias: body.alias, type: type.name, status: body.status ?? ("active" as const) },
    ...{ configuration, output, schedule, weight: weigh(configuration, schedule) },
  };
  const alert = await sql.begin(async (transaction) => {
    await insertAlert(transaction, user.uuid, row, limitsOf(user));
    for (const each of output) await saveDestination(transaction, destinationOf(each, user.uuid, config.smtp));
    return findAlert(transaction, user.uuid, row.uuid);
  });
  await alerts.apply();
  return { alert, shown: new Set(output.map(({ uuid }) => uuid)) };
}

/** With `force`, or when it runs nowhere, the change holds at once; else processes keep what they have until they restart. */
export async function changeAlert(
  alerts: Alerts,
  user: User,
  uuid: string,
  body: AlertChange,
  force: boolean,
): Promise<ChangedAlert> {
  const { sql, config, delivery } = alerts.deps;
  const before = await findAlert(sql, user.uuid, uuid);
  const type = expectType(alerts.deps.alertTypes, before.type, "/type");
  const given = body.output as readonly GivenOutput[] | undefined;
  const read = (row: AlertRow) => readConfiguration(alerts, type, body, row.configuration as CompleteConfiguration);
  const { faults } = await read(before);
  const flaws = [...findScheduleFaults(body.schedule ?? null), ...checkOutputs(given ?? [])];
  rejectFaults([...checkNames(body), ...checkType(body, before), ...faults, ...flaws]);
  if (given !== undefined) await guardOutputs(given, config);
  const changed = await sql.begin(async (transaction) => {
    const row = await lockAlert(transaction, user.uuid, uuid);
    // Another change may have been committed meanwhile: its values hold for what is not given here.
    const { configuration, faults: late } = await read(row);
    rejectFaults(late);
    const status = body.status ?? row.status;
    const isIdle = status === "inactive" || row.status === "inactive" || !(await isPaired(transaction, uuid));
    const isImmediate = force || isIdle;
    const known = await listOutputs(transaction, uuid);
    const output =
      given === undefined ? row.output : storeOutputs(given, known, isImmediate ? isSameReceiver : isSameOutput);
    const schedule = body.schedule === undefined ? row.schedule : body.schedule;
    const weight = weigh(configuration, schedule);
    const update = { alias: body.alias ?? row.alias, status, schedule, configuration, output, weight };
    await updateAlert(transaction, user.uuid, uuid, update, limitsOf(user));
    if (isImmediate) await renewPairs(transaction, uuid);
    // A receiver that answered 410 Gone is tried again when the user names it again.
    const isNamed = given !== undefined || (status === "active" && row.status === "inactive");
    await syncDestinations(transaction, user, uuid, known, { isNamed, smtp: config.smtp });
    return { alert: await findAlert(transaction, user.uuid, uuid), shown: newSecrets(output, known) };
  });
  delivery.wake();
  await alerts.apply();
  return changed;
}

/** Stops it on every process first. Removes the queues of its outputs. */
export async function removeAlert(alerts: Alerts, user: User, uuid: string): Promise<void> {
  const { sql } = alerts.deps;
  await stopAlert(sql, user.uuid, uuid);
  await alerts.apply();
  await sql.begin(async (transaction) => {
    await lockAlert(transaction, user.uuid, uuid);
    const outputs = await listOutputs(transaction, uuid);
    await deleteAlert(transaction, uuid);
    for (const each of sortOutputs(outputs)) await removeDestination(transaction, each.uuid);
  });
}

/** Saves the destinations that are in use, and closes the others. `isNamed`: also those that have not changed. */
async function syncDestinations(
  sql: Queries,
  user: User,
  alertUuid: string,
  before: readonly StoredOutput[],
  { isNamed, smtp }: { readonly isNamed: boolean; readonly smtp: Config["smtp"] },
): Promise<void> {
  const now = new Map((await listOutputs(sql, alertUuid)).map((output) => [output.uuid, output]));
  const known = new Map(before.map((output) => [output.uuid, output]));
  for (const { uuid } of sortOutputs([...new Map([...known, ...now]).values()])) {
    const [old, output] = [known.get(uuid), now.get(uuid)];
    if (output === undefined) await closeDestination(sql, uuid);
    else if (isNamed || old === undefined || !isSameOutput(old, output))
      await saveDestination(sql, destinationOf(output, user.uuid, smtp));
  }
}

/** The order in which destinations are locked everywhere. */
const sortOutputs = (outputs: readonly StoredOutput[]): readonly StoredOutput[] =>
  [...outputs].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));

const newSecrets = (output: readonly StoredOutput[], before: readonly StoredOutput[]): ReadonlySet<string> => {
  const secretOf = (each: StoredOutput) => (each.type === "webhook" ? each.config.secret : null);
  const known = new Set(before.map(secretOf));
  return new Set(output.filter((each) => !known.has(secretOf(each))).map(({ uuid }) => uuid));
};

/** Fields of records that clients may send back. */
const SHOWN = ["uuid", "alert_uuid", "process_uuid", "pending", "delivery", "created_at"];

/** Unknown fields are ignored, except for misspelt ones: they would silently have no effect. */
function checkNames(body: object): readonly InputFault[] {
  const known: readonly string[] = [
    ...CONFIGURATION_FIELDS,
    "output",
    "evidence",
    "status",
    "schedule",
    "force",
    "alias",
    "type",
  ];
  return Object.keys(body).flatMap((name) => {
    const meant = known.includes(name) || SHOWN.includes(name) ? undefined : suggest(name, known);
    const path = `/${name.slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return meant === undefined ? [] : [{ path, message: `is not known; did you mean "${meant}"?` }];
  });
}

const findScheduleFaults = (schedule: Schedule | null): readonly InputFault[] =>
  schedule === null ? [] : checkSchedule(schedule).map(({ path, message }) => ({ path: `/schedule${path}`, message }));

function checkType({ type }: AlertChange, before: AlertRow): readonly InputFault[] {
  if (type === undefined || type === before.type) return [];
  const message = `cannot be changed: it is "${before.type}"; delete the alert and create another`;
  return [{ path: "/type", message }];
}

/** Alerts as clients see them. `shown`: outputs whose secrets are shown this once. */
export async function describeAlerts(
  sql: Queries,
  rows: readonly AlertRow[],
  shown: ReadonlySet<string> = new Set(),
): Promise<AlertRecord[]> {
  const uuids = rows.flatMap((row) => (row.running ?? row).output.map(({ uuid }) => uuid));
  const statuses = await readStatuses(sql, [...new Set(uuids)]);
  return rows.map((row) => {
    const { uuid, alias, type, status, schedule, running, processUuid, createdAt } = row;
    const current: AlertSetting = running ?? row;
    return {
      ...{ uuid, alert_uuid: uuid, alias, type, status, schedule },
      ...describeSetting(current, shown),
      pending: running === null ? null : describeSetting(row, shown),
      process_uuid: processUuid,
      delivery: current.output.map((output) => ({ type: output.type, ...describeStatus(statuses.get(output.uuid)) })),
      created_at: createdAt,
    };
  });
}

function describeSetting({ configuration, output }: AlertSetting, shown: ReadonlySet<string>) {
  const { trigger, region, filter, parameters, evidence = null } = configuration as CompleteConfiguration;
  const outputs = output.map((each) => describeOutput(each, shown.has(each.uuid)));
  return { trigger, region, filter, parameters, output: outputs, evidence };
}

export function describeType({ name, about, schemas, example }: AlertTypeDefinition): AlertDescription {
  const { trigger, region, filter, parameters } = schemas;
  // Plain JSON: TypeBox marks its schemas.
  const plain = JSON.parse(JSON.stringify({ trigger, region, filter, parameters })) as AlertDescription["schemas"];
  return { name, type: name, description: about, schemas: plain, example };
}

/** Throws `invalid_input` for an unknown name. */
export function expectType(types: readonly AlertTypeDefinition[], name: string, path: string): AlertTypeDefinition {
  const type = findAlertType(types, name);
  if (typeof type !== "string") return type;
  throw new ServiceError("invalid_input", { detail: `${path}: ${type}`, errors: [{ path, message: type }] });
}

/**
 * The given parts in place of those before, with defaults; not usable when there are faults. Class names are checked only
 * where they are given: a model may have been removed since.
 */
async function readConfiguration(
  { deps }: Alerts,
  type: AlertTypeDefinition,
  given: GivenConfiguration,
  before: CompleteConfiguration | null,
): Promise<{ readonly configuration: CompleteConfiguration; readonly faults: readonly InputFault[] }> {
  const sent = CONFIGURATION_FIELDS.filter((field) => given[field] !== undefined);
  const merged = { ...before, ...Object.fromEntries(sent.map((field) => [field, given[field]])) };
  const known = given.filter === undefined ? [] : await deps.classNames();
  const classNames = known.length === 0 ? null : [...known].sort();
  const { evidence: stored, ...parts } = merged as CompleteConfiguration;
  const checked = checkConfiguration(type, parts, classNames);
  const evidence = given.evidence === undefined ? stored : completeEvidence(given.evidence);
  return {
    configuration: { ...(checked.configuration ?? parts), ...(evidence !== undefined && { evidence }) },
    faults: checked.faults ?? [],
  };
}

/** All of it goes to the runner. */
const weigh = (configuration: CompleteConfiguration, schedule: Schedule | null): number =>
  countValues(configuration) + (schedule === null ? 0 : countValues(schedule));

/** The number of values that it holds, itself included. */
function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((count: number, inner) => count + countValues(inner), 1);
}
