/** Every message of every channel of the AsyncAPI document, taken from a running service and checked against it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { WebSocket } from "ws";
import type { OutputRecord } from "../../../schemas/api/outputs.ts";
import type { StartedProcess } from "../../../schemas/api/processes.ts";
import type { SourceRecord } from "../../../schemas/api/sources.ts";
import { OWN_SCHEMAS } from "../../../schemas/own-schemas.ts";
import { makeConfig } from "../../../server/api/app.fixture.ts";
import { silentLog } from "../../../server/store/database.fixture.ts";
import { borrowDatabase } from "../../../server/store/database.ts";
import { openMosquitto } from "../../mosquitto.fixture.ts";
import { poll } from "../../watch.fixture.ts";
import type { ExampleRun } from "./example-run.fixture.ts";
import type { Ids, World } from "./world.fixture.ts";

const LIMIT_MS = 60_000;

export interface AsyncDocument {
  readonly channels: Readonly<
    Record<string, { readonly messages: Readonly<Record<string, { readonly payload: object }>> }>
  >;
  readonly components: object;
}

/** Bodies of webhooks, in the order of their arrival. */
export class Receiver {
  readonly bodies: unknown[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      assert.ok(request.headers["webhook-signature"], "webhooks are signed");
      this.bodies.push(JSON.parse(Buffer.concat(parts).toString()));
      response.end();
    });
  }

  /** Resolves with its origin. */
  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** The messages of the channels of the document. */
class Messages {
  readonly #ajv = new Ajv2020({ ...OWN_SCHEMAS, allErrors: true, logger: false });
  readonly #document: AsyncDocument;
  readonly #seen = new Set<string>();

  constructor(document: AsyncDocument) {
    this.#document = document;
    this.#ajv.addSchema({ components: document.components }, "messages");
  }

