/** Alerts: their conditions, their processes, and the destinations of their notifications. */
import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { type AlertTypeDefinition, CONFIGURATION_FIELDS } from "../alerts.ts";
import { Schedule } from "../schedule.ts";
import { EvidenceSetting } from "./evidence.ts";
import { aliasFilter, jsonObject, listing, listQuery, orNull, Timestamp, Uuid, when } from "./records.ts";
import { Alias } from "./sources.ts";

const ALERT_OUTPUT_TYPES = ["mqtt", "webhook", "email"] as const;
const MOST_ALERT_OUTPUTS = 16;
const MOST_ADDRESSES = 10;
const MOST_TEMPLATE_CHARACTERS = 16_384;

/** Stands for a secret in responses. In a request it keeps the stored secret. */
export const MASK = "***";

const NO_CONTROLS = "^[^\\u0000-\\u001f\\u007f]*$";

export const MqttOutputConfig = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 1024,
      pattern: "^[^\\s\\u0000-\\u001f\\u007f]+$",
      description: "Address of the broker: `host`, `host:port`, `mqtt://host:port` or `mqtts://host:port`.",
    }),
    topic: Type.String({
      minLength: 1,
      maxLength: 1024,
      pattern: "^[^+#\\u0000-\\u001f\\u007f]+$",
      description: "Topic for the notifications: 1 to 1024 characters without `+`, `#` and control characters.",
    }),
    qos: Type.Optional(Type.Enum([0, 1, 2], { default: 1 })),
    username: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: NO_CONTROLS,
        description: "User name of 1 to 255 characters.",
      }),
    ),
    password: Type.Optional(
      Type.String({
        maxLength: 1024,
        secret: true,
        description: "Responses show `***`. Send `***` to keep the stored password.",
      }),
    ),
  },
  { title: "MqttAlertOutput", additionalProperties: false },
);
export type MqttOutputConfig = Static<typeof MqttOutputConfig>;

const PLACEHOLDERS =
  '`{{ name }}` stands for a value of the notification, and `{{ name | default: "text" }}` for the text where it has none: `alert.alias`, `event`, `timestamp`, `tracks.length`, `tracks.0.class_name`, `tracks.0.values.NAME`, `data.count`, `snapshot_url` and all its other fields.';

export const WebhookTemplate = Type.Object(
  {
    body: Type.String({
      minLength: 1,
      maxLength: MOST_TEMPLATE_CHARACTERS,
      description: `The body of the request. ${PLACEHOLDERS} In JSON, values are escaped within strings, and written as JSON elsewhere.`,
    }),
    content_type: Type.Optional(Type.Enum(["application/json", "text/plain"], { default: "application/json" })),
    headers: Type.Optional(
      Type.Record(
        Type.String({ maxLength: 64 }),
        Type.String({ minLength: 1, maxLength: 2048, pattern: "^[\\x20-\\x7e]*$" }),
        {
          maxProperties: 16,
          description:
            "Further headers: `Authorization`, `X-Api-Key` and others that services of this kind use. Responses show secret ones as `***`; send `***` to keep the stored value.",
        },
      ),
    ),
  },
  { title: "WebhookTemplate", additionalProperties: false },
);
export type WebhookTemplate = Static<typeof WebhookTemplate>;

export const WebhookOutputConfig = Type.Object(
  {
    url: Type.String({
      maxLength: 2048,
      pattern: "^https?://[^\\s\\\\]+$",
      description:
        "`http://` or `https://` URL of at most 2048 characters. Receives every notification as a POST request.",
    }),
    secret: Type.Optional(
      Type.String({
        maxLength: 200,
        secret: true,
        pattern: "^(?:whsec_[A-Za-z0-9+/]{32,86}={0,2}|\\*\\*\\*)$",
        description:
          "Signing secret (Standard Webhooks): `whsec_` and base64. Generated if omitted. Returned once, in the response to the request that set or generated it. Send `***` to keep the stored secret.",
      }),
    ),
    template: Type.Optional(WebhookTemplate),
  },
  { title: "WebhookAlertOutput", additionalProperties: false },
);
export type WebhookOutputConfig = Static<typeof WebhookOutputConfig>;

