/** The files of a replay: read, held against what the service takes, and shown with their faults. */
import type { Fault } from "../../graphs/compiler/fault.ts";
import { CommandFailure } from "../command.ts";
import type { Reporter } from "../run/reporter.ts";
import { showFaults } from "../show-faults.ts";
import type { Terminal } from "../terminal.ts";
import { listKnownClasses } from "./known-classes.ts";
import { type ReplayedAlert, readAlerts } from "./read-alerts.ts";
import { type ReplayedSubscriber, readSubscriptions } from "./read-subscriptions.ts";

export interface Replayed {
  /** Those that are active. */
  readonly alerts: readonly ReplayedAlert[];
  readonly subscribers: readonly ReplayedSubscriber[];
}

interface Files {
  readonly alerts: string | null;
  readonly subscriptions: string | null;
}

/** Null when there are faults; they have been shown. Rejects with `CommandFailure` for what cannot be read. */
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
    if (!isActive) reporter.note(`"${alias}" is inactive: left out`, { type: "inactive", alert: alias });
  const subscribers = subscriptions?.subscribers ?? [];
  if (active.length === 0 && subscribers.length === 0)
    throw new CommandFailure(`all alerts of ${files.alerts} are inactive: there is nothing to replay`);
  return { alerts: active, subscribers };
}
