/** Requests between nodes, over real sockets, also with TLS. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { rejectsWith } from "../processes/supervisor.fixture.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import type { NodeRow } from "../store/nodes.ts";
import { ClusterNode } from "./node.ts";
import { HOP_HEADER, Peers, PeerUnreachable } from "./peers.ts";
import { ClusterKey, SIGNATURE_SECONDS } from "./signature.ts";

const SECRET = Buffer.alloc(32, 3);
const HOP = { address: "192.0.2.7", publicUrl: "https://windhover.example", fence: 5 };
const GET = { method: "GET", target: "/process/1?x=2", headers: {}, body: null, hop: HOP };

const folder = temporaryFolder();
const tls = { key: join(folder, "node.key"), cert: join(folder, "node.pem") };
const servers: { close(): unknown; closeAllConnections?(): void }[] = [];
const opened: Peers[] = [];
let database: TestDatabase;
let [sender, receiver]: ClusterNode[] = [];

before(async () => {
  database = await testDatabase();
  const { sql } = database;
  const join = () => ClusterNode.join({ sql, log: silentLog, isAlone: false, limits: { freshMs: 0 } });
  [sender, receiver] = [await join(), await join()];
  await promisify(execFile)("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
    ...["-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tls.key, "-out", tls.cert],
  ]);
});
after(async () => {
  for (const peers of opened) peers.close();
  for (const server of servers) {
    server.close();
    server.closeAllConnections?.();
  }
  await sender?.leave();
  await receiver?.leave();
  await database.close();
});

function peersOf(
  node: ClusterNode | undefined,
  { now = Date.now, caFile = null as string | null, secret = SECRET } = {},
) {
  const config = { ...makeConfig().cluster, ca_file: caFile };
  const peers = new Peers(node ?? assert.fail(), new ClusterKey(secret, now), config);
  opened.push(peers);
  return peers;
}

async function listen(listener: RequestListener, isTls = false): Promise<{ server: Server; url: string }> {
  const server = isTls
    ? (createTlsServer({ key: readFileSync(tls.key), cert: readFileSync(tls.cert) }, listener) as unknown as Server)
    : createServer(listener);
  return { server, url: await bind(server, isTls ? "https" : "http") };
}

async function bind(server: Pick<Server, "listen" | "address" | "close">, scheme: string): Promise<string> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server as Server, "listening");
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The receiver, at this address. */
async function nodeAt(url: string | null): Promise<NodeRow> {
  receiver?.update({ url });
  await receiver?.renew();
  return (await sender?.listNow())?.find(({ uuid }) => uuid === receiver?.uuid) ?? assert.fail();
}

const signal = () => new AbortController().signal;
const isUnreachable = (error: unknown): boolean => error instanceof PeerUnreachable;

/** Passes a request on; resolves with what the receiver gets. */
async function received(peers: Peers, order: Partial<Parameters<Peers["send"]>[1]> = {}): Promise<IncomingMessage> {
  let seen: IncomingMessage | undefined;
  const { url } = await listen((request, response) => {
    seen = request;
    response.end();
  });
  (await peers.send(await nodeAt(url), { ...GET, signal: signal(), ...order })).resume();
  return seen ?? assert.fail();
}

test("passes a request on with its body and headers, but not those of the connection; the receiver learns the client", async () => {
  let body = "";
  let seen: IncomingMessage | undefined;
  const { url } = await listen(async (request, response) => {
    seen = request;
    body = await text(request);
    response.writeHead(409, { "x-answer": "yes" }).end("no");
  });
  const answer = await peersOf(sender).send(await nodeAt(url), {
    ...{ method: "POST", target: "/process/1/pause", hop: HOP, signal: signal(), body: Buffer.from("{}") },
    headers: { api_key: "k", connection: "close", "transfer-encoding": "chunked", [HOP_HEADER]: "forged", te: "gzip" },
  });
  assert.deepEqual([answer.statusCode, answer.headers["x-answer"], await text(answer)], [409, "yes", "no"]);
  assert.deepEqual([seen?.method, seen?.url, body], ["POST", "/process/1/pause", "{}"]);
  const { api_key: key, te, host, "content-length": length } = seen?.headers ?? {};
  assert.deepEqual([key, te, host, length], ["k", undefined, new URL(url).host, "2"]);
  assert.deepEqual(peersOf(receiver).readHop(seen ?? assert.fail()), { ...HOP, to: receiver?.uuid });
});

test("a request without a hop is of a client", async () => {
  const request = await received(peersOf(sender));
  delete request.headers[HOP_HEADER];
  assert.equal(peersOf(receiver).readHop(request), null);
});

