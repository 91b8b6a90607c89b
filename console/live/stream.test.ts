/** Against a real server on a socket, which answers what each test wants. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { readRefusal } from "../../client/client.ts";
import { type StreamNeeds, stream } from "./stream.ts";

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
after(() => {
  server.closeAllConnections();
  server.close();
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
/** As the console does. */
async function ask(path: string, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(`${url}${path}`, { signal });
  if (!answer.ok) throw await readRefusal(answer);
  return answer;
}

const nextRequest = () => once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;

function open(needs: Partial<StreamNeeds> = {}) {
  const troubles: string[] = [];
  const stop = stream({
    ask,
    path: "/events",
    open: () => () => {},
    onTrouble: (words) => troubles.push(words),
    ...needs,
  });
  return { troubles, stop };
}

test("what cannot be read is let go before it is asked for again", async () => {
  const first = nextRequest();
  const { stop, troubles } = open({
    open: () => () => {
      throw new Error("no such thing");
    },
  });
  const [, response] = await first;
  const second = nextRequest();
  const gone = once(response, "close");
  response.write("nonsense");
  await gone;
  await second;
  assert.deepEqual(troubles, ["The connection is lost; it is tried again."]);
  stop();
});

test("a connection on which nothing comes any more is given up for another", async () => {
  const begun = new Set<ServerResponse>();
  const begin = (_: IncomingMessage, response: ServerResponse): void => {
    begun.add(response);
    response.write("one");
  };
  server.on("request", begin);
  const { stop, troubles } = open({ silentMs: 100 });
  while (begun.size < 2) await once(server, "request");
  server.off("request", begin);
  stop();
  assert.deepEqual([...new Set(troubles)], ["Nothing comes; it is tried again."]);
});

const refuse = (response: ServerResponse, status: number, code: string): void =>
  void response
    .writeHead(status, { "Content-Type": "application/problem+json" })
    .end(JSON.stringify({ code, detail: code }));

test("a process that is being taken up again is asked for again, one that is gone is not", async () => {
  const first = nextRequest();
  const { stop, troubles } = open();
  const second = first.then(([, response]) => {
    const next = nextRequest();
    refuse(response, 409, "wrong_state");
    return next;
  });
  refuse((await second)[1], 404, "process_not_found");
  while (troubles.length < 2) await new Promise(setImmediate);
  assert.deepEqual(troubles, ["Not yet: wrong_state; it is tried again.", "It has ended."]);
  stop();
});

test("one that is stopped leaves no connection", async () => {
  const first = nextRequest();
  const { stop, troubles } = open();
  const [, response] = await first;
  response.write("one");
  stop();
  await once(response, "close");
  assert.deepEqual(troubles, []);
});
