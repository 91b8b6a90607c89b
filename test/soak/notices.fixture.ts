/** Receivers of alerts: an event stream, a broker's subscriber and a webhook; broker and webhook can be made unavailable. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { AlertNotice } from "../../schemas/api/events.ts";
import { Gate } from "../../server/delivery/gate.fixture.ts";
import { MASTER_KEY, type TestService } from "../api/service.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import type { Watch } from "../watch.fixture.ts";

/** Notices of one receiver, in order, including duplicates. */
export class ReceivedNotices {
  readonly all: { readonly notice: AlertNotice; readonly text: string }[] = [];
  readonly #watch: Watch;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  add(text: string): void {
    this.all.push({ notice: JSON.parse(text), text });
    this.#watch.check();
  }

  /** Notices of one alert without duplicates. Fails when a duplicate is not byte-identical. */
  distinct(alertUuid: string): readonly AlertNotice[] {
    const texts = new Map<string, string>();
    const notices: AlertNotice[] = [];
    for (const { notice, text } of this.all) {
      if (notice.alert_uuid !== alertUuid) continue;
      const first = texts.get(notice.id);
      if (first === undefined) notices.push(notice);
      else assert.equal(text, first, "a duplicate differs");
      texts.set(notice.id, text);
    }
    return notices;
  }

  get duplicates(): number {
    return this.all.length - new Set(this.all.map(({ notice }) => notice.id)).size;
  }
}

export interface Receiver {
  /** Makes it unavailable. */
  fail(): Promise<void>;
  recover(): Promise<void>;
}

/** `fail` kills the broker, after all confirmed messages have reached the subscriber: a killed broker loses them. */
export async function openBroker(received: ReceivedNotices): Promise<Receiver & { readonly port: number }> {
  const broker = await openMosquitto();
  const subscriber = await broker.connect();
  const marks: string[] = [];
  subscriber.on("message", (topic, bytes) => (topic === "mark" ? marks.push(`${bytes}`) : received.add(`${bytes}`)));
  await subscriber.subscribeAsync("#", { qos: 1 });
  const gate = await Gate.open(broker.port);
  after(() => gate.cut());
  let kills = 0;
  return {
    port: gate.port,
    async fail() {
      await gate.cut();
      const mark = String(kills++);
      const marker = await broker.connect();
      await marker.publishAsync("mark", mark, { qos: 1 });
      await marker.endAsync();
      while (!marks.includes(mark)) await wait(5);
      await broker.kill();
    },
    async recover() {
      await broker.start();
      while (!subscriber.connected) await wait(5);
      await subscriber.subscribeAsync("#", { qos: 1 });
      await gate.open();
    },
  };
}

type Failure = "disconnected" | "error 500" | "no response";

/** `fail` disconnects it, lets it respond with 500, or lets it accept requests and close the connection without a response. */
export async function openHook(
  received: ReceivedNotices,
  choose: () => number,
): Promise<Receiver & { readonly url: string }> {
  let failure: Failure | null = null;
  const handle = (text: string, response: ServerResponse): void => {
    if (failure === "error 500") return void response.writeHead(500).end();
    received.add(text);
    if (failure === "no response") response.destroy();
    else response.end();
  };
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part as Buffer);
    } catch {
      return;
    }
    handle(Buffer.concat(parts).toString(), response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const gate = await Gate.open((server.address() as AddressInfo).port);
  after(async () => {
    await gate.cut();
    server.close().closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${gate.port}/alerts`,
    async fail() {
      failure = (["disconnected", "error 500", "no response"] as const)[Math.floor(choose() * 3)] ?? "error 500";
      if (failure === "disconnected") await gate.cut();
    },
    async recover() {
      if (failure === "disconnected") await gate.open();
      failure = null;
    },
  };
}

/** Receives the events of a process, and reconnects after a restart of the service. Events in between are lost. */
export function receiveEvents(
  service: TestService,
  processUuid: string,
  received: ReceivedNotices,
): { stop(): Promise<void> } {
  // One per connection: listeners would accumulate on a shared signal.
  let connection = new AbortController();
  let isOver = false;
  const listen = async ({ signal }: AbortController): Promise<void> => {
    const headers = { api_key: MASTER_KEY };
    const response = await fetch(`${service.url}/process/${processUuid}/events`, { headers, signal });
    let text = "";
    for await (const part of response.body ?? []) {
      text += Buffer.from(part).toString();
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const data = /^event: alert\nid: \d+\ndata: (.*)$/.exec(event)?.[1];
        if (data !== undefined) received.add(data);
      }
    }
  };
  const running = (async () => {
    while (!isOver) {
      connection = new AbortController();
      await listen(connection).catch(() => {});
      await wait(20);
    }
  })();
  return {
    stop() {
      isOver = true;
      connection.abort();
      return running;
    },
  };
}
