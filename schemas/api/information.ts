/** Who asks, what is left to them, and how the service is. */
import { Type } from "typebox";

/** The newest release of the interface. */
export const API_VERSION = "2.15.2";

const Version = Type.String({ description: "Of the interface." });
const SoftwareVersion = Type.String({ description: "Of Windhover." });

/** Clients read a date here, and compare it: one that does not expire has a day that never comes. */
export const NO_EXPIRATION_DATE = "9999-12-31";
/** Clients read a number here, and compare it: a key without a limit has more than anybody can use. */
export const UNLIMITED_MINUTES = 1_000_000_000;

const ExpirationDate = Type.String({
  format: "date",
  description: `The last day, UTC, on which the key is valid. ${NO_EXPIRATION_DATE} when it does not expire, so that it always is a date.`,
});

export const Status = Type.Object(
  {
    status: Type.Union([Type.Literal("ok"), Type.Literal("degraded")]),
    version: Version,
    software_version: SoftwareVersion,
    uptime_seconds: Type.Number({ minimum: 0 }),
    components: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "With a valid key only: each part, `ok` or why it is not.",
      }),
    ),
  },
  { title: "Status" },
);

export const Login = Type.Object(
  {
    valid: Type.Literal(true),
    username: Type.String(),
    product: Type.String(),
    expiration_date: ExpirationDate,
  },
  { title: "Login" },
);

const minutes = (description: string) => Type.Number({ minimum: 0, description });
const RemainingMinutes = minutes(
  `Minutes that are left to use. ${UNLIMITED_MINUTES} when the key has no limit of them, so that it always is a number.`,
);
const ConsumedMinutes = minutes("Minutes for which processes have run.");

export const Subscription = Type.Object(
  {
    remaining_minutes: RemainingMinutes,
    consumed_minutes: ConsumedMinutes,
    pending_to_allocate: minutes("Minutes that are bought and not yet handed out."),
    expiration_date: ExpirationDate,
  },
  { title: "Subscription" },
);

export const ChildSubscription = Type.Object(
  { username: Type.String(), ...Subscription.properties },
  { title: "ChildSubscription" },
);

const VideoStorage = Type.Object(
  {
    max_video_upload_size_bytes: Type.Integer({ minimum: 0 }),
    total_storage_size_bytes: Type.Integer({ minimum: 0 }),
  },
  { title: "VideoStorage" },
);

export const UserInformation = Type.Object(
  {
    version: Version,
    software_version: SoftwareVersion,
    username: Type.String(),
    product: Type.String(),
    uploaded_video_storage: VideoStorage,
    subscription: Subscription,
    children_subscription: Type.Optional(
      Type.Array(ChildSubscription, { description: "One of every child key; when there are any." }),
    ),
    is_track_logger_enabled: Type.Boolean({ description: "Whether there are track reports." }),
    is_enhancement_enabled: Type.Boolean({ description: "Ours: whether track reports can be enhanced." }),
  },
  { title: "UserInformation" },
);

export const OldInformation = Type.Object(
  {
    version: Version,
    uploaded_video_storage: VideoStorage,
    subscription: Type.Object({
      consumed_minutes: ConsumedMinutes,
      remaining_minutes: RemainingMinutes,
      expiration_date: ExpirationDate,
    }),
    product: Type.String(),
  },
  { title: "OldInformation" },
);

/** More than anybody can use; less than what a number loses count of in milliseconds. */
const MOST_MINUTES = 1_000_000_000;

export const Allocation = Type.Object(
  {
    username: Type.String({
      minLength: 1,
      maxLength: 63,
      description: "The master key's own, or one of its children's.",
    }),
    minutes: Type.Integer({ minimum: 1, maximum: MOST_MINUTES }),
  },
  { title: "Allocation" },
);

export const Allocated = Type.Object(
  {
    username: Type.String(),
    minutes: Type.Integer({ minimum: 1 }),
    subscription: Subscription,
    pending_to_allocate: minutes("What the master key has left to hand out."),
  },
  { title: "Allocated" },
);
