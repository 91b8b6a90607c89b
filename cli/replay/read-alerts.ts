/** `--alerts` and `--subscriptions`: read, validated as the API does, and reported with their faults. */

import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import { type Fault, FaultList } from "../../graphs/compiler/fault.ts";
import { locatePointer, showPointer } from "../../graphs/compiler/located.ts";
import { NewSubscription } from "../../schemas/api/webhooks.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { checkAlertsOf, type WrittenAlert } from "../../server/alerts/written-alerts.ts";
import { checkAndFillBy } from "../../server/validation.ts";
import type { NotificationRule } from "../../server/webhooks/collectors.ts";
import { CommandFailure } from "../command.ts";
import { showFaults } from "../faults.ts";
import type { Reporter } from "../run/reporter.ts";
import type { Terminal } from "../terminal.ts";
import { listKnownClasses } from "./play-clip.ts";
import { readBodies } from "./read-bodies.ts";
import { type Receiver, readReceiver } from "./sending.ts";

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

/** An alert with its destinations. */
export interface ReplayedAlert extends WrittenAlert {
  readonly to: readonly Receiver[];
}

export interface AlertFile {
  readonly text: string;
  /** Empty if there are faults. */
  readonly alerts: readonly ReplayedAlert[];
  readonly faults: readonly Fault[];
}

export const checkAlerts = checkAlertsOf(ALERT_TYPES);

/** Throws `CommandFailure` for a file that cannot be read. */
export function readAlerts(file: string, classNames: readonly string[] | null): AlertFile {
  const { text, bodies, faults: unreadable } = readBodies(file, "alerts");
  const faults = new FaultList(file);
  faults.addAll(unreadable);
  const alerts = checkAlerts(bodies, classNames, faults).map((alert) => ({
    ...{ ...alert, to: alert.output.flatMap(readReceiver) },
  }));
  const found = faults.sorted();
  return { text, alerts: found.length === 0 ? alerts : [], faults: found };
}

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
