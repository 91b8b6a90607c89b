/** Alerts as users make, change and remove them. What is changed is written down first, and then put into effect. */

import { CONFIGURATION_FIELDS, MOST_RULES } from "../../schemas/alerts.ts";
import type { AlertChange, NewAlert } from "../../schemas/api/alerts.ts";
import { suggest } from "../../schemas/suggest.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import { isPaired, listOutputs, renewPairs } from "../store/alert-pairs.ts";
import {
  type AlertBounds,
  type AlertRow,
  deleteAlert,
  findAlert,
  insertAlert,
  lockAlert,
  type StoredOutput,
  stopAlert,
  updateAlert,
} from "../store/alerts.ts";
import type { Queries } from "../store/client.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import type { Alerts } from "./alerts.ts";
import { type WholeConfiguration, weigh } from "./configuration.ts";
import {
  checkOutputs,
  destinationOf,
  type GivenOutput,
  guardOutputs,
  isSameOutput,
  isSameReceiver,
  keepOutputs,
} from "./outputs.ts";

/** An alert, and the outputs whose secrets are shown this once. */
export interface ChangedAlert {
  readonly alert: AlertRow;
  readonly shown: ReadonlySet<string>;
}

/** What the text of a graph may hold, and some room: runners are told all rules in one. */
const MOST_VALUES = 30_000;

const boundsOf = ({ limits }: User): AlertBounds => ({
  alerts: Math.min(limits.alerts, MOST_RULES),
  weight: MOST_VALUES,
});

/** `processUuid`: of that process alone, which can evaluate it. */
export async function registerAlert(
  alerts: Alerts,
  user: User,
  body: NewAlert,
  processUuid: string | null,
): Promise<ChangedAlert> {
  const { sql, delivery, config } = alerts.needs;
  const type = alerts.types.expect(body.type, "/type");
  const given = body.output as readonly GivenOutput[];
  const { configuration, faults } = await alerts.types.read(type, body, null);
  refuse([...checkNames(body), ...faults, ...checkOutputs(given)]);
  if (configuration === null) throw new Error("a configuration without a fault is none");
  await guardOutputs(given, config.network);
  const uuid = newUuid();
  const output = keepOutputs(given, [], () => false);
  const alert = await sql.begin(async (transaction) => {
    const row = { uuid, processUuid, alias: body.alias, type: type.name, status: body.status ?? "active" } as const;
    await insertAlert(
      transaction,
      user.uuid,
      { ...row, configuration, output, weight: weigh(configuration) },
      boundsOf(user),
    );
    for (const each of output) await delivery.saveDestination(transaction, destinationOf(each, user.uuid));
    return findAlert(transaction, user.uuid, uuid);
  });
  await alerts.apply();
  return { alert, shown: new Set(output.map((each) => each.uuid)) };
}

/** With `force` all processes run with it at once; else they go on with what they have, unless it runs nowhere. */
export async function changeAlert(
  alerts: Alerts,
  user: User,
  uuid: string,
  body: AlertChange,
  force: boolean,
): Promise<ChangedAlert> {
  const { sql, config } = alerts.needs;
  const before = await findAlert(sql, user.uuid, uuid);
  const type = alerts.types.expect(before.type, "/type");
  const given = body.output as readonly GivenOutput[] | undefined;
  const read = (row: AlertRow) => alerts.types.read(type, body, row.configuration as WholeConfiguration);
  const { faults } = await read(before);
  refuse([
    ...checkNames(body),
    ...(body.type === undefined || body.type === before.type ? [] : [refuseType(before.type)]),
    ...faults,
    ...(given === undefined ? [] : checkOutputs(given)),
  ]);
  if (given !== undefined) await guardOutputs(given, config.network);
  const changed = await sql.begin(async (transaction) => {
    const row = await lockAlert(transaction, user.uuid, uuid);
    // Another change may have come in between: what is not given stays what that one made of it.
    const { configuration, faults: late } = await read(row);
    refuse(late);
    if (configuration === null) throw new Error("a configuration without a fault is none");
    const status = body.status ?? row.status;
    // Where it runs nowhere there is nothing that could go on with what it had.
    const isIdle = status === "inactive" || row.status === "inactive" || !(await isPaired(transaction, uuid));
    const isAtOnce = force || isIdle;
    const known = await knownOutputs(transaction, row);
    const output =
      given === undefined ? row.output : keepOutputs(given, known, isAtOnce ? isSameReceiver : isSameOutput);
    const update = { alias: body.alias ?? row.alias, status, configuration, output, weight: weigh(configuration) };
    await updateAlert(transaction, user.uuid, uuid, update, boundsOf(user));
    if (isAtOnce) await renewPairs(transaction, uuid);
    await settleDestinations(alerts, transaction, user, uuid, known);
    return { alert: await findAlert(transaction, user.uuid, uuid), shown: newSecrets(output, known) };
  });
  alerts.needs.delivery.wake();
  await alerts.apply();
  return changed;
}

