/** The event log of an account: what has happened to its streams, processes, recordings, evidence, clips and quotas. */
import { type Static, Type } from "typebox";
import { PROTOCOLS } from "../hub.ts";
import { MqttOutputConfig, WebhookOutputConfig } from "./alerts.ts";
import { listing, moment, orNull, PageQuery, Timestamp, Uuid, when } from "./records.ts";
import { DeliveryStatus } from "./webhooks.ts";

/** What each one means. */
export const ACCOUNT_EVENTS = {
  "stream-began": "The first keyframe of a published stream has arrived: the stream can be played.",
  "stream-ended": "The publisher has left, or was disconnected (`reason`).",
  "stream-rejected": "A publisher was rejected (`reason`). Repeated attempts are reported now and then, not each.",
  "process-started":
    "The first frame was decoded. Of a process that waits for its source: each time that it continues.",
  "process-waiting": "The process waits for its source.",
  "process-reconnecting": "The live source was lost and is being reconnected.",
  "process-reconnected": "Frames of the live source arrive again.",
  "process-restarted": "The runner crashed and is restarted, or the process runs again after the end of its server.",
  "process-failed": "The process has ended with an error.",
  "process-finished": "The process has ended: its file is over, it was stopped, or a limit was reached (`error`).",
  "recording-closed": "The recording of a source is complete.",
  "evidence-ready": "Clip and snapshot of a notice can be downloaded, or as much of them as there is (`evidence`).",
  "evidence-failed": "Neither clip nor snapshot of a notice could be made.",
  "clip-ready": "A clip of `POST /clips` can be downloaded.",
  "clip-failed": "A clip of `POST /clips` could not be rendered (`error`).",
  "enhancement-finished": "The report of the process is enhanced.",
  "enhancement-failed": "The report of the process could not be enhanced (`error`).",
  "quota-near": "90 % of a quota are used.",
} as const;
export type AccountEventType = keyof typeof ACCOUNT_EVENTS;
export const EVENT_TYPES = Object.keys(ACCOUNT_EVENTS) as AccountEventType[];

const EventType = Type.Enum(EVENT_TYPES, {
  description: Object.entries(ACCOUNT_EVENTS)
    .map(([type, meaning]) => `\`${type}\`: ${meaning}`)
    .join(" "),
});

const EventData = Type.Object(
  {
    path: Type.Optional(Type.String({ description: "Of a stream: where it is published." })),
    protocol: Type.Optional(Type.Enum([...PROTOCOLS])),
    codec: Type.Optional(Type.String()),
    width: Type.Optional(Type.Integer({ minimum: 0 })),
    height: Type.Optional(Type.Integer({ minimum: 0 })),
    reason: Type.Optional(Type.String({ description: "Why it ended, was rejected or was restarted." })),
    duration_seconds: Type.Optional(Type.Number({ description: "Of a stream or recording that has ended." })),
    graph: Type.Optional(Type.String({ description: "Of a process." })),
    error: Type.Optional(Type.Object({ code: Type.String(), detail: Type.String() })),
    restarts: Type.Optional(Type.Integer({ minimum: 0, description: "Restarts of the process so far." })),
    recording_uuid: Type.Optional(Uuid),
    notice_uuid: Type.Optional(Uuid),
    clip_uuid: Type.Optional(Uuid),
    evidence: Type.Optional(Type.Enum(["ready", "partial"])),
    quota: Type.Optional(Type.Enum(["minutes", "storage"])),
    used: Type.Optional(Type.Number({ description: "Of the quota: minutes, or bytes." })),
    limit: Type.Optional(Type.Number()),
  },
  { description: "Depends on the type; further fields may be added." },
);
export type EventData = Static<typeof EventData>;

export const AccountEvent = Type.Object(
  {
    id: Type.Integer({
      minimum: 1,
      description: "Number of the event in the log of the account: 1, 2, 3 and so on, in the order of the log.",
    }),
    uuid: Uuid,
    type: EventType,
    timestamp: Timestamp,
    source_uuid: orNull(Uuid),
    process_uuid: orNull(Uuid),
    data: EventData,
  },
  { title: "AccountEvent" },
);
export type AccountEvent = Static<typeof AccountEvent>;

