/** Subscriptions to the events of an account, with the outputs of alerts: created, described, deleted and tested. */
import type { AccountEvent, EventSubscription, NewEventSubscription } from "../../schemas/api/account-events.ts";
import type { Config } from "../../schemas/config.ts";
import {
  checkOutputs,
  describeOutput,
  destinationOf,
  type GivenOutput,
  guardOutputs,
  rejectFaults,
  storeOutputs,
} from "../alerts/outputs.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import { describeStatus, type Outbox } from "../delivery/outbox.ts";
import type { Sql } from "../store/client.ts";
import { type DeliveryStatus, removeDestination, saveDestination } from "../store/destinations.ts";
import {
  deleteEventSubscription,
  type EventSubscriptionRow,
  insertEventSubscription,
} from "../store/event-subscriptions.ts";
import { findSource } from "../store/sources.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";

interface SubscribeDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "network" | "smtp">;
}

/** Rejects with `invalid_input`, `address_refused`, `source_not_found` and `subscriptions_limit_reached`. */
export async function subscribe(
  { sql, config }: SubscribeDeps,
  user: User,
  { output, types = [], source_uuid }: NewEventSubscription,
): Promise<EventSubscriptionRow> {
  // Checked against the schemas of their types.
  const given = output as readonly GivenOutput[];
  const sourceUuid = source_uuid ?? null;
  const sourceUuids = sourceUuid === null ? user.key.sourceUuids : null;
  rejectFaults(checkOutputs(given));
  if (sourceUuid !== null) await findSource(sql, user.uuid, sourceUuid);
  await guardOutputs(given, config);
  const stored = storeOutputs(given, [], () => false);
  return sql.begin(async (transaction) => {
    const chosen = { types: [...new Set(types)], sourceUuid, sourceUuids };
    const row = { uuid: newUuid(), userUuid: user.uuid, output: stored, ...chosen };
    const inserted = await insertEventSubscription(transaction, row, user.limits.subscriptions);
    for (const each of stored) await saveDestination(transaction, destinationOf(each, user.uuid, config.smtp));
    return inserted;
  });
}

/** With what waits for its receivers. */
export async function unsubscribe(sql: Sql, user: User, uuid: string): Promise<void> {
  await sql.begin(async (transaction) => {
    const { output } = await deleteEventSubscription(transaction, user, uuid);
    for (const each of [...output].sort((a, b) => (a.uuid < b.uuid ? -1 : 1)))
      await removeDestination(transaction, each.uuid);
  });
}

export function describeSubscription(
  row: EventSubscriptionRow,
  statuses: ReadonlyMap<string, DeliveryStatus>,
  showsSecret: boolean,
): EventSubscription {
  const types = row.types as EventSubscription["types"];
  return {
    ...{ uuid: row.uuid, subscription_uuid: row.uuid, types, source_uuid: row.sourceUuid },
    ...{ source_uuids: row.sourceUuids === null ? null : [...row.sourceUuids], created_at: row.createdAt },
    output: row.output.map((output) => describeOutput(output, showsSecret) as EventSubscription["output"][number]),
    delivery: row.output.map(({ uuid, type }) => ({
      type: type as "webhook" | "mqtt",
      ...describeStatus(statuses.get(uuid)),
    })),
  };
}

/** Sends a sample to each output, once and now. */
export async function testSubscription(
  { delivery, config }: Pick<SubscribeDeps, "config"> & { readonly delivery: Pick<Outbox, "attempt"> },
  { userUuid, output, types, sourceUuid, sourceUuids }: EventSubscriptionRow,
  limitMs: number,
) {
  const id = newUuid();
  const source = sourceUuid ?? sourceUuids?.[0] ?? null;
  const sample: AccountEvent & { readonly sample: true } = {
    ...{ id: 1, uuid: id, type: (types[0] ?? "stream-began") as AccountEvent["type"] },
    ...{ timestamp: new Date().toISOString(), source_uuid: source, process_uuid: null, data: {}, sample: true },
  };
  return Promise.all(
    output.map(async (each) => {
      const destination = destinationOf(each, userUuid, config.smtp);
      const sent = delivery.attempt(destination, { id, body: JSON.stringify(sample) });
      const result = await withTimeout(limitMs, sent);
      const late = { delivered: false, detail: `it was not delivered within the ${limitMs / 1000} s of this test` };
      const { delivered, detail } = result === TIMED_OUT ? late : result;
      return { type: each.type as "webhook" | "mqtt", delivered, detail: delivered ? null : detail };
    }),
  );
}
