/** `--alerts` and `--subscriptions`: read, validated as the API does, and reported with their faults. */

import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import { type Fault, FaultList } from "../../graphs/compiler/fault.ts";
import {
  type AlertConfiguration,
  type AlertRule,
  type AlertTypeDefinition,
  CONFIGURATION_FIELDS,
  MOST_RULES,
} from "../../schemas/alerts.ts";
import { newAlertOf } from "../../schemas/api/alerts.ts";
import { NewSubscription } from "../../schemas/api/webhooks.ts";
import { checkConfiguration, findAlertType } from "../../schemas/check-alert.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { checkSchedule, type Schedule } from "../../schemas/schedule.ts";
import { checkOutputs, type GivenOutput } from "../../server/alerts/outputs.ts";
import { checkAndFillBy } from "../../server/validation.ts";
import type { NotificationRule } from "../../server/webhooks/collectors.ts";
import { CommandFailure } from "../command.ts";
import { showFaults } from "../faults.ts";
import type { Reporter } from "../run/reporter.ts";
import type { Terminal } from "../terminal.ts";
import { listKnownClasses } from "./play-clip.ts";
import { locatePointer, readBodies, showPointer, type WrittenBody } from "./read-bodies.ts";
import { isUuid, type Receiver, readReceiver, uuidOf } from "./sending.ts";

export interface Replayed {
  /** The active ones. */
  readonly alerts: readonly ReplayedAlert[];
  readonly subscribers: readonly ReplayedSubscriber[];
}

interface Files {
  readonly alerts: string | null;
  readonly subscriptions: string | null;
}

/** Null when there are faults, which were shown. Rejects with `CommandFailure` for an unreadable file. */
export async function readReplayed(files: Files, reporter: Reporter, terminal: Terminal): Promise<Replayed | null> {
  const alerts = files.alerts === null ? null : readAlerts(files.alerts, await listKnownClasses());
  const subscriptions = files.subscriptions === null ? null : readSubscriptions(files.subscriptions);
  const faults: readonly Fault[] = [...(alerts?.faults ?? []), ...(subscriptions?.faults ?? [])];
  const textOf = (file: string | null) => (file === files.alerts ? alerts?.text : subscriptions?.text);
  showFaults(faults, textOf, terminal);
  if (faults.length > 0) return null;
  const all = alerts?.alerts ?? [];
  const active = all.filter(({ isActive }) => isActive);
  for (const { alias, isActive } of all)
    if (!isActive) reporter.note(`"${alias}" is inactive and was skipped`, { type: "inactive", alert: alias });
  const subscribers = subscriptions?.subscribers ?? [];
  if (active.length === 0 && subscribers.length === 0)
    throw new CommandFailure(`all alerts of ${files.alerts} are inactive; there is nothing to replay`);
  return { alerts: active, subscribers };
}

/** A body of `POST /alert`, or an alert of a listing. */
export interface ReplayedAlert {
  readonly uuid: string;
  readonly alias: string;
  readonly type: string;
  readonly configuration: Required<AlertConfiguration>;
  readonly schedule: Schedule | null;
  readonly to: readonly Receiver[];
  readonly isActive: boolean;
}

export interface AlertFile {
  readonly text: string;
  /** Empty if there are faults. */
  readonly alerts: readonly ReplayedAlert[];
  readonly faults: readonly Fault[];
}

const checkBody = checkAndFillBy(newAlertOf(ALERT_TYPES));

/** Throws `CommandFailure` for a file that cannot be read. */
export function readAlerts(file: string, classNames: readonly string[] | null): AlertFile {
  const { text, bodies, faults: unreadable } = readBodies(file, "alerts");
  const faults = new FaultList(file);
  faults.addAll(unreadable);
  const alerts = checkAlerts(bodies, classNames, faults);
  const found = faults.sorted();
  return { text, alerts: found.length === 0 ? alerts : [], faults: found };
}

/** Those without faults. */
export function checkAlerts(
  bodies: readonly WrittenBody[],
  classNames: readonly string[] | null,
  faults: FaultList,
): readonly ReplayedAlert[] {
  const taken = new Set<string>();
  const alerts = bodies.flatMap((body) => {
    const alert = readAlert(body, classNames, taken, (path, message) =>
      faults.add("bad_property", locatePointer(body.at, path), `${showPointer(path)} ${message}`.trim()),
    );
    return alert === null ? [] : [alert];
  });
  const [first] = bodies;
  if (first !== undefined && alerts.filter(({ isActive }) => isActive).length > MOST_RULES)
    faults.add("document_shape", first.at.at, `the list has ${alerts.length} alerts`, {
      expected: `up to ${MOST_RULES} active alerts`,
    });
  return alerts;
}

