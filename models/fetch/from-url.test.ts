import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get as getHttp, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { type Get, readUrl, type Transfer } from "./from-url.ts";

const ROUTES: Readonly<Record<string, RequestListener>> = {
  "/file": (_, response) => response.end(Buffer.alloc(100_000, 5)),
  "/moved": (_, response) => response.writeHead(302, { location: "/file" }).end(),
  "/round": (_, response) => response.writeHead(302, { location: "/round" }).end(),
  "/open": (_, response) => response.writeHead(301, { location: "http://elsewhere.example/file" }).end(),
  "/nowhere": (_, response) => response.writeHead(302, { location: "https://:bad" }).end(),
  "/missing": (_, response) => response.writeHead(404).end("no"),
  "/cut": (_, response) => {
    response.writeHead(200, { "content-length": 100_000 });
    response.write(Buffer.alloc(40_000), () => response.destroy());
  },
  "/endless": (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(10_000)));
    };
    response.on("drain", more);
    more();
  },
  "/stalled": (_, response) => {
    response.writeHead(200, { "content-length": 100_000 });
    response.write(Buffer.alloc(1000));
  },
  "/silent": () => {},
};

const server = createServer((request, response) => ROUTES[request.url ?? ""]?.(request, response));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
after(() => {
  server.closeAllConnections();
  server.close();
});

/** Follows the rules for https, but connects to a local server. */
const get: Get = (url, { signal, headers }, answered) =>
  getHttp(
    `http://127.0.0.1:${port}${url.pathname}`,
    { ...(signal && { signal }), ...(headers && { headers }) },
    answered,
  );

async function read(path: string, transfer: Partial<Transfer> = {}): Promise<number> {
  let length = 0;
  const { signal } = new AbortController();
  for await (const chunk of readUrl(`https://models.example${path}`, { signal, mostBytes: 200_000, get, ...transfer }))
    length += chunk.length;
  return length;
}

test("reads a file, also through a redirect, and reports progress", async () => {
  const seen: number[] = [];
  assert.equal(await read("/file", { onBytes: (received) => seen.push(received) }), 100_000);
  assert.equal(seen.at(-1), 100_000);
  assert.equal(await read("/moved"), 100_000);
});

test("follows only https redirects, up to a limit", async () => {
  await assert.rejects(read("/open"), /redirects to http:\/\/elsewhere\.example, but only https is allowed/);
  await assert.rejects(read("/round"), /more than 5 redirects/);
  await assert.rejects(read("/nowhere"), /redirects to an invalid URL/);
});

test("reports an HTTP error status", () => assert.rejects(read("/missing"), /models\.example answered 404 Not Found/));

test("reports a truncated transfer with the bytes received", () =>
  assert.rejects(read("/cut"), /the connection was closed after 40000 of 100000 bytes/));

test("rejects a file that is longer than expected, with or without content-length", async () => {
  await assert.rejects(read("/file", { mostBytes: 99_999 }), /longer than the expected 99999 bytes/);
  await assert.rejects(read("/endless"), /longer than the expected 200000 bytes/);
});

test("gives up on a stalled server", async () => {
  await assert.rejects(read("/silent", { idleMs: 50 }), /no data for 0\.05 s/);
  await assert.rejects(read("/stalled", { idleMs: 1500 }), /no data for 1\.5 s after 1000 of 100000 bytes/);
});

test("stops when aborted", async () => {
  const stop = new AbortController();
  const reading = read("/stalled", { signal: stop.signal, onBytes: () => stop.abort() });
  await assert.rejects(reading);
});

test("explains an unreachable host", async () => {
  const nowhere: Get = (_, options, answered) =>
    getHttp("http://127.0.0.1:1/", { ...(options.signal && { signal: options.signal }) }, answered);
  await assert.rejects(read("/file", { get: nowhere }), /models\.example: connection refused \(ECONNREFUSED\)/);
});