  /** Those that no real message was compared with. */
  get unseen(): readonly string[] {
    return Object.entries(this.#document.channels)
      .flatMap(([channel, { messages }]) => Object.keys(messages).map((name) => `${channel} ${name}`))
      .filter((message) => !this.#seen.has(message));
  }

  /** Null: it is this message of this channel. */
  findFault(channel: string, name: string, message: unknown): string | null {
    const payload =
      this.#document.channels[channel]?.messages[name]?.payload ?? assert.fail(`no ${name} in ${channel}`);
    const rooted = JSON.parse(JSON.stringify(payload).replaceAll('"#/components', '"messages#/components'));
    const validate = this.#ajv.compile(rooted);
    if (validate(message)) {
      this.#seen.add(`${channel} ${name}`);
      return null;
    }
    return `${channel} ${name}: ${this.#ajv.errorsText(validate.errors)} in ${JSON.stringify(message).slice(0, 2000)}`;
  }

  expect(channel: string, name: string, message: unknown): void {
    const fault = this.findFault(channel, name, message);
    assert.equal(fault, null, fault ?? "");
  }
}

type Broker = Awaited<ReturnType<typeof openMosquitto>>;

export async function checkMessages(run: ExampleRun, world: World, ids: Ids, receiver: Receiver): Promise<void> {
  const { service, key } = run;
  const { process } = ids;
  const document = (await (await fetch(`${service.url}/asyncapi.json`)).json()) as AsyncDocument;
  const messages = new Messages(document);
  const broker = await openMosquitto();
  const received = await followTopics(broker);

  const output = [{ type: "mqtt", config: { host: `127.0.0.1:${broker.port}`, topic: "alerts/car" } }];
  const alert = await service.expect<{ uuid: string }>(201, "POST", "/alert", {
    ...{ key, json: { alias: "Car", type: "filter-search", filter: { class_names: ["car"] }, output } },
  });
  const counted = { notification_url: world.receiver, event_type: "target-count" };
  await service.expect(201, "POST", `/subscribe/${process}`, { key, json: counted });
  const events = [{ type: "mqtt", config: { host: `127.0.0.1:${broker.port}`, topic: "events/all" } }];
  await service.expect(201, "POST", "/events/subscriptions", { key, json: { output: events } });

  for (const [channel, name] of [
    ["detectionData", "detection_data"],
    ["droneData", "drone_data"],
  ] as const) {
    const socket = openSocket(run, process, name);
    messages.expect(channel, name, await nextMessage(socket));
    socket.close();
  }
  const ofProcess = ["detections", "state", "stats", "telemetry", "camera", "alert"];
  for (const { name, data } of await readEvents(run, `/process/${process}/events`, ofProcess))
    messages.expect("processEvents", name, data);
  await checkTelemetry(run, world, messages, broker);
  await checkAccountEvents(run, messages);

  const detections = { alias: "broker", type: "mqtt", url: `mqtt://127.0.0.1:${broker.port}/windhover/{process_uuid}` };
  const { uuid } = await service.expect<OutputRecord>(201, "POST", "/output", { json: detections, key });
  await service.expect(200, "POST", `/process/${process}/${uuid}`, { key });
  for (const [channel, name, topic] of [
    ["detectionTopic", "detection_data", `windhover/${process}`],
    ["alertTopic", "alert", "alerts/car"],
    ["eventTopic", "event", "events/all"],
  ] as const) {
    const found = await poll(`a message on ${topic}`, () => received.get(topic));
    for (const message of found) messages.expect(channel, name, message);
  }
  await service.expect(200, "DELETE", `/process/${process}/${uuid}`, { key });
  await service.expect(200, "DELETE", `/alert/${alert.uuid}`, { key });

  const isKnown = (body: unknown): boolean =>
    WEBHOOKS.some(([channel, name]) => !messages.findFault(channel, name, body));
  const isSeen = (message: string): boolean => !messages.unseen.includes(message);
  await poll("a message of each webhook", () => {
    for (const body of receiver.bodies) assert.ok(isKnown(body), JSON.stringify(body));
    return WEBHOOKS.every((names) => isSeen(names.join(" ")));
  });
  await service.expect(200, "DELETE", `/subscriptions/${process}`, { key, json: { event_type: "target-count" } });
  assert.deepEqual(messages.unseen, []);
}

const WEBHOOKS = [
  ...[["alertWebhook", "alert"] as const, ["eventWebhook", "event"] as const],
  ...[["processWebhook", "new-tracks"] as const, ["processWebhook", "target-count"] as const],
];

/** What the broker has received, by topic. */
async function followTopics(broker: Broker): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const received = new Map<string, unknown[]>();
  const client = await broker.connect();
  client.on("message", (topic, bytes) => {
    received.set(topic, [...(received.get(topic) ?? []), JSON.parse(String(bytes))]);
  });
  await client.subscribeAsync(["windhover/#", "alerts/#", "events/#"]);
  return received;
}

const openSocket = ({ service, key }: ExampleRun, process: string, name: string): WebSocket =>
  new WebSocket(`${service.url.replace(/^http/, "ws")}/process/${process}/${name}`, { headers: { api_key: key } });

async function nextMessage(socket: WebSocket): Promise<unknown> {
  const [data] = await once(socket, "message", { signal: AbortSignal.timeout(LIMIT_MS) });
  return JSON.parse(String(data));
}

/** With all fields of the schema. */
const TELEMETRY = {
  ...{ timestamp: 1_760_000_000, latitude: 41.4, longitude: 2.17, speed: 3.5, sensor_hfov: 60, sensor_vfov: 34 },
  ...{ camera_pitch: -45, camera_yaw: 120, camera_roll: 0, altitude: 180, rel_altitude: 60 },
  ...{ drone_pitch: 1, drone_yaw: 118, drone_roll: -2 },
};

/** Telemetry that the service accepts fits the document, arrives, and is answered only if it is invalid. */
async function checkTelemetry(run: ExampleRun, world: World, messages: Messages, broker: Broker): Promise<void> {
  const { service, key } = run;
  const input_url = `${world.rtmp}/acme/telemetry`;
  const { uuid } = await service.expect<SourceRecord>(201, "POST", "/stream", {
    ...{ key, json: { alias: "Telemetry", input_url, stream_type: "rtmp", recording: "off" } },
  });
  const publisher = world.publish(`${input_url}?api_key=${key}`);
  const start = async (telemetry_cfg: object): Promise<string> => {
    await service.expect(200, "PATCH", `/source/${uuid}`, { key, json: { telemetry_cfg } });
    const json = { wait: true };
    const path = `/start?source_uuid=${uuid}&graph=preview`;
    return (await service.expect<StartedProcess>(201, "POST", path, { key, json })).process_uuid;
  };
  const arrives = async (process: string, send: () => Promise<void>): Promise<void> => {
    const socket = openSocket(run, process, "drone_data");
    await once(socket, "open");
    const next = nextMessage(socket);
    await send();
    const { timestamp: _, ...sent } = TELEMETRY;
    const { timestamp: __, dropped: ___, ...found } = (await next) as typeof TELEMETRY & { dropped?: number };
    assert.deepEqual(found, sent);
    socket.close();
  };

  const byWebsocket = await start({ type: "websocket" });
  const socket = openSocket(run, byWebsocket, "telemetry");
  await once(socket, "open");
  messages.expect("telemetry", "telemetry", TELEMETRY);
  await arrives(byWebsocket, async () => socket.send(JSON.stringify(TELEMETRY)));
  const refusal = nextMessage(socket);
  socket.send(JSON.stringify({ ...TELEMETRY, latitude: 91 }));
  messages.expect("telemetry", "refusal", await refusal);
  const following = readEvents(run, `/process/${byWebsocket}/events`, ["drone"]);
  const sending = setInterval(() => socket.send(JSON.stringify(TELEMETRY)), 200);
  for (const { name, data } of await following.finally(() => clearInterval(sending)))
    messages.expect("processEvents", name, data);
  socket.close();

  const parameters = { ip: "127.0.0.1", port: broker.port, topic: "drone/7" };
  const byTopic = await start({ type: "mqtt", parameters });
  const client = await broker.connect();
  messages.expect("telemetryTopic", "telemetry", TELEMETRY);
  // Retained: the service may subscribe later.
  await arrives(byTopic, async () => {
    await client.publishAsync("drone/7", JSON.stringify(TELEMETRY), { qos: 1, retain: true });
  });
  for (const process of [byWebsocket, byTopic]) await service.expect(200, "DELETE", `/process/${process}`, { key });
  publisher.kill("SIGKILL");
}

/** Of the log, from its beginning, whose first event is no longer stored then. */
async function checkAccountEvents(run: ExampleRun, messages: Messages): Promise<void> {
  const expectEvents = async (wanted: readonly string[]) => {
    for (const { name, data } of await readEvents(run, "/events?after=0", wanted))
      messages.expect("accountEvents", name === "gap" ? name : "event", data);
  };
  await expectEvents(["process-started"]);
  const database = await borrowDatabase(makeConfig({ DATA_DIR: join(run.service.folder.path, "data") }), silentLog);
  try {
    await database.sql`delete from events where seq = 1`;
  } finally {
    await database.close();
  }
  await expectEvents(["gap", "process-started"]);
}

/** Until one of each of the wanted has come. */
async function readEvents({ service, key }: ExampleRun, path: string, wanted: readonly string[]) {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const response = await fetch(`${service.url}${path}`, {
    headers: { api_key: key, Accept: "text/event-stream" },
    signal,
  });
  let text = "";
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString();
    const found = [...text.matchAll(/^event: (.*)\n(?:id: .*\n)?data: (.*)\n\n/gm)];
    const events = found.map(([, name = "", data = ""]) => ({ name, data: JSON.parse(data) as unknown }));
    // Leaving the loop closes the connection.
    if (wanted.every((name) => events.some((event) => event.name === name))) return events;
  }
  return assert.fail(`${path} ended without ${wanted.join()}`);
}
