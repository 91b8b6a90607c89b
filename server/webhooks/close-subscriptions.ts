import type { Delivery } from "../delivery/delivery.ts";
import type { Sql } from "../store/client.ts";
import { deleteSubscriptions } from "../store/subscriptions.ts";

/** They are over; what waits for their receivers is still delivered. Of several that do this at once, one does. */
export async function closeSubscriptions(
  sql: Sql,
  delivery: Pick<Delivery, "closeDestination">,
  uuids: readonly string[],
): Promise<void> {
  await sql.begin(async (transaction) => {
    const gone = await deleteSubscriptions(transaction, uuids);
    // Sent together and done in this order.
    await Promise.all(gone.map((uuid) => delivery.closeDestination(transaction, uuid)));
  });
}
