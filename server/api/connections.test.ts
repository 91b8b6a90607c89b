/** Attacks on connections, against a real server: each of them once locked out other clients. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Type } from "typebox";
import { define, openApp, SHAPE, type TestApp } from "./app.fixture.ts";
import type { ConnectionLimits } from "./connections.ts";

const LARGE = { text: "x".repeat(1_000_000) };
let made = 0;
const endpoints = [
  define("GET", "/where", "getWhere", {
    ...SHAPE,
    handle: ({ address }) => ({ status: 200, body: { address } }),
  }),
  define("GET", "/large", "getLarge", {
    ...SHAPE,
    handle: () => {
      made += 1;
      return { status: 200, body: LARGE };
    },
  }),
  define("GET", "/busy", "getBusy", {
    ...SHAPE,
    handle: () => {
      made += 1;
      const startedMs = performance.now();
      while (performance.now() - startedMs < 2);
      return { status: 200, body: {} };
    },
  }),
  define("POST", "/things", "makeThing", {
    ...SHAPE,
    body: Type.Object({}),
    handle: () => ({ status: 200, body: {} }),
  }),
  define("GET", "/wait", "waitForIt", {
    ...SHAPE,
    access: "key",
    handle: async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { status: 200, body: {} };
    },
  }),
];

const apps: TestApp[] = [];
after(() => Promise.all(apps.map((app) => app.close(0))));
async function open(settings: Record<string, string>, limits: Partial<ConnectionLimits> = {}): Promise<TestApp> {
  const app = await openApp(endpoints, { settings, limits });
  apps.push(app);
  return app;
}

const plain = await open({});
const GET = "GET /where HTTP/1.1\r\nHost: a\r\n";
/** Only turns a hang into a failure. */
const LIMIT = { timeout: 60_000 };
const ATTACKER = "127.0.0.2";

async function connectFrom(app: TestApp, localAddress: string, text: string): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port: app.port, localAddress });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

/** Resolves when the server has read everything sent before on every connection: it reads them in order. */
async function expectServed(app: TestApp, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const answer = await fetch(`${app.url}/where`, { headers: { Connection: "close" } });
    assert.equal(answer.status, 200);
    await answer.arrayBuffer();
  }
}

const isAlive = (socket: Socket): boolean => !socket.destroyed && !socket.readableEnded;

for (const [name, text] of [
  ["that send nothing", ""],
  ["with endless headers", "GET /where HTTP/1.1\r\nX-Slow: "],
  ["with a body that arrives byte by byte", "POST /things HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{"],
  ["that are kept alive", `${GET}\r\n`],
] as const)
  test(`the maximum number of connections, ${name}, does not lock out another address`, LIMIT, async () => {
    const app = await open({ HTTP_CONNECTIONS: "40", HTTP_CONNECTIONS_PER_ADDRESS: "40" });
    const held = await Promise.all(Array.from({ length: 60 }, () => connectFrom(app, ATTACKER, text)));
    await expectServed(app, 20);
    for (const socket of held) socket.destroy();
  });

test("an address at its limit loses its longest idle connection; other addresses lose none", LIMIT, async () => {
  const app = await open({ HTTP_CONNECTIONS: "40", HTTP_CONNECTIONS_PER_ADDRESS: "5" });
  const other = await connectFrom(app, "127.0.0.3", "");
  const held: Socket[] = [];
  for (let i = 0; i < 6; i++) held.push(await connectFrom(app, ATTACKER, ""));
  const [first, ...rest] = held;
  assert.ok(first);
  first.resume();
  if (isAlive(first)) await once(first, "close");
  await expectServed(app, 1);
  assert.ok(rest.every(isAlive) && isAlive(other));
  for (const socket of [...held, other]) socket.destroy();
});

test("the limit per address does not apply to a trusted proxy", async () => {
  const settings = { HTTP_CONNECTIONS: "40", HTTP_CONNECTIONS_PER_ADDRESS: "5", HTTP_TRUSTED_PROXIES: ATTACKER };
  const app = await open(settings);
  const held = await Promise.all(Array.from({ length: 20 }, () => connectFrom(app, ATTACKER, "")));
  await expectServed(app, 1);
  assert.ok(held.every(isAlive));
  for (const socket of held) socket.destroy();
});

test("a running request is not closed for a new connection", async () => {
  const app = await open({ HTTP_CONNECTIONS_PER_ADDRESS: "2" });
  const busy = await connectFrom(app, ATTACKER, "GET /wait HTTP/1.1\r\nHost: a\r\napi_key: ada\r\n\r\n");
  for (let i = 0; i < 4; i++) await connectFrom(app, ATTACKER, "");
  await expectServed(app, 1);
  assert.ok(isAlive(busy));
  busy.destroy();
});