test("rejects a hop for another node, another request, with another key, expired, or changed", async () => {
  const request = await received(peersOf(sender));
  const isBad = rejectsWith("signature_invalid");
  const own = peersOf(receiver);
  const read = (peers: Peers, change: Partial<IncomingMessage> = {}) => {
    const { method, url, headers } = request;
    return () => peers.readHop({ method, url, headers, ...change } as IncomingMessage);
  };
  assert.ok(read(own)());
  assert.throws(read(peersOf(sender)), isBad, "it was sent to the other one");
  assert.throws(read(own, { method: "DELETE" }), isBad);
  assert.throws(read(own, { url: "/process/2?x=2" }), isBad);
  assert.throws(read(peersOf(receiver, { secret: Buffer.alloc(32, 4) })), isBad);
  const later = Date.now() + (SIGNATURE_SECONDS + 2) * 1000;
  assert.throws(read(peersOf(receiver, { now: () => later })), isBad, "expired");
  const [, ...signature] = String(request.headers[HOP_HEADER]).split(".");
  const forged = Buffer.from(JSON.stringify({ ...HOP, address: "127.0.0.1", to: receiver?.uuid })).toString(
    "base64url",
  );
  for (const header of [`${forged}.${signature.join(".")}`, forged, "", "..."])
    assert.throws(read(own, { headers: { [HOP_HEADER]: header } }), isBad, header);
});

test("a kept connection that the node has closed counts as unreachable, so that the request is sent again", async () => {
  const sockets = new Set<Socket>();
  const { url } = await listen((request, response) => {
    // As a node that was restarted: the second request on a connection finds it closed.
    if (sockets.has(request.socket)) request.socket.destroy();
    else response.end("first");
    sockets.add(request.socket);
  });
  const peers = peersOf(sender);
  const node = await nodeAt(url);
  assert.equal(await text(await peers.send(node, { ...GET, signal: signal() })), "first");
  await assert.rejects(peers.send(node, { ...GET, signal: signal() }), isUnreachable);
  assert.equal(await text(await peers.send(node, { ...GET, signal: signal() })), "first");
  assert.equal(sockets.size, 2);
});

test("a connection that is lost while the node works is not unreachable: the request may have had an effect", async () => {
  const { url } = await listen((request) => request.socket.destroy());
  const sent = peersOf(sender).send(await nodeAt(url), { ...GET, signal: signal() });
  await assert.rejects(sent, (error) => error instanceof Error && !isUnreachable(error));
});

test("a node that refuses connections, is silent, or does not listen yet is unreachable", async () => {
  const peers = peersOf(sender);
  const send = async (url: string | null) => peers.send(await nodeAt(url), { ...GET, signal: signal() });
  const { server, url } = await listen(() => {});
  server.close();
  await assert.rejects(send(url), isUnreachable);
  await assert.rejects(send(null), isUnreachable);
  // It accepts connections and never answers the TLS handshake.
  const silent = createTcpServer();
  const kept: Socket[] = [];
  silent.on("connection", (socket) => kept.push(socket));
  const silentUrl = await bind(silent as unknown as Server, "https");
  await assert.rejects(send(silentUrl), (error) => isUnreachable(error) && /within 2000 ms/.test(String(error)));
  for (const socket of kept) socket.destroy();
});

test("ends with its client", async () => {
  const abort = new AbortController();
  const { url } = await listen(() => abort.abort());
  const sent = peersOf(sender).send(await nodeAt(url), { ...GET, signal: abort.signal });
  await assert.rejects(sent, { name: "AbortError" });
});

test("TLS between nodes: with `cluster.ca_file` its certificate is trusted, without it is not", async () => {
  const { url } = await listen((_, response) => void response.end("secret"), true);
  const node = await nodeAt(url);
  const trusting = peersOf(sender, { caFile: tls.cert });
  assert.equal(await text(await trusting.send(node, { ...GET, signal: signal() })), "secret");
  await assert.rejects(peersOf(sender).send(node, { ...GET, signal: signal() }), isUnreachable);
  assert.throws(() => peersOf(sender, { caFile: join(folder, "missing.pem") }), /ENOENT/);
});

for (const isTls of [false, true])
  test(`passes a websocket on, both ways${isTls ? ", with TLS" : ""}`, async () => {
    const { server: far, url } = await listen((_: IncomingMessage, response: ServerResponse) => response.end(), isTls);
    let hop: unknown;
    far.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      hop = peersOf(receiver).readHop(request);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
      socket.write(head);
      socket.pipe(socket);
    });
    const peers = peersOf(sender, { caFile: tls.cert });
    const node = await nodeAt(url);
    const { server: near, url: nearUrl } = await listen((_, response) => void response.end());
    near.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      void peers.passUpgrade(node, request, socket, head, HOP);
    });
    const { hostname, port } = new URL(nearUrl);
    const headers = { connection: "upgrade", upgrade: "echo", [HOP_HEADER]: "forged" };
    const client = sendRequest({ hostname, port, path: "/ws/1?api_key=k", headers }).end();
    const [, socket] = (await once(client, "upgrade")) as [IncomingMessage, Socket];
    assert.deepEqual(hop, { ...HOP, to: receiver?.uuid });
    socket.write("hello");
    assert.equal(String((await once(socket, "data"))[0]), "hello");
    socket.destroy();
  });

test("a websocket for a node that is not there is rejected as unreachable", async () => {
  const { server, url } = await listen(() => {});
  server.close();
  const request = { method: "GET", url: "/ws/1", rawHeaders: [] } as unknown as IncomingMessage;
  const passed = peersOf(sender).passUpgrade(await nodeAt(url), request, null as never, Buffer.alloc(0), HOP);
  await assert.rejects(passed, isUnreachable);
});
