import type { Destination } from "../delivery/delivery.ts";
import type { NewSubscriptionRow } from "../store/subscriptions.ts";

/** A subscription is a receiver of its own, by its own uuid. */
export const destinationOf = ({
  uuid,
  userUuid,
  notificationUrl,
  secret,
  authUrl,
}: NewSubscriptionRow): Destination => ({
  ...{ uuid, userUuid },
  target: { kind: "webhook", url: notificationUrl, secret, authUrl },
});
