/** Messages of a running service, checked against its AsyncAPI document. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";
import { WebSocket } from "ws";
import type { OutputRecord } from "../../../schemas/api/outputs.ts";
import { OWN_SCHEMAS } from "../../../schemas/own-schemas.ts";
import { openMosquitto } from "../../mosquitto.fixture.ts";
import { poll } from "../../watch.fixture.ts";
import type { ExampleRun } from "./example-run.fixture.ts";
import type { Ids } from "./world.fixture.ts";

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

/** The messages of a channel of the document. */
class Messages {
  readonly #ajv = new Ajv2020({ ...OWN_SCHEMAS, allErrors: true, logger: false });
  readonly #document: AsyncDocument;

  constructor(document: AsyncDocument) {
    this.#document = document;
    this.#ajv.addSchema({ components: document.components }, "messages");
  }

  /** Asserts that it is this message of this channel. */
  expect(channel: string, name: string, message: unknown): void {
    const payload =
      this.#document.channels[channel]?.messages[name]?.payload ?? assert.fail(`no ${name} in ${channel}`);
    const rooted = JSON.parse(JSON.stringify(payload).replaceAll('"#/components', '"messages#/components'));
    const validate = this.#ajv.compile(rooted);
    assert.ok(
      validate(message),
      `${channel} ${name}: ${this.#ajv.errorsText(validate.errors)} in ${JSON.stringify(message)}`,
    );
  }
}

export async function checkMessages(run: ExampleRun, { process }: Ids, receiver: Receiver): Promise<void> {
  const { service, key } = run;
  const document = (await (await fetch(`${service.url}/asyncapi.json`)).json()) as AsyncDocument;
  const messages = new Messages(document);

  const sockets = service.url.replace(/^http/, "ws");
  for (const [channel, name, path] of [
    ["detectionData", "detection_data", "detection_data"],
    ["droneData", "drone_data", "drone_data"],
  ] as const) {
    const socket = new WebSocket(`${sockets}/process/${process}/${path}`, { headers: { api_key: key } });
    const [data] = await once(socket, "message", { signal: AbortSignal.timeout(LIMIT_MS) });
    messages.expect(channel, name, JSON.parse(String(data)));
    socket.close();
  }

  for (const [channel, path, wanted] of [
    ["processEvents", `/process/${process}/events`, ["detections", "state", "stats", "telemetry", "camera"]],
    ["accountEvents", "/events?after=0", ["process-started"]],
  ] as const) {
    const events = await readEvents(`${service.url}${path}`, key, wanted);
    for (const { name, data } of events) messages.expect(channel, channel === "accountEvents" ? "event" : name, data);
  }

  for (const name of ["alertWebhook", "processWebhook", "eventWebhook"])
    assert.ok(
      receiver.bodies.some((body) => fits(messages, name, body)),
      `nothing was sent to ${name}: ${JSON.stringify(receiver.bodies).slice(0, 2000)}`,
    );
  const isKnown = (body: unknown) =>
    ["alertWebhook", "processWebhook", "eventWebhook"].some((channel) => fits(messages, channel, body));
  for (const body of receiver.bodies) assert.ok(isKnown(body), JSON.stringify(body));

  const broker = await openMosquitto();
  const client = await broker.connect();
  await client.subscribeAsync("windhover/#");
  const received: unknown[] = [];
  client.on("message", (_, bytes) => received.push(JSON.parse(String(bytes))));
  const json = { alias: "broker", type: "mqtt", url: `mqtt://127.0.0.1:${broker.port}/windhover/{process_uuid}` };
  const { uuid } = await service.expect<OutputRecord>(201, "POST", "/output", { json, key });
  await service.expect(200, "POST", `/process/${process}/${uuid}`, { key });
  await poll("a message at the broker", () => received.length > 0);
  for (const message of received) messages.expect("detectionTopic", "detection_data", message);
  await service.expect(200, "DELETE", `/process/${process}/${uuid}`, { key });
}

function fits(messages: Messages, channel: string, body: unknown): boolean {
  const names =
    { alertWebhook: ["alert"], eventWebhook: ["event"], processWebhook: ["new-tracks", "target-count"] }[channel] ?? [];
  return names.some((name) => {
    try {
      messages.expect(channel, name, body);
      return true;
    } catch {
      return false;
    }
  });
}

/** Until one of each of the wanted has come. */
async function readEvents(url: string, key: string, wanted: readonly string[]) {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const response = await fetch(url, { headers: { api_key: key, Accept: "text/event-stream" }, signal });
  let text = "";
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString();
    const found = [...text.matchAll(/^event: (.*)\n(?:id: .*\n)?data: (.*)\n\n/gm)];
    const events = found.map(([, name = "", data = ""]) => ({ name, data: JSON.parse(data) as unknown }));
    // Leaving the loop closes the connection.
    if (wanted.every((name) => events.some((event) => event.name === name))) return events;
  }
  return assert.fail(`${url} ended without ${wanted.join()}`);
}
