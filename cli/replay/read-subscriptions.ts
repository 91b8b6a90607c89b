/** `--subscriptions FILE`: bodies of `POST /subscribe`, or records of it. */
import type { Fault } from "../../graphs/compiler/fault.ts";
import { FaultList } from "../../graphs/compiler/fault-list.ts";
import { NewSubscription } from "../../schemas/api/webhooks.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { checkAndFillBy } from "../../server/validation.ts";
import type { NotificationRule } from "../../server/webhooks/collectors.ts";
import { locatePointer, readBodies, showPointer } from "./read-bodies.ts";

export interface ReplayedSubscriber {
  /** Without credentials. */
  readonly url: string;
  readonly rule: NotificationRule;
}

export interface SubscriptionFile {
  readonly text: string;
  /** None where there are faults. */
  readonly subscribers: readonly ReplayedSubscriber[];
  readonly faults: readonly Fault[];
}

const check = checkAndFillBy(NewSubscription);

/** Throws `CommandFailure` for a file that cannot be read. */
export function readSubscriptions(file: string): SubscriptionFile {
  const { text, bodies, faults: unreadable } = readBodies(file, "subscriptions");
  const faults = new FaultList(file);
  faults.addAll(unreadable);
  const taken = new Set<string>();
  const subscribers = bodies.flatMap(({ value, at }) => {
    const wrong = check(value);
    for (const { path, message } of wrong)
      faults.add("bad_property", locatePointer(at, path), `${showPointer(path)} ${message}`.trim());
    if (wrong.length > 0) return [];
    const { notification_url: url, event_type: eventType, ...rest } = value as unknown as NewSubscription;
    const name = `${eventType} ${url}`;
    if (taken.has(name))
      faults.add("bad_property", at.at, `there is a subscription to ${eventType} for this address already`, {
        expected: "one for each type and address",
      });
    taken.add(name);
    const backoffMs = rest.notifier_policy_args.backoff_seconds * 1000;
    return [{ url: maskCredentials(url), rule: { eventType, format: rest.notification_format, backoffMs } }];
  });
  const found = faults.sorted();
  return { text, subscribers: found.length === 0 ? subscribers : [], faults: found };
}
