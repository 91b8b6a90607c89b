/** Webhooks: subscriptions of a client's URL to events of a process. */
import {
  CreatedSubscription,
  DeletedSubscriptions,
  NewSubscription,
  NewTracksNotification,
  SubscriptionChoice,
  SubscriptionListing,
  SubscriptionQuery,
  TargetCountNotification,
  TestedSubscriptions,
} from "../../schemas/api/webhooks.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { Processes } from "../processes/processes.ts";
import type { Sql } from "../store/client.ts";
import { readStatuses } from "../store/destinations.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import {
  describeCreated,
  describeSubscription,
  selectSubscriptions,
  testSubscriptions,
} from "../webhooks/subscriptions.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { type AnyEndpoint, defineEndpoints, listing, ok } from "./endpoint.ts";
import { expectProcess } from "./processes.ts";

interface WebhookDeps {
  readonly sql: Sql;
  readonly processes: Pick<Processes, "expectOffer">;
  readonly delivery: Pick<Outbox, "attempt">;
  readonly webhooks: Webhooks;
  /** Time limit of `POST /subscriptions/{process_uuid}/test`; set in tests. */
  readonly testMs?: number;
}

const TEST_MS = 10_000;

const define = defineEndpoints("Webhooks");
const CHOICE =
  "`notification_url` and `event_type` select subscriptions, in the query or in a body; the query takes precedence.";

export function webhookEndpoints(deps: WebhookDeps): readonly AnyEndpoint[] {
  const { sql, processes, delivery, webhooks, testMs = TEST_MS } = deps;
  return [
    define("POST", "/subscribe/{process_uuid}", "subscribe", {
      summary: "Subscribe a URL to events of a process",
      description:
        "Notifications are sent as JSON by POST, signed as defined by Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Any 2xx status accepts a notification; otherwise it is retried with backoff for ten minutes, and later notifications are queued behind it. Redirects are not followed. Delivery is at least once: a repeated notification has the same `webhook-id`. The first notification is sent at once; events within the interval are combined into the next one. While the receiver is offline the undelivered notification stays queued, and new events are combined into the next one, which is sent an interval later. Tracks that are visible when the subscription starts count as new. A subscription ends with its process: combined events are then sent at once.",
      body: NewSubscription,
      answers: {
        201: { description: "Subscribed. The secret is shown only in this answer.", schema: CreatedSubscription },
      },
      sends: {
        "new-tracks": { description: "Tracks that were not reported before.", schema: NewTracksNotification },
        "target-count": { description: "The number of targets has changed.", schema: TargetCountNotification },
      },
      errors: [
        ...(["process_not_found", "graph_lacks", "wrong_state", "subscription_exists"] as const),
        ...(["subscriptions_limit_reached", "address_refused"] as const),
      ],
      async handle({ user, params: { process_uuid: processUuid }, body }) {
        const created = await webhooks.subscribe(processes, { user, processUuid, wish: body });
        return { status: 201, body: describeCreated(created) };
      },
    }),
    define("GET", "/subscriptions/{process_uuid}", "listSubscriptions", {
      summary: "List the subscriptions to a process, with their delivery status",
      query: SubscriptionQuery,
      answers: {
        200: { description: "Newest first; empty for a process that has ended.", schema: SubscriptionListing },
      },
      errors: ["process_not_found"],
      async handle({ user, params, query }) {
        const { uuid } = await expectProcess(sql, user, params.process_uuid);
        const page = await listSubscriptions(sql, uuid, { ...query, eventType: query.event_type });
        const uuids = page.rows.map((row) => row.uuid);
        const statuses = await readStatuses(sql, uuids);
        return listing("subscriptions", page, (row) => describeSubscription(row, statuses.get(row.uuid)));
      },
    }),
    define("DELETE", "/subscriptions/{process_uuid}", "unsubscribe", {
      summary: "Delete subscriptions to a process and their queued notifications",
      description: `${CHOICE} With neither, all subscriptions to the process are deleted.`,
      query: SubscriptionChoice,
      body: SubscriptionChoice,
      isBodyOptional: true,
      answers: {
        200: { description: "Deleted. `uuid` is set if there was exactly one.", schema: DeletedSubscriptions },
      },
      errors: ["process_not_found", "subscription_not_found"],
      async handle({ user, params, query, body }) {
        const { uuid: processUuid } = await expectProcess(sql, user, params.process_uuid);
        const uuids = await webhooks.unsubscribe(processUuid, { ...body, ...query });
        const [uuid] = uuids;
        return ok({ deleted: true, process_uuid: processUuid, uuids, ...(uuids.length === 1 && { uuid }) });
      },
    }),
    define("POST", "/subscriptions/{process_uuid}/test", "testSubscriptions", {
      summary: "Send a sample to the receivers of a process and return the results",
      description: `${CHOICE} With neither, all are tested. Samples are signed like notifications, carry \`sample: true\`, are sent once, and are not queued behind other notifications.`,
      query: SubscriptionChoice,
      body: SubscriptionChoice,
      isBodyOptional: true,
      answers: {
        200: { description: "Delivered, or the reason why not; newest first.", schema: TestedSubscriptions },
      },
      errors: ["process_not_found", "subscription_not_found"],
      async handle({ user, params, query, body }) {
        const { uuid: processUuid } = await expectProcess(sql, user, params.process_uuid);
        const rows = await selectSubscriptions(sql, processUuid, { ...body, ...query });
        const tested = await testSubscriptions(delivery, rows, testMs);
        const tests = tested.map(({ row, fault }) => ({
          ...{ uuid: row.uuid, subscription_uuid: row.uuid, event_type: row.eventType },
          ...{ notification_url: maskCredentials(row.notificationUrl), delivered: fault === null, detail: fault },
        }));
        return ok({ tests });
      },
    }),
  ];
}
