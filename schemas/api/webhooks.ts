/** Webhooks: subscriptions, and the bodies of notifications. Field names of the bodies are those of the API. */
import { type Static, Type } from "typebox";
import { TrackEntry } from "../detection-message.ts";
import { listing, listQuery, orNull, Timestamp, Uuid } from "./records.ts";

const EVENT_TYPES = ["new-tracks", "target-count"] as const;
export type EventType = (typeof EVENT_TYPES)[number];
const NOTIFICATION_FORMATS = ["simple", "full"] as const;
export type NotificationFormat = (typeof NOTIFICATION_FORMATS)[number];

/** Maximum number of objects listed in a notification; counts include all objects. */
export const MOST_LISTED = 1000;
const DEFAULT_BACKOFF_SECONDS = 5;

const EventTypeName = Type.Enum([...EVENT_TYPES], {
  description:
    "`new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0.",
});

const WebUrl = (description: string) =>
  Type.String({ maxLength: 2048, pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$", description });

const PolicyArgs = Type.Object({
  backoff_seconds: Type.Number({
    minimum: 0,
    maximum: 86_400,
    default: DEFAULT_BACKOFF_SECONDS,
    description: "Minimum time between two notifications.",
  }),
});

const policy = {
  notifier_policy_type: Type.Literal("backoff", {
    default: "backoff",
    description: "The first notification is sent at once; events within the interval are combined into the next.",
  }),
  notifier_policy_args: Type.Object(PolicyArgs.properties, { default: {} }),
  notification_format: Type.Enum([...NOTIFICATION_FORMATS], {
    default: "simple",
    description: "`full` adds the track entries of the detection message.",
  }),
};

export const NewSubscription = Type.Object(
  {
    notification_url: WebUrl(
      "An http or https URL that accepts POST, of at most 2048 characters. A user and password in it are sent as HTTP Basic.",
    ),
    event_type: EventTypeName,
    auth_url: Type.Optional(
      Type.Union(
        [
          WebUrl(
            "URL to log in first, if the receiver requires it: POST with the user and password of this URL as HTTP Basic; `access_token` or `token` of the response is sent to the receiver as a bearer token.",
          ),
          Type.Null(),
        ],
        { default: null },
      ),
    ),
    ...policy,
  },
  { title: "NewSubscription" },
);
export type NewSubscription = Static<typeof NewSubscription>;

const SubscriptionFields = {
  uuid: Uuid,
  subscription_uuid: Uuid,
  process_uuid: Uuid,
  notification_url: Type.String({ description: "Credentials are shown as `***`." }),
  event_type: EventTypeName,
  auth_url: orNull(Type.String(), { description: "Credentials are shown as `***`." }),
  notifier_policy_type: Type.Literal("backoff"),
  notifier_policy_args: PolicyArgs,
  notification_format: policy.notification_format,
  created_at: Timestamp,
};

export const CreatedSubscription = Type.Object(
  {
    ...SubscriptionFields,
    secret: Type.String({
      pattern: "^whsec_[A-Za-z0-9+/]+=*$",
      description: "Signing secret of the notifications (Standard Webhooks). It is not shown again.",
    }),
  },
  { title: "CreatedSubscription" },
);
export type CreatedSubscription = Static<typeof CreatedSubscription>;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const DeliveryStatus = Type.Object({
  waiting: count("Notifications that wait for delivery or are being combined."),
  delivered: count("Notifications accepted by the receiver."),
  dropped: count("Notifications discarded because delivery failed for too long or the queue was full."),
  last_attempt_at: orNull(Timestamp),
  last_delivered_at: orNull(Timestamp),
  last_error: orNull(Type.String(), { description: "Null if the last attempt succeeded." }),
});

export const SubscriptionRecord = Type.Object(
  { ...SubscriptionFields, delivery: DeliveryStatus },
  { title: "Subscription" },
);
export type SubscriptionRecord = Static<typeof SubscriptionRecord>;

export const SubscriptionQuery = listQuery(["created_at"], { event_type: Type.Optional(EventTypeName) });

export const SubscriptionListing = listing({ subscriptions: Type.Array(SubscriptionRecord) });

/** Selects subscriptions of a process; omitted fields match all. */
export const SubscriptionChoice = Type.Object(
  {
    notification_url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: "As sent, or as shown." }),
    ),
    event_type: Type.Optional(EventTypeName),
  },
  { title: "SubscriptionChoice" },
);
export type SubscriptionChoice = Static<typeof SubscriptionChoice>;

export const DeletedSubscriptions = Type.Object({
  deleted: Type.Literal(true),
  process_uuid: Uuid,
  uuids: Type.Array(Uuid, { description: "UUIDs of the deleted subscriptions." }),
  uuid: Type.Optional(Uuid),
});

export const TestedSubscriptions = Type.Object({
  tests: Type.Array(
    Type.Object({
      uuid: Uuid,
      subscription_uuid: Uuid,
      event_type: EventTypeName,
      notification_url: Type.String(),
      delivered: Type.Boolean(),
      detail: orNull(Type.String(), { description: "Why it was not delivered; null if it was." }),
    }),
  ),
});

const common = {
  id: Type.Optional(
    Type.String({
      description:
        "Extension: identical in every copy of a notification, and equal to `webhook-id`: use it to detect duplicates.",
    }),
  ),
  process_uuid: Type.String(),
  timestamp: Type.String({
    pattern: "^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}\\.\\d{4}$",
    description: "UTC time of the newest frame in this notification.",
  }),
  sample: Type.Optional(Type.Literal(true, { description: "Extension: a test of the URL, not an event." })),
};

export const WebhookDetection = Type.Object(
  {
    topLeftX: Type.Number({ description: "Pixels of the input, like the next three." }),
    topLeftY: Type.Number(),
    height: Type.Number(),
    width: Type.Number(),
    id: Type.Integer({ minimum: 1, description: "`track_id` of the detection message." }),
    class: Type.Integer({ minimum: 0, description: "`class_id` of the detection message." }),
  },
  { title: "WebhookDetection", additionalProperties: false },
);
export type WebhookDetection = Static<typeof WebhookDetection>;

export const NewTracksNotification = Type.Object(
  {
    ...common,
    type: Type.Literal("new-tracks"),
    track_count: Type.Integer({ minimum: 1, description: "Number of new tracks." }),
    detections: Type.Array(WebhookDetection, {
      maxItems: MOST_LISTED,
      description: `Tracks as they first appeared, in that order; at most the first ${MOST_LISTED}.`,
    }),
    tracks: Type.Optional(
      Type.Array(TrackEntry, {
        maxItems: MOST_LISTED,
        description: "For `full`: the same tracks as complete entries.",
      }),
    ),
  },
  { title: "NewTracksNotification", additionalProperties: false },
);
export type NewTracksNotification = Static<typeof NewTracksNotification>;

export const TargetCountNotification = Type.Object(
  {
    ...common,
    type: Type.Literal("target-count"),
    track_count: Type.Integer({ minimum: 0, description: "Number of visible targets." }),
    previous_count: Type.Integer({
      minimum: 0,
      description: "Number in the previous notification; 0 before the first.",
    }),
    active_tracks: Type.Optional(
      Type.Array(TrackEntry, { maxItems: MOST_LISTED, description: `For \`full\`: the first ${MOST_LISTED} of them.` }),
    ),
  },
  { title: "TargetCountNotification", additionalProperties: false },
);
export type TargetCountNotification = Static<typeof TargetCountNotification>;

export type WebhookNotification = NewTracksNotification | TargetCountNotification;
