/** Against a real HTTP server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { readApiError } from "../../client/client.ts";
import { openStream, type StreamOptions } from "./stream.ts";

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
after(() => {
  server.closeAllConnections();
  server.close();
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
/** As the console does. */
async function request(path: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(`${url}${path}`, { signal });
  if (!response.ok) throw await readApiError(response);
  return response;
}

const nextRequest = () => once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;

function open(options: Partial<StreamOptions<never>> = {}) {
  const interruptions: string[] = [];
  const close = openStream<never>({
    ...{ request, path: "/events", createParser: () => ({ push: () => [] }), onItem: () => {} },
    onInterruption: (text) => interruptions.push(text),
    ...options,
  });
  return { interruptions, close };
}

test("closes a connection whose data cannot be parsed before it reconnects", async () => {
  const first = nextRequest();
  const { close, interruptions } = open({
    createParser: () => ({
      push() {
        throw new Error("not such a stream");
      },
    }),
  });
  const [, response] = await first;
  const second = nextRequest();
  const closed = once(response, "close");
  response.write("nonsense");
  await closed;
  await second;
  assert.deepEqual(interruptions, ["Connection lost, reconnecting."]);
  close();
});

test("replaces a connection on which no data arrives", async () => {
  const started = new Set<ServerResponse>();
  const start = (_: IncomingMessage, response: ServerResponse): void => {
    started.add(response);
    response.write("one");
  };
  server.on("request", start);
  const { close, interruptions } = open({ silenceMs: 100 });
  while (started.size < 2) await once(server, "request");
  server.off("request", start);
  close();
  assert.deepEqual([...new Set(interruptions)], ["No data received, reconnecting."]);
});

const reject = (response: ServerResponse, status: number, code: string): void =>
  void response
    .writeHead(status, { "Content-Type": "application/problem+json" })
    .end(JSON.stringify({ code, detail: code }));

test("retries while a process restarts, and gives up when it does not exist", async () => {
  const first = nextRequest();
  const { close, interruptions } = open();
  const second = first.then(([, response]) => {
    const next = nextRequest();
    reject(response, 409, "wrong_state");
    return next;
  });
  reject((await second)[1], 404, "process_not_found");
  while (interruptions.length < 2) await new Promise(setImmediate);
  assert.deepEqual(interruptions, ["Not available, retrying. Wrong_state.", "The process has ended."]);
  close();
});

test("closes its connection when it is closed", async () => {
  const first = nextRequest();
  const { close, interruptions } = open();
  const [, response] = await first;
  response.write("one");
  close();
  await once(response, "close");
  assert.deepEqual(interruptions, []);
});
