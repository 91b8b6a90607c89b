/** The event log of an account: as a listing, as server-sent events, and sent to webhooks and brokers. */
import { Type } from "typebox";
import {
  AccountEvent,
  AccountEventListing,
  AccountEventQuery,
  EVENT_TYPES,
  EVENTS_PER_PAGE,
  EventGap,
  EventNotification,
  EventSubscription,
  EventSubscriptionListing,
  NewEventSubscription,
  TestedEventSubscription,
} from "../../schemas/api/account-events.ts";
import { Deleted, PageQuery } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { Outbox } from "../delivery/outbox.ts";
import { describeEvent } from "../events/describe-event.ts";
import { AccountEventLines } from "../events/event-lines.ts";
import type { EventLog } from "../events/event-log.ts";
import { describeSubscription, subscribe, testSubscription, unsubscribe } from "../events/subscriptions.ts";
import { invalidInput } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { readStatuses } from "../store/destinations.ts";
import { findEventSubscription, listEventSubscriptions } from "../store/event-subscriptions.ts";
import { type EventFilter, listEvents, readRange } from "../store/events.ts";
import type { Streams } from "../streams/streams.ts";
import type { User } from "../user.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok } from "./endpoint.ts";
import { EVENTS_TYPE, STREAM_HEADERS, toLogViewing } from "./streams.ts";

interface EventDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "network" | "smtp" | "events">;
  readonly log: Pick<EventLog, "read" | "watch" | "catchUp">;
  readonly streams: Pick<Streams, "openLog">;
  readonly delivery: Pick<Outbox, "attempt">;
  /** Time limit of a test; set in tests. */
  readonly testMs?: number;
}

const TEST_MS = 10_000;

const define = defineEndpoints("Events");

