/** Who is told of alerts: followers of the process, a broker's subscriber and a webhook; the latter two can be away. */
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

/** What one of them got, in order, copies included. */
export class Heard {
  readonly all: { readonly notice: AlertNotice; readonly text: string }[] = [];
  readonly #watch: Watch;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  add(text: string): void {
    this.all.push({ notice: JSON.parse(text), text });
    this.#watch.check();
  }

  /** Of one alert, the first copy of each. A copy that is not the same to the byte is a fault. */
  distinct(alertUuid: string): readonly AlertNotice[] {
    const texts = new Map<string, string>();
    const notices: AlertNotice[] = [];
    for (const { notice, text } of this.all) {
      if (notice.alert_uuid !== alertUuid) continue;
      const first = texts.get(notice.id);
      if (first === undefined) notices.push(notice);
      else assert.equal(text, first, "a copy differs");
      texts.set(notice.id, text);
    }
    return notices;
  }

  get copies(): number {
    return this.all.length - new Set(this.all.map(({ notice }) => notice.id)).size;
  }
}

export interface Absentee {
  leave(): Promise<void>;
  comeBack(): Promise<void>;
}

/** It is killed when it leaves. What it had confirmed by then has reached its subscriber: beyond that it promises nothing. */
export async function openBroker(heard: Heard): Promise<Absentee & { readonly port: number }> {
  const broker = await openMosquitto();
  const subscriber = await broker.connect();
  const marks: string[] = [];
  subscriber.on("message", (topic, bytes) => (topic === "mark" ? marks.push(`${bytes}`) : heard.add(`${bytes}`)));
  await subscriber.subscribeAsync("#", { qos: 1 });
  const gate = await Gate.open(broker.port);
  after(() => gate.cut());
  let kills = 0;
  return {
    port: gate.port,
    async leave() {
      await gate.cut();
      const mark = String(kills++);
      const marker = await broker.connect();
      await marker.publishAsync("mark", mark, { qos: 1 });
      await marker.endAsync();
      while (!marks.includes(mark)) await wait(5);
      await broker.kill();
    },
    async comeBack() {
      await broker.start();
      while (!subscriber.connected) await wait(5);
      await subscriber.subscribeAsync("#", { qos: 1 });
      await gate.open();
    },
  };
}

type Refusal = "cut off" | "broken" | "forgetful";

/** Cut off nobody reaches it; broken it answers 500; forgetful it takes what comes and hangs up before it says so. */
export async function openHook(heard: Heard, choose: () => number): Promise<Absentee & { readonly url: string }> {
  let refusal: Refusal | null = null;
  const take = (text: string, response: ServerResponse): void => {
    if (refusal === "broken") return void response.writeHead(500).end();
    heard.add(text);
    if (refusal === "forgetful") response.destroy();
    else response.end();
  };
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part as Buffer);
    } catch {
      return;
    }
    take(Buffer.concat(parts).toString(), response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const gate = await Gate.open((server.address() as AddressInfo).port);
  after(async () => {
    await gate.cut();
    server.close().closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${gate.port}/alerts`,
    async leave() {
      refusal = (["cut off", "broken", "forgetful"] as const)[Math.floor(choose() * 3)] ?? "broken";
      if (refusal === "cut off") await gate.cut();
    },
    async comeBack() {
      if (refusal === "cut off") await gate.open();
      refusal = null;
    },
  };
}

/** Hears the notices of a process, and comes again when the service does. Those of the time in between it does not hear. */
export function followNotices(service: TestService, processUuid: string, heard: Heard): { stop(): Promise<void> } {
  // One for each connection: a signal that all of them shared would gather their listeners.
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
        if (data !== undefined) heard.add(data);
      }
    }
  };
  const following = (async () => {
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
      return following;
    },
  };
}
