/** The client's account, and the status of the service. */
import { Type } from "typebox";
import { UsedKey } from "./keys.ts";

/** Version of the API that this implements. */
export const API_VERSION = "2.15.2";

const Version = Type.String({ description: "Version of the API." });
const SoftwareVersion = Type.String({ description: "Version of Windhover." });

/** Clients parse and compare this date, so a key that does not expire has a date in the far future. */
export const NO_EXPIRATION_DATE = "9999-12-31";
/** Clients parse and compare this number, so a key without a limit has a very large one. */
export const UNLIMITED_MINUTES = 1_000_000_000;

const ExpirationDate = Type.String({
  format: "date",
  description: `Last day (UTC) on which the key is valid. ${NO_EXPIRATION_DATE} if it does not expire.`,
});

export const Status = Type.Object(
  {
    status: Type.Union([Type.Literal("ok"), Type.Literal("degraded")]),
    version: Version,
    software_version: SoftwareVersion,
    uptime_seconds: Type.Number({ minimum: 0 }),
    components: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Only with a valid key: status per component, `ok` or the reason.",
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
    key: UsedKey,
  },
  { title: "Login" },
);

const minutes = (description: string) => Type.Number({ minimum: 0, description });
const RemainingMinutes = minutes(`Remaining minutes. ${UNLIMITED_MINUTES} if the key has no limit.`);
const ConsumedMinutes = minutes("Minutes that processes have run.");

export const Subscription = Type.Object(
  {
    remaining_minutes: RemainingMinutes,
    consumed_minutes: ConsumedMinutes,
    pending_to_allocate: minutes("Purchased minutes that are not allocated yet."),
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
      Type.Array(ChildSubscription, { description: "One entry per child key; omitted if there are none." }),
    ),
    is_track_logger_enabled: Type.Boolean({ description: "Whether track reports are available." }),
    is_enhancement_enabled: Type.Boolean({ description: "Extension: whether track reports can be enhanced." }),
    publish_urls: Type.Object(
      {
        ...{ rtsp: Type.String(), rtmp: Type.String(), srt: Type.String() },
        ...{ rtsps: Type.Optional(Type.String()), rtmps: Type.Optional(Type.String()) },
      },
      {
        description:
          "Extension: where your streams are published on this service. Append a path of your choice, register the URL with `POST /stream`, and publish to it. With TLS, also `rtsps` and `rtmps`.",
      },
    ),
    key: UsedKey,
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

/** In milliseconds still a safe integer. */
const MOST_MINUTES = 1_000_000_000;

export const Allocation = Type.Object(
  {
    username: Type.String({
      minLength: 1,
      maxLength: 63,
      description: "User name of the master key or of one of its child keys.",
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
    pending_to_allocate: minutes("Minutes that the master key can still allocate."),
  },
  { title: "Allocated" },
);
