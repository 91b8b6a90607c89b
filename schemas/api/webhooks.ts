/** Webhooks: what is subscribed to, and the bodies that are sent. Field names of the bodies are the interface's. */
import { type Static, Type } from "typebox";
import { TrackEntry } from "../detection-message.ts";
import { listing, Timestamp, Uuid } from "./records.ts";

export const EVENT_TYPES = ["new-tracks", "target-count"] as const;
export type EventType = (typeof EVENT_TYPES)[number];
export const NOTIFICATION_FORMATS = ["simple", "full"] as const;
export type NotificationFormat = (typeof NOTIFICATION_FORMATS)[number];

/** So many objects are told of one by one in a notification; counts are of all. */
export const MOST_TOLD = 1000;
export const DEFAULT_BACKOFF_SECONDS = 5;

const EventTypeName = Type.Enum([...EVENT_TYPES], {
  description:
    "`new-tracks`: a track is shown for the first time since the subscription began. `target-count`: another number of targets is in the picture than was told last; a subscription begins at 0.",
});

const WebUrl = (description: string) =>
  Type.String({ maxLength: 2048, pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$", description });

const PolicyArgs = Type.Object({
  backoff_seconds: Type.Number({
    minimum: 0,
    maximum: 86_400,
    default: DEFAULT_BACKOFF_SECONDS,
    description: "The least time between two notifications.",
  }),
});

const policy = {
  notifier_policy_type: Type.Literal("backoff", {
    default: "backoff",
    description: "The first notification goes out at once; what happens within the interval is gathered into the next.",
  }),
  notifier_policy_args: Type.Object(PolicyArgs.properties, { default: {} }),
  notification_format: Type.Enum([...NOTIFICATION_FORMATS], {
    default: "simple",
    description: "`full` adds the entries of the detection message.",
  }),
};

export const NewSubscription = Type.Object(
  {
    notification_url: WebUrl(
      "An http or https address that takes POST, of at most 2048 characters. A user and password in it are sent as HTTP Basic.",
    ),
    event_type: EventTypeName,
    auth_url: Type.Optional(
      Type.Union(
        [
          WebUrl(
            "Where to log in first, if the receiver needs that: POST, with the user and password of this address as HTTP Basic; `access_token` or `token` of the answer goes to the receiver as a bearer token.",
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
  auth_url: Type.Union([Type.String(), Type.Null()], { description: "Credentials are shown as `***`." }),
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
      description: "What notifications are signed with (Standard Webhooks). It is not shown again.",
    }),
  },
  { title: "CreatedSubscription" },
);
export type CreatedSubscription = Static<typeof CreatedSubscription>;

const count = (description: string) => Type.Integer({ minimum: 0, description });
const orNull = <T extends typeof Timestamp>(schema: T) => Type.Union([schema, Type.Null()]);

export const SubscriptionRecord = Type.Object(
  {
    ...SubscriptionFields,
    delivery: Type.Object({
      waiting: count("Notifications that are to be delivered, or gathered into."),
      delivered: count("So many the receiver has taken."),
      dropped: count("So many were given up: they were tried for too long, or too many waited."),
      last_attempt_at: orNull(Timestamp),
      last_delivered_at: orNull(Timestamp),
      last_error: Type.Union([Type.String(), Type.Null()], { description: "Null when the last attempt went well." }),
    }),
  },
  { title: "Subscription" },
);
export type SubscriptionRecord = Static<typeof SubscriptionRecord>;

export const SubscriptionListing = listing({ subscriptions: Type.Array(SubscriptionRecord) });

/** Which of a process; those left out do not matter. */
export const SubscriptionChoice = Type.Object(
  {
    notification_url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: "As it was given, or as it is shown." }),
    ),
    event_type: Type.Optional(EventTypeName),
  },
  { title: "SubscriptionChoice" },
);
export type SubscriptionChoice = Static<typeof SubscriptionChoice>;

export const DeletedSubscriptions = Type.Object({
  deleted: Type.Literal(true),
  process_uuid: Uuid,
  uuids: Type.Array(Uuid, { description: "Of the subscriptions that are gone." }),
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
      detail: Type.Union([Type.String(), Type.Null()], { description: "Why not; null when it was delivered." }),
    }),
  ),
});

const common = {
  id: Type.Optional(
    Type.String({
      description:
        "Ours: the same in every copy of a notification, and as `webhook-id`: what came twice is known by it.",
    }),
  ),
  process_uuid: Type.String(),
  timestamp: Type.String({
    pattern: "^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}\\.\\d{4}$",
    description: "UTC; of the newest picture that this tells of.",
  }),
  sample: Type.Optional(Type.Literal(true, { description: "Ours: nothing has happened, somebody tests the address." })),
};

export const WebhookDetection = Type.Object(
  {
    topLeftX: Type.Number({ description: "Pixels of the input, as all four." }),
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
    track_count: Type.Integer({ minimum: 1, description: "So many new tracks are told of." }),
    detections: Type.Array(WebhookDetection, {
      maxItems: MOST_TOLD,
      description: `Each as it was first shown, in that order; the first ${MOST_TOLD} where there are more.`,
    }),
    tracks: Type.Optional(
      Type.Array(TrackEntry, { maxItems: MOST_TOLD, description: "Of `full`: the same as whole entries." }),
    ),
  },
  { title: "NewTracksNotification", additionalProperties: false },
);
export type NewTracksNotification = Static<typeof NewTracksNotification>;

export const TargetCountNotification = Type.Object(
  {
    ...common,
    type: Type.Literal("target-count"),
    track_count: Type.Integer({ minimum: 0, description: "So many targets are in the picture." }),
    previous_count: Type.Integer({ minimum: 0, description: "So many were told last; 0 before the first." }),
    active_tracks: Type.Optional(
      Type.Array(TrackEntry, { maxItems: MOST_TOLD, description: `Of \`full\`: the first ${MOST_TOLD} of them.` }),
    ),
  },
  { title: "TargetCountNotification", additionalProperties: false },
);
export type TargetCountNotification = Static<typeof TargetCountNotification>;

export type WebhookNotification = NewTracksNotification | TargetCountNotification;
