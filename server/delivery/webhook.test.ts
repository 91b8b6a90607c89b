/** Deliveries to real HTTP receivers, good and bad ones. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { closeDestination, saveDestination, type Target } from "../store/destinations.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { newUuid } from "../uuid.ts";
import {
  addDestination,
  addUser,
  enqueue,
  makeOutbox,
  newDelivery,
  openOutbox,
  range,
  SECRET,
  statusOf,
  webhookTarget,
} from "./outbox.fixture.ts";
import type { Outbox } from "./outbox.ts";
import { openReceiver, type Received, status } from "./receiver.fixture.ts";
import { readRetryAfter } from "./webhook-courier.ts";

let database: TestDatabase;
let user = "";
let outbox: Outbox;

before(async () => {
  database = await testDatabase();
  user = await addUser(database.sql);
  const limits = { connectSeconds: 2, answerSeconds: 2 };
  outbox = await makeOutbox(database.sql, { DELIVERY_WEBHOOK_SECONDS: "0.5" }, { limits });
});
after(async () => {
  await outbox.close();
  await database.close();
});

const add = (target: Target) => addDestination(database.sql, user, target);
const send = (uuid: string, numbers: readonly number[]) => enqueue(outbox, database.sql, uuid, numbers);
const stand = (uuid: string) => statusOf(database.sql, uuid);
const numberOf = ({ body }: Received): number => JSON.parse(body).number;

/** By the standard, without our own code. */
function assertSigned({ headers, body }: Received): void {
  const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  assert.equal(headers["webhook-signature"], `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  assert.ok(Math.abs(Number(headers["webhook-timestamp"]) - Date.now() / 1000) < 60);
}

test("posts in order, signed, and retries with the same id when the receiver fails", async () => {
  const receiver = await openReceiver({
    "/hook?x=1": (response, _, earlier) => void response.writeHead(earlier === 2 ? 500 : 204).end(),
  });
  const uuid = await add(webhookTarget(`${receiver.url.replace("//", "//ada:p%40ss@")}/hook?x=1`));
  await send(uuid, range(1, 30));
  await eventually(async () => (await stand(uuid)).delivered === 30, "all are delivered");
  assert.deepEqual(receiver.received.map(numberOf), [1, 2, 3, ...range(3, 30)]);
  const [, , failed, again] = receiver.received;
  assert.ok(failed !== undefined && again !== undefined);
  assert.deepEqual([failed.body, failed.headers["webhook-id"]], [again.body, again.headers["webhook-id"]]);
  for (const one of receiver.received) assertSigned(one);
  assert.equal(failed.headers["webhook-id"], JSON.parse(failed.body).id);
  assert.equal(failed.headers["content-type"], "application/json");
  assert.equal(failed.headers["user-agent"], "Windhover/1.2.3");
  assert.equal(failed.headers.authorization, `Basic ${Buffer.from("ada:p@ss").toString("base64")}`);
});

test("keeps the minimum interval between deliveries, until the destination is closed", async () => {
  const spacingMs = 300;
  const timesMs: number[] = [];
  const receiver = await openReceiver({
    "/spaced": (response) => {
      timesMs.push(performance.now());
      response.writeHead(204).end();
    },
  });
  const uuid = await add(webhookTarget(`${receiver.url}/spaced`, { spacingMs }));
  await send(uuid, range(1, 3));
  await eventually(async () => (await stand(uuid)).delivered === 3, "three are delivered");
  const [first = 0, second = 0, third = 0] = timesMs;
  for (const gapMs of [second - first, third - second]) assert.ok(gapMs >= spacingMs - 5, `${gapMs} ms`);
  await saveDestination(database.sql, {
    ...{ uuid, userUuid: user, target: webhookTarget(`${receiver.url}/spaced`, { spacingMs: 3_600_000 }) },
  });
  await send(uuid, range(4, 6));
  await closeDestination(database.sql, uuid);
  outbox.wake();
  await eventually(() => receiver.received.length === 6, "the rest is delivered");
  assert.deepEqual(receiver.received.map(numberOf), range(1, 6));
});

test("amends what waits for its interval until it is being sent", async () => {
  const receiver = await openReceiver({ "/grown": status(204) });
  const target = webhookTarget(`${receiver.url}/grown`, { spacingMs: 3_600_000 });
  const uuid = await add(target);
  const [first, second] = [1, 2].map((number) => ({ ...newDelivery(uuid, { number }), dueAt: new Date() }));
  assert.ok(first !== undefined && second !== undefined);
  await outbox.enqueue(database.sql, [first]);
  outbox.wake();
  await eventually(async () => (await stand(uuid)).delivered === 1, "the first is delivered");
  await outbox.enqueue(database.sql, [second]);
  outbox.wake();
  assert.equal(await outbox.amend(database.sql, { ...second, body: JSON.stringify({ number: 3 }) }), true);
  await saveDestination(database.sql, { uuid, userUuid: user, target: { ...target, spacingMs: 0 } as Target });
  outbox.wake();
  await eventually(() => receiver.received.length === 2, "the second is delivered");
  assert.deepEqual(receiver.received.map(numberOf), [1, 3]);
});

test("reports receivers that hang, redirect, fail or never end, and delivers to the others", async () => {
  const endless = (code: number) => (response: import("node:http").ServerResponse) => {
    response.writeHead(code);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on("drain", more);
    more();
  };
  const receiver = await openReceiver({
    "/good": status(200),
    "/hangs": () => {},
    "/moved": (response) => void response.writeHead(302, { location: "/good" }).end(),
    "/fails": status(500),
    "/refuses": status(404),
    "/endless": endless(200),
    "/endless-fault": endless(500),
    "/slow-end": (response) => void response.writeHead(202).write("more will never come"),
    "/vanishes": (response) => void response.destroy(),
  });
  const chatter = createServer((socket) => void socket.on("error", () => {}).end("SSH-2.0-test\r\n"));
  await new Promise<void>((resolve) => chatter.listen(0, "127.0.0.1", resolve));
  after(() => chatter.close());
  const { port } = chatter.address() as import("node:net").AddressInfo;
  const expected: Readonly<Record<string, RegExp | null>> = {
    [`${receiver.url}/good`]: null,
    [`${receiver.url}/endless`]: null,
    [`${receiver.url}/slow-end`]: null,
    [`${receiver.url}/hangs`]: /did not answer within 2 s/,
    [`${receiver.url}/moved`]: /answered 302; redirects are not followed/,
    [`${receiver.url}/fails`]: /answered 500/,
    [`${receiver.url}/refuses`]: /answered 404/,
    [`${receiver.url}/endless-fault`]: /answered 500/,
    [`${receiver.url}/vanishes`]: /closed the connection/,
    [`http://127.0.0.1:${port}/`]: /not valid HTTP|closed the connection/,
    [`https://127.0.0.1:${port}/`]: /TLS|cannot be reached|closed the connection/,
    "http://169.254.169.254/latest": /does not connect to that network/,
    "http://2852039166/latest": /does not connect to that network/,
    "http://[::ffff:a9fe:a9fe]/latest": /does not connect to that network/,
    "http://metadata.google.internal/": /refused|not for streams/,
    "http://no-such-host.invalid/": /cannot be resolved/,
    "http://127.0.0.1:1/": /nothing listens there/,
  };
  const uuids = new Map<string, string>();
  for (const url of Object.keys(expected)) uuids.set(url, await add(webhookTarget(url)));
  for (const uuid of uuids.values()) await send(uuid, [1]);
  const goodUuid = uuids.get(`${receiver.url}/good`) ?? "";
  await eventually(async () => (await stand(goodUuid)).delivered === 1, "the good one has it");
  for (const [url, reason] of Object.entries(expected)) {
    const uuid = uuids.get(url) ?? "";
    await eventually(async () => {
      const { delivered, lastError } = await stand(uuid);
      return reason === null ? delivered === 1 : lastError !== null;
    }, url);
    if (reason !== null) assert.match((await stand(uuid)).lastError ?? "", reason, url);
  }
  assert.equal(receiver.at("/good").length, 1, "redirects are not followed");
  // Failed for too long: dropped, and the next one is sent.
  const fails = uuids.get(`${receiver.url}/fails`) ?? "";
  await send(fails, [2]);
  await eventually(async () => (await stand(fails)).dropped === 2, "both are given up");
  assert.deepEqual([...new Set(receiver.at("/fails").map(numberOf))], [1, 2]);
  assert.deepEqual([(await stand(fails)).waiting, (await stand(fails)).delivered], [0, 0]);
});

