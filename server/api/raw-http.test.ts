import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Type } from "typebox";
import { define, openApp, SHAPE } from "./app.fixture.ts";

let handled = 0;
const app = await openApp(
  [
    define("POST", "/things", "makeThing", {
      ...SHAPE,
      body: Type.Object({ alias: Type.String() }),
      handle: () => {
        handled += 1;
        return { status: 200, body: {} };
      },
    }),
    define("GET", "/where", "getWhere", {
      ...SHAPE,
      handle: ({ publicUrl, address }) => ({ status: 200, body: { publicUrl, address } }),
    }),
  ],
  { settings: { HTTP_REQUEST_SECONDS: "0.5", HTTP_BODY_BYTES: "4096" } },
);
after(() => app.close(0));

const status = (answer: string): number => Number(answer.split(" ")[1]);
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));

const MALFORMED = [
  ["invalid HTTP", "hello\r\n\r\n"],
  ["a TLS ClientHello", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"],
  ["a header without a colon", "GET /where HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n"],
  ["a missing host", "GET /where HTTP/1.1\r\n\r\n"],
  ["an invalid host", "GET /where HTTP/1.1\r\nHost: a b/c?\r\nConnection: close\r\n\r\n"],
  ["an invalid target", "GET where HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
  ["a backslash in the path", "GET /a\\..\\b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
  ["two lengths", "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde"],
  [
    "a length and chunks",
    "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["a chunk without a size", "POST /things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
  ["a length with a sign", "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nabcde"],
  ["a length in hexadecimal", "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nabcde"],
  ["two lengths in one header", "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\nabcde"],
  ["a space before the colon", "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nabcde"],
  [
    "chunks that are not the last coding",
    "POST /things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
  ],
  [
    "a header with a bare line feed",
    "POST /things HTTP/1.1\r\nHost: a\r\nX: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  [
    "a chunk that is longer than it says",
    "POST /things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
  ],
] as const;
for (const [name, text, expected, code] of [
  ...MALFORMED.map(([name, text]) => [name, text, 400, "malformed_request"] as const),
  ["an unknown expectation", "GET /where HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417, "expectation_failed"],
  [
    "more than 100 headers",
    `GET /where HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(100)}api_key: ada\r\n\r\n`,
    431,
    "headers_too_large",
  ],
  [
    "an upgrade with more than 100 headers",
    `GET /where HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${"X: y\r\n".repeat(100)}\r\n`,
    431,
    "headers_too_large",
  ],
  ["endless headers", `GET /where HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(40_000)}\r\n\r\n`, 431, "headers_too_large"],
] as const)
  test(`${name} gets ${expected} and has no other effect`, async () => {
    const before = handled;
    const answer = await app.sendRaw(text);
    assert.equal(status(answer), expected, answer);
    assert.equal(bodyOf(answer).code, code);
    assert.equal(handled, before);
    assert.equal((await app.call("/where")).status, 200);
  });

test("headers that never end, and a body that never ends, get 408", async () => {
  const [headers, body] = await Promise.all([
    app.sendRaw("GET /where HTTP/1.1\r\nHost: a\r\nX-Slow: "),
    app.sendRaw('POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"alias"'),
  ]);
  assert.equal(status(headers), 408);
  assert.equal(status(body), 408);
  assert.equal(bodyOf(body).code, "request_timeout");
});

test("a client that disconnects within its body does not affect others", async () => {
  const client = app.connectRaw();
  client.send('POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"alias"');
  client.socket.end();
  await client.readAll();
  assert.equal((await app.call("/where")).status, 200);
});

test("a client that expects 100 Continue is rejected before the body, or gets it", async () => {
  const head = "POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n";
  const rejected = app.connectRaw().send(`${head}Content-Length: 999999\r\n\r\n`);
  assert.match(await rejected.readHead(), /^HTTP\/1\.1 413 /);
  rejected.close();
  const taken = app.connectRaw().send(`${head}Content-Length: 13\r\n\r\n`);
  assert.match(await taken.readHead(), /^HTTP\/1\.1 100 /);
  taken.send('{"alias":"a"}');
  assert.match(await taken.readHead(), /^HTTP\/1\.1 200 /);
  taken.close();
});

test("an upgrade on a path that is not a websocket is rejected with a problem", async () => {
  const answer = await app.sendRaw(
    "GET /where HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n",
  );
  assert.ok([404, 426].includes(status(answer)), answer);
  assert.equal(bodyOf(answer).status, status(answer));
});

test("answers pipelined requests in order", async () => {
  const one = (id: string, more = "") => `GET /where HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n${more}\r\n`;
  const answer = await app.sendRaw(one("a") + one("b") + one("c", "Connection: close\r\n"));
  assert.deepEqual(
    [...answer.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id),
    ["a", "b", "c"],
  );
});

test("an HTTP/1.0 client without a host gets the local address", async () => {
  const answer = await app.sendRaw("GET /where HTTP/1.0\r\n\r\n");
  assert.equal(bodyOf(answer).publicUrl, `http://127.0.0.1:${app.port}`);
});
