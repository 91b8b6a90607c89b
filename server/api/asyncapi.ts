/**
 * The AsyncAPI 3.0 document: messages that the service sends and receives by websockets, server-sent events, webhooks and
 * MQTT. Operations are those of the service: it sends what clients receive.
 */
import type { TSchema } from "typebox";
import { AccountEvent, EventGap, EventNotification } from "../../schemas/api/account-events.ts";
import {
  AlertEvent,
  AlertNotice,
  CameraEvent,
  DetectionsEvent,
  StateEvent,
  StatsEvent,
  TelemetryEvent,
} from "../../schemas/api/events.ts";
import { API_VERSION } from "../../schemas/api/information.ts";
import { DroneDataMessage, TelemetryMessage, TelemetryRefusal } from "../../schemas/api/telemetry.ts";
import { NewTracksNotification, TargetCountNotification } from "../../schemas/api/webhooks.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { WEBHOOK_HEADERS } from "./openapi.ts";
import { SharedSchemas } from "./shared-schemas.ts";

const ABOUT =
  "Messages of Windhover: what websockets, server-sent events, webhooks and MQTT topics carry. `GET /openapi.json` describes the requests that open and configure them. Every message is JSON. Operations are those of the service: `send` is what clients receive.";

type Server = "websocket" | "sse" | "receiver" | "broker";

const SERVERS: Readonly<Record<Server, object>> = {
  websocket: {
    ...{ host: "windhover.example.com", protocol: "wss" },
    description: "This service. Send the key in the header `api_key`, as `Authorization: Bearer`, or as `?api_key=`.",
    security: [{ $ref: "#/components/securitySchemes/api_key" }],
  },
  sse: {
    ...{ host: "windhover.example.com", protocol: "https" },
    description: "This service: server-sent events (`text/event-stream`); the name of a message is its `event`.",
    security: [{ $ref: "#/components/securitySchemes/api_key" }],
  },
  receiver: {
    ...{ host: "receiver.example.com", protocol: "https" },
    description: "Your receiver. Requests are signed as defined by Standard Webhooks; any 2xx status accepts one.",
  },
  broker: {
    ...{ host: "broker.example.com:1883", protocol: "mqtt" },
    description: "Your broker: MQTT 3.1.1 or 5, with TLS as `mqtts`.",
  },
};

interface Channel {
  readonly server: Server;
  /** Null: a topic or URL of your choice. */
  readonly address: string | null;
  readonly description: string;
  /** That the service sends, by name. */
  readonly sends?: Readonly<Record<string, TSchema>>;
  /** That clients send. */
  readonly receives?: Readonly<Record<string, TSchema>>;
  /** Of a message that is answered, if it is: the messages that answer it. */
  readonly replies?: Readonly<Record<string, TSchema>>;
}

const CHANNELS: Readonly<Record<string, Channel>> = {
  detectionData: {
    ...{ server: "websocket", address: "/process/{process_uuid}/detection_data" },
    description: "One message for every frame on which inference ran. One client at a time.",
    sends: { detection_data: DetectionMessage },
  },
  droneData: {
    ...{ server: "websocket", address: "/process/{process_uuid}/drone_data" },
    description: "Telemetry messages as received, in the native fields. One client at a time.",
    sends: { drone_data: DroneDataMessage },
  },
  telemetry: {
    ...{ server: "websocket", address: "/process/{process_uuid}/telemetry" },
    description:
      "Position and attitude of the camera, sent by the client, for sources whose telemetry channel is `websocket`. Only invalid messages are answered.",
    receives: { telemetry: TelemetryMessage },
    replies: { refusal: TelemetryRefusal },
  },
  processEvents: {
    ...{ server: "sse", address: "/process/{process_uuid}/events" },
    description: "What happens in one process, until it ends.",
    sends: {
      ...{ detections: DetectionsEvent, drone: DroneDataMessage, camera: CameraEvent, state: StateEvent },
      ...{ stats: StatsEvent, telemetry: TelemetryEvent, alert: AlertEvent },
    },
  },
  accountEvents: {
    ...{ server: "sse", address: "/events" },
    description:
      "The event log of the account, continued after `Last-Event-ID`. The name of an event is its type; `gap` names events that are no longer stored.",
    sends: { event: AccountEvent, gap: EventGap },
  },
  processWebhook: {
    ...{ server: "receiver", address: null },
    description: "`notification_url` of `POST /subscribe/{process_uuid}`.",
    sends: { "new-tracks": NewTracksNotification, "target-count": TargetCountNotification },
  },
  alertWebhook: {
    ...{ server: "receiver", address: null },
    description: "Outputs of type `webhook` of an alert, without a template.",
    sends: { alert: AlertNotice },
  },
  eventWebhook: {
    ...{ server: "receiver", address: null },
    description: "Outputs of type `webhook` of `POST /events/subscriptions`.",
    sends: { event: EventNotification },
  },
  detectionTopic: {
    ...{ server: "broker", address: null },
    description:
      "The topic in the URL of an output of type `mqtt`. With `{track_id}` or `{class_name}` in it, a message has only the tracks of one track or class.",
    sends: { detection_data: DetectionMessage },
  },
  alertTopic: {
    ...{ server: "broker", address: null },
    description: "`topic` of outputs of type `mqtt` of an alert. QoS 1.",
    sends: { alert: AlertNotice },
  },
  eventTopic: {
    ...{ server: "broker", address: null },
    description: "`topic` of outputs of type `mqtt` of `POST /events/subscriptions`. QoS 1.",
    sends: { event: EventNotification },
  },
  telemetryTopic: {
    ...{ server: "broker", address: null },
    description: "`topic` of the telemetry of a source (`telemetry_cfg` of type `mqtt`, in the format `native`).",
    receives: { telemetry: TelemetryMessage },
  },
};