test("sends nothing after 410 Gone, until the target changes", async () => {
  const receiver = await openReceiver({ "/gone": status(410), "/there": status(200) });
  const uuid = await add(webhookTarget(`${receiver.url}/gone`));
  await send(uuid, [1, 2, 3]);
  await eventually(async () => (await stand(uuid)).dropped === 3, "all are dropped");
  await send(uuid, [4]);
  const { waiting, dropped, lastError } = await stand(uuid);
  assert.deepEqual([waiting, dropped, receiver.at("/gone").length], [0, 4, 1]);
  assert.match(lastError ?? "", /410 Gone, so nothing more is sent there/);
  await saveDestination(database.sql, { uuid, userUuid: user, target: webhookTarget(`${receiver.url}/there`) });
  await send(uuid, [5]);
  await eventually(async () => (await stand(uuid)).delivered === 1, "it is delivered");
  assert.deepEqual(receiver.at("/there").map(numberOf), [5]);
});

test("logs in for a token, again after a 401, and reports a failed login", async () => {
  let good = "";
  let logins = 0;
  const receiver = await openReceiver({
    "/login": (response, { headers }) => {
      if (headers.authorization !== `Basic ${Buffer.from("ada:geheim").toString("base64")}`)
        return void response.writeHead(403).end();
      good = `token-${++logins}`;
      response.end(JSON.stringify(logins === 1 ? { access_token: good, expires_in: 3600 } : { token: good }));
    },
    "/hook": (response, { headers }) => {
      response.writeHead(headers.authorization === `Bearer ${good}` ? 200 : 401).end();
    },
    "/nonsense": (response) => void response.end("<html>"),
    "/never": status(401),
  });
  const authUrl = `${receiver.url.replace("//", "//ada:geheim@")}/login`;
  const uuid = await add(webhookTarget(`${receiver.url}/hook`, { authUrl }));
  await send(uuid, [1, 2]);
  await eventually(async () => (await stand(uuid)).delivered === 2, "both are delivered");
  assert.equal(logins, 1);
  good = "another by now";
  await send(uuid, [3]);
  await eventually(async () => (await stand(uuid)).delivered === 3, "the third is delivered");
  assert.equal(logins, 2);
  const failing: readonly (readonly [Target, RegExp])[] = [
    [
      webhookTarget(`${receiver.url}/hook`, { authUrl: authUrl.replace("geheim", "falsch") }),
      /login failed: .*answered 403/,
    ],
    [webhookTarget(`${receiver.url}/hook`, { authUrl: `${receiver.url}/nonsense` }), /login failed: .*expected JSON/],
    [
      webhookTarget(`${receiver.url}/hook`, { authUrl: "http://169.254.169.254/" }),
      /login failed: .*not connect to that network/,
    ],
    [webhookTarget(`${receiver.url}/never`, { authUrl }), /answered 401/],
  ];
  for (const [target, reason] of failing) {
    const result = await outbox.attempt({ uuid, userUuid: user, target }, { id: "x", body: "{}" });
    assert.equal(result.delivered, false);
    assert.match(result.detail, reason);
    assert.ok(!/geheim|falsch|token-/.test(result.detail), result.detail);
  }
  const { delivered } = await outbox.attempt(
    { uuid, userUuid: user, target: webhookTarget(`${receiver.url}/hook`, { authUrl }) },
    { id: "sample", body: "{}" },
  );
  assert.equal(delivered, true);
});

