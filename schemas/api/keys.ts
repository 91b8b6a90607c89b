/** API keys and accounts. */
import { type Static, Type } from "typebox";
import { listing, orNull, PageQuery, Timestamp, Uuid } from "./records.ts";

/** Each includes those that `INCLUDED` lists. */
export const SCOPES = ["read", "publish", "operate", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export const INCLUDED: Readonly<Record<Scope, readonly Scope[]>> = {
  read: ["read"],
  publish: ["publish"],
  operate: ["read", "publish", "operate"],
  admin: SCOPES,
};

const MAX_SOURCES = 100;
/** Of a rotated key. */
export const MAX_OVERLAP_SECONDS = 30 * 24 * 3600;
export const OVERLAP_SECONDS = 24 * 3600;

const Scopes = Type.Array(Type.Enum([...SCOPES]), {
  minItems: 1,
  maxItems: SCOPES.length,
  uniqueItems: true,
  description:
    "`read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts.",
});
const KeyName = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "For people; several keys may share a name.",
});
const ExpiresAt = orNull(Type.String({ format: "date-time", maxLength: 40 }), {
  description: "The key is not valid from this time on. Null: it does not expire.",
});
const Username = Type.String({ pattern: "^[a-z0-9][a-z0-9_-]{0,62}$" });

const sourceUuids = orNull(Type.Array(Uuid, { minItems: 1, maxItems: MAX_SOURCES, uniqueItems: true }), {
  description: "The key sees and uses only these sources, and what belongs to them. Null: all sources of the account.",
});

const Person = orNull(Type.String(), {
  description: "Who signed in to the console: then this is the session. Null: a key.",
});

export const KeyRecord = Type.Object(
  {
    uuid: Uuid,
    key_uuid: Uuid,
    username: Type.String({ description: "The account." }),
    name: Type.String(),
    prefix: Type.String({ description: "First characters of the key." }),
    scopes: Scopes,
    source_uuids: sourceUuids,
    person: Person,
    state: Type.Enum(["valid", "expired", "revoked"]),
    created_at: Timestamp,
    last_used_at: orNull(Timestamp, { description: "To about a minute. Null: not used yet." }),
    expires_at: orNull(Timestamp),
  },
  { title: "Key" },
);
export type KeyRecord = Static<typeof KeyRecord>;

/** The key of the request. */
export const UsedKey = Type.Object(
  {
    ...{ uuid: Uuid, key_uuid: Uuid, name: Type.String(), scopes: Scopes, source_uuids: sourceUuids },
    person: Person,
    expires_at: orNull(Timestamp),
  },
  { title: "UsedKey", description: "Extension: the key that was sent." },
);

export const CreatedKey = Type.Object(
  {
    ...KeyRecord.properties,
    key: Type.String({ description: "The key. It is not stored, and cannot be read again." }),
  },
  { title: "CreatedKey" },
);

export const KeyListing = listing({ keys: Type.Array(KeyRecord) });

export const KeyQuery = Type.Object({
  ...PageQuery.properties,
  username: Type.Optional(Type.String({ maxLength: 63, description: "Only keys of this account." })),
  state: Type.Optional(Type.Enum(["current", "all"], { default: "current", description: "`all`: also revoked keys." })),
});

export const NewKey = Type.Object({
  name: KeyName,
  scopes: Scopes,
  source_uuids: Type.Optional(sourceUuids),
  expires_at: Type.Optional(ExpiresAt),
  username: Type.Optional({
    ...Username,
    description: "The account: that of this key (default), or for a master key one of its children.",
  }),
});
export type NewKey = Static<typeof NewKey>;

export const KeyChange = Type.Object({ name: Type.Optional(KeyName), expires_at: Type.Optional(ExpiresAt) });
export type KeyChange = Static<typeof KeyChange>;

export const KeyRotation = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_OVERLAP_SECONDS,
      default: OVERLAP_SECONDS,
      description: "For how long the old key stays valid.",
    }),
  ),
  expires_at: Type.Optional({ ...ExpiresAt, description: "Of the new key. Default: as that of the old key." }),
});

const limit = (description: string, minimum = 0) =>
  Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER, description });

const Limits = {
  processes: limit("Active processes."),
  sources: limit("Registered sources."),
  outputs_registered: limit("Registered outputs."),
  outputs_active: limit("Attached outputs."),
  alerts: limit("Alerts, including one-off alerts of processes."),
  subscriptions: limit("Webhook subscriptions of all processes."),
  video_bytes: limit("Size of an uploaded video."),
  storage_bytes: limit("Size of all uploaded videos."),
  requests_per_minute: limit("Requests per minute.", 1),
  socket_clients: limit(
    "Clients of each of the websockets `detection_data` and `drone_data` of a process, up to 64.",
    1,
  ),
};

const FLAGS = {
  track_logger: Type.Boolean({ description: "Processes keep track reports." }),
  recording: Type.Boolean({ description: "Processes are recorded." }),
  enhancement: Type.Boolean({ description: "Track reports can be enhanced." }),
  graph_author: Type.Boolean({ description: "May run and store its own graphs, and upload models." }),
};

export const AccountRecord = Type.Object(
  {
    uuid: Uuid,
    username: Type.String(),
    master: orNull(Type.String(), { description: "Its master; null for a master." }),
    product: Type.String(),
    limits: Type.Object(Limits),
    ...FLAGS,
    operator: Type.Boolean({ description: "May see numbers of all accounts." }),
    expires_at: orNull(Timestamp, { description: "From this time on, no key of the account is valid." }),
    created_at: Timestamp,
  },
  { title: "Account" },
);
export type AccountRecord = Static<typeof AccountRecord>;

export const AccountListing = Type.Object({ accounts: Type.Array(AccountRecord) });

const orDefault = Object.fromEntries(
  Object.entries(Limits).map(([name, schema]) => [name, Type.Optional(orNull(schema))]),
) as { [N in keyof typeof Limits]: ReturnType<typeof Type.Optional<ReturnType<typeof orNull<typeof Limits.alerts>>>> };
const optional = Object.fromEntries(Object.entries(FLAGS).map(([name, schema]) => [name, Type.Optional(schema)])) as {
  [N in keyof typeof FLAGS]: ReturnType<typeof Type.Optional<typeof FLAGS.recording>>;
};

export const AccountChange = Type.Object({
  limits: Type.Optional(Type.Object(orDefault, { description: "Null: the limit of the configuration." })),
  ...optional,
  expires_at: Type.Optional({ ...ExpiresAt, description: "Null: the account does not expire." }),
});
export type AccountChange = Static<typeof AccountChange>;