export function eventEndpoints(deps: EventDeps): readonly AnyEndpoint[] {
  const { sql, config, testMs = TEST_MS } = deps;
  return [
    define("GET", "/events", "listEvents", {
      summary: "List what has happened, or follow it as server-sent events",
      description: `Every event of streams, processes, recordings, evidence, clips, reports and quotas of this key, stored in the transaction of the change itself: each once, also when a server is killed. They are kept for ${config.events.retention_days} days (\`events.retention_days\`), up to ${config.events.per_key} of a key (\`events.per_key\`). With \`Accept: text/event-stream\` the connection stays open: events after \`Last-Event-ID\` (or \`after\`) are sent from the log, then each new one; without either, new ones only. If some of these are no longer stored, an event \`gap\` says which. \`event:\` is the type, \`id:\` the number, \`data:\` the event. A comment is sent every 20 s; a client that reads nothing for 10 s is disconnected, and continues where it was with \`Last-Event-ID\`. Up to ${config.events.clients_per_key} such connections of a key on each node. A key that is limited to sources gets the events of these sources, with their numbers in the log of the account.`,
      access: "url-key",
      sources: "listed",
      query: AccountEventQuery,
      answers: {
        200: {
          description: "Newest first; oldest first with `after`.",
          schema: AccountEventListing,
          others: { [EVENTS_TYPE]: { schema: Type.Union([AccountEvent, EventGap]) } },
        },
      },
      errors: ["viewers_limit_reached"],
      async handle(call) {
        const { user, query } = call;
        const { type, process, source, from, to, limit = EVENTS_PER_PAGE, cursor, after } = query;
        const filter: EventFilter = {
          ...{ types: readTypes(type), processUuid: process, sourceUuid: source, sourceUuids: user.key.sourceUuids },
          from: from === undefined ? undefined : new Date(from),
          to: to === undefined ? undefined : new Date(to),
        };
        // What the client was answered before is in the log, and in a stream that it opens now.
        await deps.log.catchUp();
        if (!acceptsEvents(call.headers.accept))
          return listing(
            "events",
            await listEvents(sql, user.uuid, { ...filter, limit, cursor, after }),
            describeEvent,
          );
        const place = await findPlace(sql, user, readLastId(call.headers["last-event-id"]) ?? after ?? null);
        const headers = { "Content-Type": EVENTS_TYPE, ...STREAM_HEADERS };
        if (call.raw.method === "HEAD") return new Response(null, { headers });
        const body = await deps.streams.openLog(
          toLogViewing(call, user),
          async (leave, pingMs) =>
            new AccountEventLines({ ...place, log: deps.log, userUuid: user.uuid, filter, pingMs, leave }),
        );
        return new Response(body, { headers });
      },
    }),
    define("POST", "/events/subscriptions", "subscribeToEvents", {
      summary: "Send events to a webhook or an MQTT topic",
      description:
        "One subscription for all streams and processes of this key, from now on; `source_uuid` limits it to a source and its processes. The subscription of a key that is limited to sources sends the events of these sources (`source_uuids`), also after the key is revoked, until it is deleted. Webhooks are signed as defined by Standard Webhooks and retried like those of `POST /subscribe/{process_uuid}`; delivery is at least once and in order, and `webhook-id` is the `uuid` of the event.",
      sources: "listed",
      body: NewEventSubscription,
      answers: {
        201: {
          description: "Subscribed. Secrets of webhooks are shown only in this answer.",
          schema: EventSubscription,
        },
      },
      sends: { event: { description: "An event of the log.", schema: EventNotification } },
      errors: ["subscriptions_limit_reached", "address_refused", "source_not_found"],
      async handle({ user, body }) {
        return { status: 201, body: describeSubscription(await subscribe(deps, user, body), new Map(), true) };
      },
    }),
    define("GET", "/events/subscriptions", "listEventSubscriptions", {
      summary: "List your subscriptions to events, with their delivery status",
      sources: "listed",
      query: PageQuery,
      answers: { 200: { description: "Newest first.", schema: EventSubscriptionListing } },
      async handle({ user, query }) {
        const page = await listEventSubscriptions(sql, user, query);
        const statuses = await readStatuses(
          sql,
          page.rows.flatMap(({ output }) => output.map(({ uuid }) => uuid)),
        );
        return listing("subscriptions", page, (row) => describeSubscription(row, statuses, false));
      },
    }),
    define("DELETE", "/events/subscription/{subscription_uuid}", "unsubscribeFromEvents", {
      summary: "Delete a subscription to events, and what waits for its receivers",
      sources: "listed",
      answers: { 200: { description: "Deleted.", schema: Deleted } },
      errors: ["subscription_not_found"],
      async handle({ user, params: { subscription_uuid: uuid } }) {
        await unsubscribe(sql, user, uuid);
        return deleted(uuid);
      },
    }),
    define("POST", "/events/subscription/{subscription_uuid}/test", "testEventSubscription", {
      summary: "Send a sample to the receivers of a subscription and return the results",
      description: "The sample has `sample: true`, is sent once, and is not queued behind events.",
      sources: "listed",
      answers: { 200: { description: "Delivered, or the reason why not.", schema: TestedEventSubscription } },
      errors: ["subscription_not_found"],
      async handle({ user, params: { subscription_uuid: uuid } }) {
        const row = await findEventSubscription(sql, user, uuid);
        return ok({ tests: await testSubscription(deps, row, testMs) });
      },
    }),
  ];
}

/** Whether `Accept` names event streams: a wildcard means JSON. */
const acceptsEvents = (accept: string | undefined): boolean =>
  accept?.split(",").some((part) => part.split(";")[0]?.trim().toLowerCase() === EVENTS_TYPE) === true;

/** Throws `invalid_input`. */
function readTypes(text: string | undefined): readonly string[] {
  const types = text?.split(",") ?? [];
  const known: readonly string[] = EVENT_TYPES;
  const unknown = types.find((type) => !known.includes(type));
  if (unknown === undefined) return types;
  throw invalidInput([
    { path: "type", message: `has "${unknown}"; expected ${EVENT_TYPES.join(", ")}${didYouMean(unknown, known)}` },
  ]);
}

const EVENT_ID = /^[0-9]{1,15}$/;

/** Throws `invalid_input`. */
function readLastId(header: string | string[] | undefined): number | null {
  const text = String(header ?? "").trim();
  if (text === "") return null;
  if (EVENT_ID.test(text)) return Number(text);
  throw invalidInput([{ path: "Last-Event-ID", message: "is not the id of an event; expected a number" }]);
}

/** After which event the client continues, and what it has missed. */
async function findPlace(sql: Sql, { uuid }: User, lastId: number | null) {
  const { first, last } = await readRange(sql, uuid);
  // A number that was never given: of another service, or of a database that was restored from a backup.
  const after = Math.min(lastId ?? last, last);
  const next = first ?? last + 1;
  return { after, gap: after + 1 < next ? { from: after + 1, to: next - 1 } : null };
}
