import type { SubscriptionChoice } from "../../schemas/api/webhooks.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { Sql } from "../store/client.ts";
import { deleteSubscriptions } from "../store/subscriptions.ts";
import { chooseSubscriptions } from "./choose-subscriptions.ts";

/** With what waits for their receivers. Resolves with their uuids; rejects with `subscription_not_found`. */
export function removeSubscriptions(
  sql: Sql,
  delivery: Pick<Delivery, "removeDestination">,
  processUuid: string,
  choice: SubscriptionChoice,
): Promise<readonly string[]> {
  return sql.begin(async (transaction) => {
    const chosen = await chooseSubscriptions(transaction, processUuid, choice);
    const gone = await deleteSubscriptions(
      transaction,
      chosen.map(({ uuid }) => uuid),
    );
    // Sent together and done in this order.
    await Promise.all(gone.map((uuid) => delivery.removeDestination(transaction, uuid)));
    return gone;
  });
}