/** Sent before the first event if some in between are no longer stored. */
export const EventGap = Type.Object(
  {
    from: Type.Integer({ minimum: 1, description: "The first missing event." }),
    to: Type.Integer({ minimum: 1, description: "The last missing event." }),
  },
  { title: "EventGap" },
);

export const EVENTS_PER_PAGE = 100;

const Filters = {
  type: Type.Optional(
    Type.String({
      maxLength: 400,
      pattern: "^[a-z-]{1,40}(?:,[a-z-]{1,40}){0,19}$",
      description: "Only events of this type, or of several, separated by commas: `process-failed,stream-rejected`.",
    }),
  ),
  process: Type.Optional(Type.String({ ...Uuid, description: "Only events of the process with this UUID." })),
  source: Type.Optional(Type.String({ ...Uuid, description: "Only events of the source with this UUID." })),
};

export const AccountEventQuery = Type.Object({
  ...PageQuery.properties,
  ...Filters,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: EVENTS_PER_PAGE, description: "Maximum number of entries." }),
  ),
  from: Type.Optional(moment("Events of this time or later.")),
  to: Type.Optional(moment("Events before this time.")),
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "Only events with a larger `id`, oldest first; `0` for all that are stored. As server-sent events: as `Last-Event-ID`, for clients that cannot send it.",
    }),
  ),
});

export const AccountEventListing = listing({ events: Type.Array(AccountEvent) });

const SubscriptionTypes = Type.Array(EventType, {
  maxItems: EVENT_TYPES.length,
  description: "Types of events to send; empty: all, also those of later versions.",
});

const WebhookConfig = Type.Object(
  { url: WebhookOutputConfig.properties.url, secret: WebhookOutputConfig.properties.secret },
  { title: "WebhookEventOutput", additionalProperties: false },
);

const EventOutput = Type.Object(
  {
    type: Type.Enum(["webhook", "mqtt"]),
    config: Type.Unknown({
      description: "Configuration for the type: see `WebhookEventOutput` and `MqttAlertOutput`.",
    }),
  },
  {
    title: "EventOutput",
    additionalProperties: false,
    required: ["type", "config"],
    allOf: [
      when("type", ["mqtt"], Type.Object({ config: MqttOutputConfig })),
      when("type", ["webhook"], Type.Object({ config: WebhookConfig })),
    ],
  },
);

const MAX_OUTPUTS = 4;

export const NewEventSubscription = Type.Object(
  {
    output: Type.Array(EventOutput, {
      minItems: 1,
      maxItems: MAX_OUTPUTS,
      description: `Destinations, up to ${MAX_OUTPUTS}, as those of an alert. Each receives every event in order, at least once.`,
    }),
    types: Type.Optional(SubscriptionTypes),
    source_uuid: Type.Optional(Uuid),
  },
  { title: "NewEventSubscription" },
);
export type NewEventSubscription = Static<typeof NewEventSubscription>;

export const EventSubscription = Type.Object(
  {
    uuid: Uuid,
    subscription_uuid: Uuid,
    output: Type.Array(EventOutput, {
      description: "Credentials are shown as `***`; the secret of a webhook is shown once, when it is subscribed.",
    }),
    types: SubscriptionTypes,
    source_uuid: orNull(Uuid),
    source_uuids: orNull(Type.Array(Uuid), {
      description: "Only events of these sources: those of the key that subscribed. Null: all, or `source_uuid`.",
    }),
    created_at: Timestamp,
    delivery: Type.Array(Type.Object({ type: Type.Enum(["webhook", "mqtt"]), ...DeliveryStatus.properties }), {
      description: "In the order of `output`.",
    }),
  },
  { title: "EventSubscription" },
);
export type EventSubscription = Static<typeof EventSubscription>;

export const EventSubscriptionListing = listing({ subscriptions: Type.Array(EventSubscription) });

export const TestedEventSubscription = Type.Object({
  tests: Type.Array(
    Type.Object({
      type: Type.Enum(["webhook", "mqtt"]),
      delivered: Type.Boolean(),
      detail: orNull(Type.String(), { description: "Why it was not delivered; null if it was." }),
    }),
    { description: "In the order of `output`." },
  ),
});

/** What is sent to a webhook or a topic. */
export const EventNotification = Type.Object(
  {
    ...AccountEvent.properties,
    sample: Type.Optional(Type.Literal(true, { description: "A test of the destination, not an event." })),
  },
  { title: "EventNotification" },
);