const capitalised = (text: string): string => text.replace(/^[a-z]/, (letter) => letter.toUpperCase());

export function describeMessages(): Readonly<Record<string, unknown>> {
  const shared = new SharedSchemas();
  const entries = Object.entries(CHANNELS);
  return {
    asyncapi: "3.0.0",
    info: { title: "Windhover", version: API_VERSION, description: ABOUT },
    defaultContentType: "application/json",
    servers: SERVERS,
    channels: Object.fromEntries(entries.map(([name, channel]) => [name, describeChannel(channel, shared)])),
    operations: Object.fromEntries(entries.flatMap(([name, channel]) => describeOperations(name, channel))),
    components: {
      schemas: shared.list(),
      securitySchemes: { api_key: { type: "httpApiKey", in: "header", name: "api_key" } },
    },
  };
}

function describeChannel(channel: Channel, shared: SharedSchemas): object {
  const { server, address, description, sends = {}, receives = {}, replies = {} } = channel;
  const parameters = [...(address ?? "").matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [
    name,
    { description: "UUID, in lower case.", examples: ["01980000-0000-7000-8000-000000000001"] },
  ]);
  const messages = Object.entries({ ...sends, ...receives, ...replies }).map(([name, schema]) => [
    name,
    {
      name,
      ...(server === "receiver" && { headers: SIGNED }),
      payload: shared.refer(schema),
    },
  ]);
  return {
    ...{ address, description, servers: [{ $ref: `#/servers/${server}` }] },
    ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
    messages: Object.fromEntries(messages),
    ...(server === "websocket" && { bindings: { ws: { method: "GET", bindingVersion: "0.1.0" } } }),
  };
}

const SIGNED = {
  type: "object",
  properties: Object.fromEntries(
    Object.entries(WEBHOOK_HEADERS).map(([name, description]) => [name, { type: "string", description }]),
  ),
  required: Object.keys(WEBHOOK_HEADERS),
};

function describeOperations(name: string, { server, sends, receives, replies }: Channel): readonly [string, object][] {
  const channel = { $ref: `#/channels/${name}` };
  const refer = (messages: object) =>
    Object.keys(messages).map((message) => ({ $ref: `#/channels/${name}/messages/${message}` }));
  const bindings = server === "receiver" ? { bindings: { http: { method: "POST", bindingVersion: "0.3.0" } } } : {};
  const reply = replies === undefined ? {} : { reply: { channel, messages: refer(replies) } };
  return [
    ...(sends === undefined
      ? []
      : [[`send${capitalised(name)}`, { action: "send", channel, messages: refer(sends), ...bindings }] as const]),
    ...(receives === undefined
      ? []
      : [
          [`receive${capitalised(name)}`, { action: "receive", channel, messages: refer(receives), ...reply }] as const,
        ]),
  ].map(([id, operation]) => [id, operation]);
}