test("gives a token of an internal login address to no other host", async () => {
  const inner = await openReceiver({
    "/token": (response) => void response.writeHead(200).end(JSON.stringify({ token: "of-the-inside" })),
    "/hook": status(200),
  });
  const outside = await openReceiver({ "/hook": status(200) });
  const authUrl = `${inner.url}/token`;
  // The same machine by another name, as a foreign host would be.
  const url = `${outside.url.replace("127.0.0.1", "localhost")}/hook`;
  const result = await outbox.attempt(
    { uuid: newUuid(), userUuid: user, target: webhookTarget(url, { authUrl }) },
    { id: newUuid(), body: "{}" },
  );
  assert.match(result.detail, /login failed: .*does not connect to that network/);
  assert.equal(inner.received.length, 0, "it receives no request");
  assert.equal(outside.received.length, 0);
  const same = await outbox.attempt(
    { uuid: newUuid(), userUuid: user, target: webhookTarget(`${inner.url}/hook`, { authUrl }) },
    { id: newUuid(), body: "{}" },
  );
  assert.equal(same.delivered, true, same.detail);
  const again = await outbox.attempt(
    { uuid: newUuid(), userUuid: user, target: webhookTarget(url, { authUrl }) },
    { id: newUuid(), body: "{}" },
  );
  assert.equal(again.delivered, false, "nor does it get a cached token");
});

test("connects by TLS only to receivers with a valid certificate for the name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "windhover-tls-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync(
    "openssl",
    [...how, "-subj", "/CN=receiver", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
    { stdio: "ignore" },
  );
  const pems = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  const receiver = await openReceiver({ "/hook": status(200) }, pems);
  const trusting = await openOutbox(database.sql, {}, { authorities: pems.cert, limits: { lookMs: 60_000 } });
  const attempt = (by: Outbox, url: string) =>
    by.attempt({ uuid: "x", userUuid: user, target: webhookTarget(url) }, { id: "x", body: "{}" });
  const named = `${receiver.url.replace("127.0.0.1", "localhost")}/hook`;
  assert.match((await attempt(outbox, named)).detail, /certificate is self-signed/);
  assert.match((await attempt(trusting, `${receiver.url}/hook`)).detail, /certificate is for another name/);
  assert.equal(receiver.received.length, 0);
  assert.deepEqual((({ delivered, detail }) => [delivered, detail])(await attempt(trusting, named)), [
    true,
    "it was delivered",
  ]);
});

test("reads Retry-After as seconds or as a date, within limits", () => {
  const nowMs = Date.parse("Sun, 15 Nov 2026 12:00:00 GMT");
  assert.equal(readRetryAfter("7", nowMs), 7000);
  assert.equal(readRetryAfter("Sun, 15 Nov 2026 12:00:30 GMT", nowMs), 30_000);
  assert.equal(readRetryAfter("Sun, 15 Nov 2026 11:00:00 GMT", nowMs), 0);
  assert.equal(readRetryAfter("999999999", nowMs), 600_000);
  for (const text of [undefined, "", "-1", "soon", "1e9"]) assert.equal(readRetryAfter(text, nowMs), null);
});