/** Stopped on every process first. What waits for its outputs goes with it. */
export async function removeAlert(alerts: Alerts, user: User, uuid: string): Promise<void> {
  const { sql, delivery } = alerts.needs;
  await stopAlert(sql, user.uuid, uuid);
  await alerts.apply();
  await sql.begin(async (transaction) => {
    await lockAlert(transaction, user.uuid, uuid);
    const outputs = await listOutputs(transaction, uuid);
    await deleteAlert(transaction, uuid);
    for (const each of sortOutputs(outputs)) await delivery.removeDestination(transaction, each.uuid);
  });
}

/** The newest first, each destination once. */
async function knownOutputs(sql: Queries, row: AlertRow): Promise<readonly StoredOutput[]> {
  const newest = new Set(row.output.map(({ uuid }) => uuid));
  const others = (await listOutputs(sql, row.uuid)).filter(({ uuid }) => !newest.has(uuid));
  return [...row.output, ...others];
}

/** Those that are told from now on, or still, are as they should be; the others take nothing more. */
async function settleDestinations(
  { needs: { delivery } }: Alerts,
  sql: Queries,
  user: User,
  alertUuid: string,
  before: readonly StoredOutput[],
): Promise<void> {
  const now = new Map((await listOutputs(sql, alertUuid)).map((output) => [output.uuid, output]));
  const known = new Map(before.map((output) => [output.uuid, output]));
  for (const { uuid } of sortOutputs([...new Map([...known, ...now]).values()])) {
    const [old, output] = [known.get(uuid), now.get(uuid)];
    if (output === undefined) await delivery.closeDestination(sql, uuid);
    else if (old === undefined || !isSameOutput(old, output))
      await delivery.saveDestination(sql, destinationOf(output, user.uuid));
  }
}

/** Whoever locks several destinations does so in this order. */
const sortOutputs = (outputs: readonly StoredOutput[]): readonly StoredOutput[] =>
  [...outputs].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));

const newSecrets = (output: readonly StoredOutput[], before: readonly StoredOutput[]): ReadonlySet<string> => {
  const secretOf = (each: StoredOutput) => (each.type === "webhook" ? each.config.secret : null);
  const known = new Set(before.map(secretOf));
  return new Set(output.filter((each) => !known.has(secretOf(each))).map(({ uuid }) => uuid));
};

/** Fields that we do not know are ignored, but for those that are a slip of the pen: they would silently do nothing. */
function checkNames(body: object): readonly InputFault[] {
  const known: readonly string[] = [...CONFIGURATION_FIELDS, "output", "status", "force", "alias", "type"];
  return Object.keys(body).flatMap((name) => {
    const meant = known.includes(name) || SHOWN.has(name) ? undefined : suggest(name, known);
    return meant === undefined
      ? []
      : [{ path: `/${pointer(name)}`, message: `is not known; did you mean "${meant}"?` }];
  });
}

/** What records have besides, and may come back. */
const SHOWN = new Set(["uuid", "alert_uuid", "process_uuid", "pending", "delivery", "created_at"]);

const pointer = (name: string): string => name.slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1");

const refuseType = (type: string): InputFault => ({
  path: "/type",
  message: `cannot be changed: it is "${type}"; delete the alert and make another`,
});

function refuse(faults: readonly InputFault[]): void {
  const [first] = faults;
  if (first === undefined) return;
  throw new ServiceError("invalid_input", { detail: `${first.path} ${first.message}.`, errors: faults });
}