export const EmailOutputConfig = Type.Object(
  {
    to: Type.Array(
      Type.String({
        maxLength: 254,
        pattern: "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)*$",
        description: "Address of at most 254 characters, in ASCII, without a name.",
      }),
      { minItems: 1, maxItems: MOST_ADDRESSES, description: `Recipients, up to ${MOST_ADDRESSES}.` },
    ),
    subject: Type.Optional(
      Type.String({ minLength: 1, maxLength: 500, description: `Subject of the mail. ${PLACEHOLDERS}` }),
    ),
    text: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MOST_TEMPLATE_CHARACTERS,
        description: `Text of the mail. ${PLACEHOLDERS}`,
      }),
    ),
  },
  {
    title: "EmailAlertOutput",
    additionalProperties: false,
    description:
      "Sent by the mail server of this service (`smtp.url`). Notifications that follow within `smtp.interval_seconds` are combined into one mail.",
  },
);
export type EmailOutputConfig = Static<typeof EmailOutputConfig>;

export const AlertOutput = Type.Object(
  {
    type: Type.Enum([...ALERT_OUTPUT_TYPES]),
    config: Type.Unknown({
      description: "Configuration for the type: see `MqttAlertOutput`, `WebhookAlertOutput` and `EmailAlertOutput`.",
    }),
  },
  {
    title: "AlertOutput",
    additionalProperties: false,
    required: ["type", "config"],
    allOf: [
      when("type", ["mqtt"], Type.Object({ config: MqttOutputConfig })),
      when("type", ["webhook"], Type.Object({ config: WebhookOutputConfig })),
      when("type", ["email"], Type.Object({ config: EmailOutputConfig })),
    ],
  },
);

const Outputs = Type.Array(AlertOutput, {
  maxItems: MOST_ALERT_OUTPUTS,
  description: `Destinations, up to ${MOST_ALERT_OUTPUTS}. Each receives every notification in order, at least once. Without one, \`GET /notices\` lists the notifications.`,
});

const Evidence = orNull(EvidenceSetting, { description: "Null: none." });

const Status = Type.Enum(["active", "inactive"]);
const Force = Type.Boolean({
  description: "Apply the changed configuration to all running processes at once, without restarting them.",
});

/** The body of a new alert, with the configuration of each type. */
export const newAlertOf = (types: readonly AlertTypeDefinition[]) =>
  Type.Object(
    {
      alias: Alias,
      type: Type.Enum(types.map(({ name }) => name)),
      output: Type.Optional(Outputs),
      evidence: Type.Optional(Evidence),
      status: Type.Optional(Status),
      schedule: Type.Optional(orNull(Schedule)),
      ...describeParts(),
    },
    {
      title: "NewAlert",
      description: "`GET /alert_description` returns the configuration schema of each type.",
      allOf: types.map(({ name, schemas }) => when("type", [name], Type.Object(partsOf(schemas)))),
    },
  );
export type NewAlert = Static<ReturnType<typeof newAlertOf>>;

/** Parts whose values all have defaults are optional. */
function partsOf(schemas: AlertTypeDefinition["schemas"]): TProperties {
  return Object.fromEntries(
    CONFIGURATION_FIELDS.map((field) => [
      field,
      needsNothing(schemas[field]) ? Type.Optional(schemas[field]) : schemas[field],
    ]),
  );
}

/** Whether an empty object is valid after defaults are filled in. */
function needsNothing(schema: TSchema): boolean {
  const { required = [], properties = {} } = schema as {
    readonly required?: readonly string[];
    readonly properties?: Readonly<Record<string, { readonly default?: unknown }>>;
  };
  return required.every((name) => properties[name]?.default !== undefined);
}

const describeParts = () =>
  Object.fromEntries(
    CONFIGURATION_FIELDS.map((field) => [
      field,
      Type.Optional(Type.Unknown({ description: "An object; `GET /alert_description` returns its schema." })),
    ]),
  ) as Record<(typeof CONFIGURATION_FIELDS)[number], ReturnType<typeof Type.Optional<ReturnType<typeof Type.Unknown>>>>;

/** A part that is sent replaces the stored part completely. */
export const AlertChange = Type.Object(
  {
    alias: Type.Optional(Alias),
    type: Type.Optional(Type.String({ maxLength: 200, description: "Cannot be changed; may be sent unchanged." })),
    status: Type.Optional(Status),
    output: Type.Optional(Outputs),
    schedule: Type.Optional(orNull(Schedule)),
    evidence: Type.Optional(Evidence),
    ...describeParts(),
    force: Type.Optional(Force),
  },
  { title: "AlertChange" },
);
export type AlertChange = Static<typeof AlertChange>;

export const AlertChangeQuery = Type.Object({ force: Type.Optional(Force) });

