/** Alerts: what is watched for, on which processes, and who is told of it. */
import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { type AlertTypeDefinition, CONFIGURATION_FIELDS } from "../alerts.ts";
import { when } from "./conditions.ts";
import { listing, Timestamp, Uuid } from "./records.ts";
import { Alias } from "./sources.ts";

export const ALERT_OUTPUT_TYPES = ["mqtt", "webhook"] as const;
export const MOST_ALERT_OUTPUTS = 16;

/** In place of a secret, here and in what comes back: it stays what it was. */
export const MASK = "***";

const NO_CONTROLS = "^[^\\u0000-\\u001f\\u007f]*$";

export const MqttOutputConfig = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 1024,
      pattern: "^[^\\s\\u0000-\\u001f\\u007f]+$",
      description: "Of the broker: `host`, `host:port`, `mqtt://host:port` or `mqtts://host:port`.",
    }),
    topic: Type.String({
      minLength: 1,
      maxLength: 1024,
      pattern: "^[^+#\\u0000-\\u001f\\u007f]+$",
      description: "What notices are published to: 1 to 1024 characters without `+`, `#` and control characters.",
    }),
    qos: Type.Optional(Type.Enum([0, 1, 2], { default: 1 })),
    username: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: NO_CONTROLS,
        description: "A name of 1 to 255 characters.",
      }),
    ),
    password: Type.Optional(
      Type.String({
        maxLength: 1024,
        secret: true,
        description: "Comes back as `***`; that in its place keeps the one before.",
      }),
    ),
  },
  { title: "MqttAlertOutput", additionalProperties: false },
);
export type MqttOutputConfig = Static<typeof MqttOutputConfig>;

export const WebhookOutputConfig = Type.Object(
  {
    url: Type.String({
      maxLength: 2048,
      pattern: "^https?://[^\\s\\\\]+$",
      description: "`http://` or `https://`, of at most 2048 characters: gets every notice by POST.",
    }),
    secret: Type.Optional(
      Type.String({
        maxLength: 200,
        secret: true,
        pattern: "^(?:whsec_[A-Za-z0-9+/]{32,86}={0,2}|\\*\\*\\*)$",
        description:
          "By which notices are signed, as Standard Webhooks have it: `whsec_` and base64. Left out: one is made. Shown once, in the answer to the request that brought or made it; `***` in its place keeps the one before.",
      }),
    ),
  },
  { title: "WebhookAlertOutput", additionalProperties: false },
);
export type WebhookOutputConfig = Static<typeof WebhookOutputConfig>;

export const AlertOutput = Type.Object(
  {
    type: Type.Enum([...ALERT_OUTPUT_TYPES]),
    config: Type.Unknown({ description: "Of the type: see `MqttAlertOutput` and `WebhookAlertOutput`." }),
  },
  {
    title: "AlertOutput",
    additionalProperties: false,
    required: ["type", "config"],
    allOf: [
      when("type", ["mqtt"], Type.Object({ config: MqttOutputConfig })),
      when("type", ["webhook"], Type.Object({ config: WebhookOutputConfig })),
    ],
  },
);

const Outputs = Type.Array(AlertOutput, {
  minItems: 1,
  maxItems: MOST_ALERT_OUTPUTS,
  description: `Who is told: 1 to ${MOST_ALERT_OUTPUTS}. Each gets every notice, in order, at least once.`,
});

const Status = Type.Enum(["active", "inactive"]);
const Force = Type.Boolean({
  description: "A changed configuration is live on every running process at once, and nothing else of it is touched.",
});

/** What a new alert takes, with the configuration of each type. */
export const newAlertOf = (types: readonly AlertTypeDefinition[]) =>
  Type.Object(
    {
      alias: Alias,
      type: Type.Enum(types.map(({ name }) => name)),
      output: Outputs,
      status: Type.Optional(Status),
      ...describeParts(),
    },
    {
      title: "NewAlert",
      description: "`GET /alert_description` tells what the configuration of each type holds.",
      allOf: types.map(({ name, schemas }) => when("type", [name], Type.Object(partsOf(schemas)))),
    },
  );