test("a client with a hundred concurrent requests delays other clients by one of them", LIMIT, async () => {
  const app = await open({});
  const request = "GET /busy HTTP/1.1\r\nHost: a\r\n\r\n";
  const held = await Promise.all(Array.from({ length: 100 }, () => connectFrom(app, ATTACKER, request)));
  for (const socket of held) socket.on("data", () => socket.write(request));
  made = 0;
  const kept = await connectFrom(app, "127.0.0.3", "");
  const waits: number[] = [];
  for (let i = 0; i < 20; i++) {
    const before = made;
    kept.write(`${GET}\r\n`);
    await once(kept, "data");
    waits.push(made - before);
    await setTimeout(5);
  }
  for (const socket of [...held, kept]) socket.destroy();
  waits.sort((a, b) => a - b);
  assert.ok((waits[10] ?? 100) <= 5, `requests of the flood that ran before each answer: ${waits.join(" ")}`);
  assert.ok(made > 20, `${made} of its own were answered`);
});

for (const method of ["GET", "HEAD", "OPTIONS", "DELETE", "POST"])
  test(`${method} with a body that never arrives is answered and closed`, LIMIT, async () => {
    const answer = await plain.sendRaw(`${method} /where HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 (200|204|405) /);
  });

test("pipelined requests whose answers are never read use the memory of one answer", LIMIT, async () => {
  const app = await open({});
  const count = 1500;
  made = 0;
  const text = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n".repeat(count);
  const socket = await connectFrom(app, ATTACKER, text);
  await Promise.race([once(socket, "close"), expectServed(app, 20)]);
  assert.ok(made < 20, `${made} answers were made for a client that reads nothing`);
  socket.destroy();
});

test("pipelined requests wait until the client reads, and are all answered", async () => {
  const app = await open({});
  made = 0;
  const one = "GET /large HTTP/1.1\r\nHost: a\r\n";
  const socket = await connectFrom(app, ATTACKER, `${one}\r\n`.repeat(29).concat(one, "Connection: close\r\n\r\n"));
  await expectServed(app, 5);
  assert.ok(made < 20, `${made} answers were made for a client that reads nothing`);
  let bytes = 0;
  for await (const chunk of socket) bytes += (chunk as Buffer).length;
  assert.equal(made, 30);
  assert.ok(bytes > 30 * LARGE.text.length);
});

test("a client that reads nothing is closed after the idle timeout; a slow handler is waited for", LIMIT, async () => {
  const app = await open({}, { idleMs: 2_000 });
  const waiting = await connectFrom(app, ATTACKER, "GET /wait HTTP/1.1\r\nHost: a\r\napi_key: ada\r\n\r\n");
  const one = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
  const stalled = await connectFrom(app, ATTACKER, one.repeat(30));
  while (isAlive(stalled)) {
    await setTimeout(50);
    stalled.write("\r\n"); // fails once the server has closed the connection
  }
  assert.ok(isAlive(waiting));
  waiting.destroy();
  stalled.destroy();
});

test("unread answers are bounded over all connections", LIMIT, async () => {
  const app = await open({}, { bufferedBytes: 2 ** 20 });
  const one = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n".repeat(30);
  const held = await Promise.all(Array.from({ length: 5 }, () => connectFrom(app, ATTACKER, one)));
  while (!app.logged.some((line) => line.includes("connections closed"))) await setTimeout(50);
  for (const socket of held) socket.destroy();
});

test("limits the open requests of one key", LIMIT, async () => {
  const app = await open({ HTTP_REQUESTS_PER_KEY: "3" });
  const abort = new AbortController();
  const headers = { api_key: "ada" };
  const waiting = Array.from({ length: 3 }, () =>
    app.call("/wait", { headers, signal: abort.signal }).catch(() => null),
  );
  let answer: Response;
  do {
    const limit = AbortSignal.timeout(1000);
    answer = await app.call("/wait", { headers, signal: limit }).catch(() => new Response());
  } while (answer.status !== 429);
  assert.equal(((await answer.json()) as { code: string }).code, "rate_limited");
  abort.abort();
  await Promise.all(waiting);
});

test("an idle connection stays open a little longer than clients are promised", LIMIT, async () => {
  const app = await open({}, { keepAliveMs: 1_000 });
  const socket = connect(app.port, "127.0.0.1");
  socket.write("GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n");
  const [answer] = (await once(socket, "data")) as [Buffer];
  const answeredMs = performance.now();
  assert.match(answer.toString(), /^keep-alive: timeout=1\r$/im);
  await once(socket.resume(), "close");
  // A request that a client sends at the end of the promised second still finds it open.
  assert.ok(performance.now() - answeredMs > 2500);
});
