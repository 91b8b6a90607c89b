import type { Delivery } from "../delivery/delivery.ts";
import { listOutputs, unpairProcess } from "../store/alert-pairs.ts";
import type { Sql } from "../store/client.ts";
import { lockUser } from "../store/users.ts";

interface EndNeeds {
  readonly sql: Sql;
  readonly delivery: Pick<Delivery, "closeDestination" | "wake">;
}

/** Of a process that has ended: its own alerts go with it. What waits for their outputs is still delivered. */
export async function endProcess(
  { sql, delivery }: EndNeeds,
  { uuid, userUuid }: { readonly uuid: string; readonly userUuid: string },
): Promise<void> {
  await sql.begin(async (transaction) => {
    await lockUser(transaction, userUuid);
    const { alerts, outputs } = await unpairProcess(transaction, uuid);
    const used = new Set<string>();
    for (const alert of alerts) for (const output of await listOutputs(transaction, alert)) used.add(output.uuid);
    const unused = new Set(outputs.map((output) => output.uuid).filter((output) => !used.has(output)));
    // By their uuids, as all do who lock several.
    for (const output of [...unused].sort()) await delivery.closeDestination(transaction, output);
  });
  delivery.wake();
}