export type NewAlert = Static<ReturnType<typeof newAlertOf>>;

/** Parts that have no value without a default need not be sent. */
function partsOf(schemas: AlertTypeDefinition["schemas"]): TProperties {
  return Object.fromEntries(
    CONFIGURATION_FIELDS.map((field) => [
      field,
      needsNothing(schemas[field]) ? Type.Optional(schemas[field]) : schemas[field],
    ]),
  );
}

/** Whether an empty object will do, once defaults are filled in. */
export function needsNothing(schema: TSchema): boolean {
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
      Type.Optional(Type.Unknown({ description: `An object; \`GET /alert_description\` has its schema.` })),
    ]),
  ) as Record<(typeof CONFIGURATION_FIELDS)[number], ReturnType<typeof Type.Optional<ReturnType<typeof Type.Unknown>>>>;

/** What may be changed. Each part that is sent replaces the whole of it. */
export const AlertChange = Type.Object(
  {
    alias: Type.Optional(Alias),
    type: Type.Optional(Type.String({ maxLength: 200, description: "Cannot be changed; may be sent as it is." })),
    status: Type.Optional(Status),
    output: Type.Optional(Outputs),
    ...describeParts(),
    force: Type.Optional(Force),
  },
  { title: "AlertChange" },
);
export type AlertChange = Static<typeof AlertChange>;

export const AlertChangeQuery = Type.Object({ force: Type.Optional(Force) });

export const AlertDescriptionQuery = Type.Object({
  name: Type.Optional(Type.String({ maxLength: 200, description: "Of the type." })),
  type: Type.Optional(Type.String({ maxLength: 200, description: "The same as `name`." })),
});

const JsonSchema = Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema." });

export const AlertDescription = Type.Object(
  {
    name: Type.String(),
    type: Type.String({ description: "The same: what an alert has as its type." }),
    description: Type.String(),
    schemas: Type.Object({ trigger: JsonSchema, region: JsonSchema, filter: JsonSchema, parameters: JsonSchema }),
    example: Type.Record(Type.String(), Type.Unknown(), { description: "A body of `POST /alert`, as it is." }),
  },
  { title: "AlertDescription" },
);
export type AlertDescription = Static<typeof AlertDescription>;

const Part = Type.Record(Type.String(), Type.Unknown());
const ShownOutput = Type.Object({
  type: Type.Enum([...ALERT_OUTPUT_TYPES]),
  config: Type.Record(Type.String(), Type.Unknown(), { description: "Secrets are shown as `***`." }),
});

const configuration = {
  trigger: Part,
  region: Part,
  filter: Part,
  parameters: Part,
  output: Type.Array(ShownOutput),
};

/** How the notices for one output get on. */
export const AlertDelivery = Type.Object(
  {
    type: Type.Enum([...ALERT_OUTPUT_TYPES]),
    waiting: Type.Integer({ minimum: 0 }),
    delivered: Type.Integer({ minimum: 0 }),
    dropped: Type.Integer({ minimum: 0, description: "More waited than may, or were tried for too long." }),
    last_attempt_at: Type.Union([Timestamp, Type.Null()]),
    last_delivered_at: Type.Union([Timestamp, Type.Null()]),
    last_error: Type.Union([Type.String(), Type.Null()], { description: "Of the last attempt; null: it went well." }),
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
    ...configuration,
    pending: Type.Union([Type.Object(configuration), Type.Null()], {
      description:
        "The changed configuration, while some running process still runs with what is shown beside it. It holds from the next start of a process on, or at once with `force`.",
    }),
    process_uuid: Type.Union([Uuid, Type.Null()], {
      description: "Of a one-off alert, and in the listing of active ones: the process. Null: all processes.",
    }),
    delivery: Type.Array(AlertDelivery, { description: "Ours: how its outputs get on, in their order." }),
    created_at: Timestamp,
  },
  { title: "Alert" },
);
export type AlertRecord = Static<typeof AlertRecord>;

export const AlertListing = listing({ alerts: Type.Array(AlertRecord) });
