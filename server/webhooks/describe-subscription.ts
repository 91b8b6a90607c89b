import type { CreatedSubscription, SubscriptionRecord } from "../../schemas/api/webhooks.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { DeliveryStanding } from "../delivery/delivery.ts";
import type { SubscriptionRow } from "../store/subscriptions.ts";

const describe = (row: SubscriptionRow): Omit<CreatedSubscription, "secret"> => ({
  uuid: row.uuid,
  subscription_uuid: row.uuid,
  process_uuid: row.processUuid,
  notification_url: maskCredentials(row.notificationUrl),
  event_type: row.eventType,
  auth_url: row.authUrl === null ? null : maskCredentials(row.authUrl),
  notifier_policy_type: "backoff",
  notifier_policy_args: { backoff_seconds: row.policy.backoff_seconds },
  notification_format: row.format,
  created_at: row.createdAt,
});

/** With its secret: the one time that it is shown. */
export const describeCreated = (row: SubscriptionRow): CreatedSubscription => ({
  ...describe(row),
  secret: row.secret,
});

export const describeSubscription = (
  row: SubscriptionRow,
  standing: DeliveryStanding | undefined,
): SubscriptionRecord => ({
  ...describe(row),
  delivery: {
    waiting: standing?.waiting ?? 0,
    delivered: standing?.delivered ?? 0,
    dropped: standing?.dropped ?? 0,
    last_attempt_at: standing?.lastAttemptAt?.toISOString() ?? null,
    last_delivered_at: standing?.lastDeliveredAt?.toISOString() ?? null,
    last_error: standing?.lastError ?? null,
  },
});