type AddFault = (path: string, message: string) => void;

function readAlert(
  { value }: WrittenBody,
  classNames: readonly string[] | null,
  taken: Set<string>,
  addFault: AddFault,
): ReplayedAlert | null {
  const type = findType(value, addFault);
  if (type === null) return null;
  const shape = checkBody(structuredClone(value));
  for (const { path, message } of shape) addFault(path, message);
  if (shape.length > 0) return null;
  const output = (value.output ?? []) as unknown as readonly GivenOutput[];
  const flaws = checkOutputs(output);
  for (const { path, message } of flaws) addFault(path, message);
  const schedule = (value.schedule ?? null) as unknown as Schedule | null;
  const late = schedule === null ? [] : checkSchedule(schedule);
  for (const { path, message } of late) addFault(`/schedule${path}`, message);
  const { configuration, faults } = checkConfiguration(type, pickConfiguration(value), classNames);
  for (const { path, message } of faults ?? []) addFault(path, message);
  if (configuration === undefined || flaws.length > 0 || late.length > 0) return null;
  const alias = String(value.alias);
  return {
    uuid: identify(value, alias, taken),
    alias,
    type: type.name,
    configuration,
    schedule,
    to: (output as unknown as readonly JsonRecord[]).flatMap(readReceiver),
    isActive: value.status !== "inactive",
  };
}

/** Checked first: the other fields depend on it. */
function findType({ type }: JsonRecord, addFault: AddFault): AlertTypeDefinition | null {
  if (typeof type !== "string") {
    const names = ALERT_TYPES.map(({ name }) => name).join(", ");
    addFault("/type", type === undefined ? `is missing; expected ${names}` : `is not a string; expected ${names}`);
    return null;
  }
  const found = findAlertType(ALERT_TYPES, type);
  if (typeof found !== "string") return found;
  addFault("/type", found);
  return null;
}

const pickConfiguration = (value: JsonRecord): AlertConfiguration =>
  Object.fromEntries(
    CONFIGURATION_FIELDS.flatMap((field) => (value[field] === undefined ? [] : [[field, value[field]]])),
  );

/** Its own uuid if that is unique in the file, else one derived from its alias. */
function identify(value: JsonRecord, alias: string, taken: Set<string>): string {
  const own = value.uuid ?? value.alert_uuid;
  let uuid = isUuid(own) ? own : uuidOf("alert", alias);
  for (let number = 2; taken.has(uuid); number++) uuid = uuidOf("alert", alias, String(number));
  taken.add(uuid);
  return uuid;
}

export const ruleOf = ({ uuid, type, configuration, schedule }: ReplayedAlert): AlertRule => ({
  ...{ alert: uuid, type, ...configuration },
  ...(schedule !== null && { schedule }),
});

/** A body of `POST /subscribe`, or a subscription of a listing. */
export interface ReplayedSubscriber {
  /** Without credentials. */
  readonly url: string;
  readonly rule: NotificationRule;
}

export interface SubscriptionFile {
  readonly text: string;
  /** Empty if there are faults. */
  readonly subscribers: readonly ReplayedSubscriber[];
  readonly faults: readonly Fault[];
}

const checkSubscription = checkAndFillBy(NewSubscription);

/** Throws `CommandFailure` for a file that cannot be read. */
export function readSubscriptions(file: string): SubscriptionFile {
  const { text, bodies, faults: unreadable } = readBodies(file, "subscriptions");
  const faults = new FaultList(file);
  faults.addAll(unreadable);
  const taken = new Set<string>();
  const subscribers = bodies.flatMap(({ value, at }) => {
    const wrong = checkSubscription(value);
    for (const { path, message } of wrong)
      faults.add("bad_property", locatePointer(at, path), `${showPointer(path)} ${message}`.trim());
    if (wrong.length > 0) return [];
    const { notification_url: url, event_type: eventType, ...rest } = value as unknown as NewSubscription;
    const name = `${eventType} ${url}`;
    if (taken.has(name))
      faults.add("bad_property", at.at, `there is already a subscription to ${eventType} for this address`, {
        expected: "one per type and address",
      });
    taken.add(name);
    const backoffMs = rest.notifier_policy_args.backoff_seconds * 1000;
    return [{ url: maskCredentials(url), rule: { eventType, format: rest.notification_format, backoffMs } }];
  });
  const found = faults.sorted();
  return { text, subscribers: found.length === 0 ? subscribers : [], faults: found };
}
