import type { SubscriptionChoice } from "../../schemas/api/webhooks.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { ServiceError } from "../service-error.ts";
import type { Queries } from "../store/client.ts";
import { listSubscriptions, type SubscriptionRow } from "../store/subscriptions.ts";

/** Rejects with `subscription_not_found` when it is none. A url is meant as it was given, and else as it is shown. */
export async function chooseSubscriptions(
  sql: Queries,
  processUuid: string,
  { notification_url: url, event_type: type }: SubscriptionChoice,
): Promise<readonly SubscriptionRow[]> {
  const { rows } = await listSubscriptions(sql, processUuid);
  const ofType = rows.filter(({ eventType }) => type === undefined || eventType === type);
  const given = ofType.filter(({ notificationUrl }) => url === undefined || notificationUrl === url);
  const shown = ofType.filter(({ notificationUrl }) => maskCredentials(notificationUrl) === url);
  const chosen = given.length > 0 ? given : shown;
  if (chosen.length > 0) return chosen;
  const which = [type, url === undefined ? undefined : `to ${maskCredentials(url)}`].filter(
    (word) => word !== undefined,
  );
  throw new ServiceError("subscription_not_found", {
    detail: `there is no subscription ${[...which, ""].join(" ")}of this process; GET /subscriptions/${processUuid} lists those there are`,
  });
}
