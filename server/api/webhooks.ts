/** Webhooks: calls to an address of the client's when something happens in a process. */
import { PageQuery } from "../../schemas/api/records.ts";
import {
  CreatedSubscription,
  DeletedSubscriptions,
  NewSubscription,
  NewTracksNotification,
  SubscriptionChoice,
  SubscriptionListing,
  TargetCountNotification,
  TestedSubscriptions,
} from "../../schemas/api/webhooks.ts";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { Processes } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { readStatuses } from "../store/destinations.ts";
import { findProcess } from "../store/processes.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import type { User } from "../user.ts";
import {
  describeCreated,
  describeSubscription,
  selectSubscriptions,
  testSubscriptions,
} from "../webhooks/subscriptions.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

interface WebhookNeeds {
  readonly sql: Sql;
  readonly config: Config["webhooks"];
  readonly processes: Pick<Processes, "expectOffer">;
  readonly delivery: Pick<Outbox, "attempt">;
  readonly webhooks: Webhooks;
}

const tag = "Webhooks";
const access = "key";
const CHOICE = "`notification_url` and `event_type` choose among them, in the query or in a body; the query wins.";

export function webhookEndpoints({ sql, config, processes, delivery, webhooks }: WebhookNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "POST",
      path: "/subscribe/{process_uuid}",
      tag,
      id: "subscribe",
      summary: "Subscribes an address to a process",
      description:
        "Notifications are POSTed as JSON, signed as Standard Webhooks says: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Any 2xx takes one; else it is tried again, less and less often, for ten minutes, and those behind it wait. Redirects are not followed. At least once: one that comes twice has the same `webhook-id`. The first goes out at once; what happens within the interval is gathered into the next. While a receiver is away the one that it has not taken waits, and what happens meanwhile is gathered into the next, an interval after that one. Tracks that are shown when the subscription begins are new to it. A subscription ends with its process: what was gathered is sent at once.",
      access,
      body: NewSubscription,
      answers: { 201: { description: "Subscribed. The secret is shown once.", schema: CreatedSubscription } },
      sends: {
        "new-tracks": { description: "Tracks that were not told of before.", schema: NewTracksNotification },
        "target-count": { description: "Another number of targets.", schema: TargetCountNotification },
      },
      errors: [
        ...(["process_not_found", "graph_lacks", "wrong_state", "subscription_exists"] as const),
        ...(["subscriptions_limit_reached", "address_refused"] as const),
      ],
      async handle({ user, params, body }) {
        const order = { user, processUuid: params.process_uuid ?? "", wish: body };
        return { status: 201, body: describeCreated(await webhooks.subscribe(processes, order)) };
      },
    }),
    defineEndpoint({
      method: "GET",
      path: "/subscriptions/{process_uuid}",
      tag,
      id: "listSubscriptions",
      summary: "Lists the subscriptions to a process, and how their deliveries get on",
      access,
      query: PageQuery,
      answers: { 200: { description: "Newest first; none of a process that has ended.", schema: SubscriptionListing } },
      errors: ["process_not_found"],
      async handle({ user, params, query }) {
        const uuid = await expectProcess(sql, user, params.process_uuid ?? "");
        const { rows, nextCursor } = await listSubscriptions(sql, uuid, query);
        const uuids = rows.map((row) => row.uuid);
        const statuses = await readStatuses(sql, uuids);
        const subscriptions = rows.map((row) => describeSubscription(row, statuses.get(row.uuid)));
        return { status: 200, body: { subscriptions, ...(nextCursor !== null && { next_cursor: nextCursor }) } };
      },
    }),
    defineEndpoint({
      method: "DELETE",
      path: "/subscriptions/{process_uuid}",
      tag,
      id: "unsubscribe",
      summary: "Removes subscriptions to a process, and what waits for their receivers",
      description: `${CHOICE} With neither, all of the process are removed.`,
      access,
      query: SubscriptionChoice,
      body: SubscriptionChoice,
      isBodyOptional: true,
      answers: { 200: { description: "They are gone. `uuid` where it was one.", schema: DeletedSubscriptions } },
      errors: ["process_not_found", "subscription_not_found"],
      async handle({ user, params, query, body }) {
        const processUuid = await expectProcess(sql, user, params.process_uuid ?? "");
        const uuids = await webhooks.unsubscribe(processUuid, { ...body, ...query });
        const single = uuids.length === 1 ? uuids[0] : undefined;
        return {
          status: 200,
          body: { deleted: true, process_uuid: processUuid, uuids, ...(single !== undefined && { uuid: single }) },
        };
      },
    }),
    defineEndpoint({
      method: "POST",
      path: "/subscriptions/{process_uuid}/test",
      tag,
      id: "testSubscriptions",
      summary: "Sends a sample to the receivers of a process and tells what became of it",
      description: `${CHOICE} With neither, all are tried. Samples are signed as notifications are, carry \`sample: true\`, are sent once, and do not wait behind what waits.`,
      access,
      query: SubscriptionChoice,
      body: SubscriptionChoice,
      isBodyOptional: true,
      answers: { 200: { description: "Delivered, or why not; newest first.", schema: TestedSubscriptions } },
      errors: ["process_not_found", "subscription_not_found"],
      async handle({ user, params, query, body }) {
        const processUuid = await expectProcess(sql, user, params.process_uuid ?? "");
        const rows = await selectSubscriptions(sql, processUuid, { ...body, ...query });
        const tested = await testSubscriptions(delivery, rows, config.test_seconds * 1000);
        const tests = tested.map(({ row, fault }) => ({
          ...{ uuid: row.uuid, subscription_uuid: row.uuid, event_type: row.eventType },
          ...{ notification_url: maskCredentials(row.notificationUrl), delivered: fault === null, detail: fault },
        }));
        return { status: 200, body: { tests } };
      },
    }),
  ];
}

/** One of another user's is one that is not there. */
async function expectProcess(sql: Sql, user: User, uuid: string): Promise<string> {
  const process = await findProcess(sql, user.uuid, uuid);
  if (process !== null) return process.uuid;
  throw new ServiceError("process_not_found", {
    detail: `there is no process ${uuid}; GET /processes?state=all lists yours`,
  });
}