/** What the outputs of an alert would send. */
export const AlertPreviewRequest = Type.Object(
  {
    alias: Type.Optional(Alias),
    type: Type.Optional(Type.String({ maxLength: 200, description: "Alert type of the sample." })),
    output: Outputs,
    evidence: Type.Optional(Evidence),
  },
  {
    title: "AlertPreviewRequest",
    additionalProperties: false,
    description:
      "Fields of an alert. With `evidence`, the sample has `clip_url` and `snapshot_url` as far as it asks for them.",
  },
);
export type AlertPreviewRequest = Static<typeof AlertPreviewRequest>;

export const AlertPreview = Type.Object(
  {
    previews: Type.Array(
      Type.Object({
        type: Type.Enum([...ALERT_OUTPUT_TYPES]),
        content_type: Type.String({ description: "Of the body." }),
        subject: orNull(Type.String(), { description: "Of a mail; null for other types." }),
        body: Type.String({ description: "The MQTT payload, the body of the request, or the text of the mail." }),
      }),
      { description: "In the order of `output`." },
    ),
  },
  { title: "AlertPreview" },
);
export type AlertPreview = Static<typeof AlertPreview>;

export const AlertDescriptionQuery = Type.Object({
  name: Type.Optional(Type.String({ maxLength: 200, description: "Name of the alert type." })),
  type: Type.Optional(Type.String({ maxLength: 200, description: "Alias of `name`." })),
});

const JsonSchema = jsonObject("JSON Schema.");

export const AlertDescription = Type.Object(
  {
    name: Type.String(),
    type: Type.String({ description: "Same as `name`: the value for `type` of an alert." }),
    description: Type.String(),
    schemas: Type.Object({ trigger: JsonSchema, region: JsonSchema, filter: JsonSchema, parameters: JsonSchema }),
    example: jsonObject("A complete body for `POST /alert`."),
  },
  { title: "AlertDescription" },
);
export type AlertDescription = Static<typeof AlertDescription>;

const Part = jsonObject();
const ShownOutput = Type.Object({
  type: Type.Enum([...ALERT_OUTPUT_TYPES]),
  config: jsonObject("Secrets are shown as `***`."),
});

const configuration = {
  trigger: Part,
  region: Part,
  filter: Part,
  parameters: Part,
  output: Type.Array(ShownOutput),
  evidence: Evidence,
};

/** Delivery status of one output. */
export const AlertDelivery = Type.Object(
  {
    type: Type.Enum([...ALERT_OUTPUT_TYPES]),
    waiting: Type.Integer({ minimum: 0 }),
    delivered: Type.Integer({ minimum: 0 }),
    dropped: Type.Integer({
      minimum: 0,
      description: "Notifications discarded because the queue was full or delivery failed for too long.",
    }),
    last_attempt_at: orNull(Timestamp),
    last_delivered_at: orNull(Timestamp),
    last_error: orNull(Type.String(), { description: "Error of the last attempt; null if it succeeded." }),
  },
  { title: "AlertDelivery" },
);
export type AlertDelivery = Static<typeof AlertDelivery>;

export const AlertRecord = Type.Object(
  {
    uuid: Uuid,
    alert_uuid: Uuid,
    alias: Type.String(),
    type: Type.String(),
    status: Status,
    schedule: orNull(Schedule, { description: "When it is evaluated. Null: always." }),
    ...configuration,
    pending: orNull(Type.Object(configuration), {
      description:
        "The changed configuration, while a running process still uses the current one. It takes effect at the next start of a process, or at once with `force`.",
    }),
    process_uuid: orNull(Uuid, {
      description: "The process of a one-off alert, and in the listing of active alerts. Null: all processes.",
    }),
    delivery: Type.Array(AlertDelivery, {
      description: "Extension: delivery status per output, in the order of `output`.",
    }),
    created_at: Timestamp,
  },
  { title: "Alert" },
);
export type AlertRecord = Static<typeof AlertRecord>;

const filters = {
  type: Type.Optional(Type.String({ maxLength: 100, description: "`GET /alert_description` lists the types." })),
  alias: aliasFilter,
};

export const AlertQuery = listQuery(["created_at", "alias"], { ...filters, status: Type.Optional(Status) });

export const ActiveAlertQuery = listQuery(["created_at", "alias"], { ...filters, process_uuid: Type.Optional(Uuid) });

export const AlertListing = listing({ alerts: Type.Array(AlertRecord) });
