import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { NewTracksNotification, TargetCountNotification } from "../../schemas/api/webhooks.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { openOutbox } from "../delivery/outbox.fixture.ts";
import { openReceiver, type Received, status } from "../delivery/receiver.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { silentLog, testDatabase } from "../store/database.fixture.ts";
import { StagedProcess, StagedProcesses } from "../streams/staged-processes.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { entryOf } from "../webhooks/collectors.fixture.ts";
import { addProcess, addUser } from "../webhooks/webhooks.fixture.ts";
import { Webhooks } from "../webhooks/webhooks.ts";
import { makeConfig, openApp } from "./app.fixture.ts";
import { webhookEndpoints } from "./webhooks.ts";

const config = makeConfig({ NETWORK_DENY: "10.9.0.0/16" });
const database = await testDatabase();
const { sql } = database;
const delivery = await openOutbox(sql);
const webhooks = new Webhooks({ sql, config, delivery, log: silentLog, gatherMs: 10 });
const processes = new StagedProcesses();
const users = new Map<string, User>();
const app = await openApp(webhookEndpoints({ sql, processes, delivery, webhooks, testMs: 1_000 }), {
  config,
  authenticate: async (key) => {
    const user = users.get(key ?? "");
    if (user === undefined) throw new ServiceError("api_key_invalid", { detail: "unknown key" });
    return user;
  },
});
const receiver = await openReceiver({
  "/hook": status(200),
  "/count": status(204),
  "/broken": status(500),
  "/hangs": () => {},
  "/elsewhere": status(307, { location: "http://169.254.169.254/" }),
});
const ada = await join();

after(async () => {
  await app.close(1000);
  await webhooks.close();
  processes.close();
});
// Last: the others may still have something to say to it.
after(() => database.close());

async function join(limits: Partial<User["limits"]> = {}): Promise<User> {
  const user = await addUser(sql, limits);
  users.set(user.username, user);
  return user;
}

/** A process of this user, controlled by the test. */
async function start(user = ada, offers?: readonly string[]): Promise<StagedProcess> {
  const process = new StagedProcess(user, { config, setting: null, ...(offers !== undefined && { offers }) });
  processes.add(process);
  await addProcess(sql, user, process.uuid);
  webhooks.follow({
    row: { uuid: process.uuid, nextTrackId: 1 },
    fence: 1,
    follow: (listener) => {
      process.followers.add(listener);
      return () => {};
    },
  });
  return process;
}

// biome-ignore lint/suspicious/noExplicitAny: what comes back is checked by the schemas of its endpoint.
type Reply = { readonly status: number; readonly body: any };

async function call(method: string, path: string, body?: unknown, user = ada): Promise<Reply> {
  const sent =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const init = { method, ...sent, headers: { ...("headers" in sent ? sent.headers : {}), api_key: user.username } };
  const response = await app.call(path, init);
  return { status: response.status, body: await response.json() };
}

const wish = (path = "/hook", more: object = {}) => ({
  ...{ notification_url: `${receiver.url}${path}`, event_type: "new-tracks", ...more },
});
const subscribe = ({ uuid }: { readonly uuid: string }, body: unknown, user = ada) =>
  call("POST", `/subscribe/${uuid}`, body, user);

const show = (process: StagedProcess, ...ids: readonly number[]) =>
  process.detect({ active_tracks: ids.map(entryOf) as unknown as JsonRecord[] });

const checks = { "new-tracks": checkBy(NewTracksNotification), "target-count": checkBy(TargetCountNotification) };

/** Verifies the signature as a receiver does. */
function read({ body, headers }: Received, secret: string) {
  const [id, seconds] = [headers["webhook-id"], headers["webhook-timestamp"]];
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  assert.equal(headers["webhook-signature"], `v1,${expected}`);
  const notification = JSON.parse(body);
  assert.equal(notification.id, id);
  assert.deepEqual(checks[notification.type as keyof typeof checks](notification), []);
  return notification;
}

test("creates a subscription with defaults, shows its secret once, lists it with its delivery status, and deletes it", async () => {
  const process = await start();
  const made = await subscribe(process, wish());
  assert.equal(made.status, 201);
  const { uuid, subscription_uuid, secret, created_at, ...rest } = made.body;
  assert.equal(subscription_uuid, uuid);
  assert.match(created_at, /Z$/);
  assert.equal(Buffer.from(secret.slice("whsec_".length), "base64").length, 32);
  assert.deepEqual(rest, {
    process_uuid: process.uuid,
    ...wish(),
    auth_url: null,
    notifier_policy_type: "backoff",
    notifier_policy_args: { backoff_seconds: 5 },
    notification_format: "simple",
  });
  const listed = await call("GET", `/subscriptions/${process.uuid}`);
  const delivery = {
    waiting: 0,
    delivered: 0,
    dropped: 0,
    last_attempt_at: null,
    last_delivered_at: null,
    last_error: null,
  };
  assert.deepEqual(listed.body, { subscriptions: [{ uuid, subscription_uuid, created_at, ...rest, delivery }] });
  const gone = await call("DELETE", `/subscriptions/${process.uuid}`, wish());
  assert.deepEqual(gone.body, { deleted: true, process_uuid: process.uuid, uuids: [uuid], uuid });
  assert.deepEqual((await call("GET", `/subscriptions/${process.uuid}`)).body, { subscriptions: [] });
  const again = await call("DELETE", `/subscriptions/${process.uuid}`, wish());
  assert.deepEqual([again.status, again.body.code], [404, "subscription_not_found"]);
});

test("one subscription per event type and notification_url: another is rejected, also concurrently", async () => {
  const [process, other] = [await start(), await start()];
  const raced = await Promise.all(Array.from({ length: 5 }, () => subscribe(process, wish())));
  assert.deepEqual(raced.map(({ status }) => status).sort(), [201, 409, 409, 409, 409]);
  const rejected = await subscribe(process, wish("/hook", { notification_format: "full" }));
  assert.deepEqual([rejected.status, rejected.body.code], [409, "subscription_exists"]);
  assert.equal((await subscribe(process, wish("/hook", { event_type: "target-count" }))).status, 201);
  assert.equal((await subscribe(process, wish("/hook?other"))).status, 201);
  assert.equal((await subscribe(other, wish())).status, 201);
});

test("new-tracks and target-count arrive signed, in the documented format, combined by the interval, and end with the process", async () => {
  const process = await start();
  const backoff = { notifier_policy_args: { backoff_seconds: 3600 } };
  const tracks = (await subscribe(process, wish("/hook", backoff))).body;
  const counts = await subscribe(
    process,
    wish("/count", { ...backoff, event_type: "target-count", notification_format: "full" }),
  );
  const before = { hook: receiver.at("/hook").length, count: receiver.at("/count").length };
  const at = (name: "hook" | "count") => receiver.at(`/${name}`).slice(before[name]);
  show(process, 1, 2);
  await eventually(() => at("hook").length === 1 && at("count").length === 1, "the first are sent at once");
  show(process, 2, 3);
  show(process, 3, 4, 5);
  await eventually(async () => {
    const [, { delivery }] = (await call("GET", `/subscriptions/${process.uuid}`)).body.subscriptions;
    return delivery.waiting === 1 && delivery.delivered === 1 && delivery.last_error === null;
  }, "combined events wait");
  process.end();
  await eventually(() => at("hook").length === 2 && at("count").length === 2, "the last are sent at the end");
  const [first, last] = at("hook").map((received) => read(received, tracks.secret));
  assert.match(first.timestamp, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}0$/);
  const { id: _, timestamp: __, ...simple } = first;
  assert.deepEqual(simple, {
    process_uuid: process.uuid,
    type: "new-tracks",
    track_count: 2,
    detections: [
      { topLeftX: 1, topLeftY: 20, height: 40.5, width: 30, id: 1, class: 2 },
      { topLeftX: 2, topLeftY: 20, height: 40.5, width: 30, id: 2, class: 2 },
    ],
  });
  assert.deepEqual([last.track_count, last.detections.map(({ id }: { id: number }) => id)], [3, [3, 4, 5]]);
  const answered = at("count").map((received) => read(received, counts.body.secret));
  assert.deepEqual(
    answered.map(({ track_count, previous_count, active_tracks }) => [
      track_count,
      previous_count,
      active_tracks.length,
    ]),
    [
      [2, 0, 2],
      [3, 2, 3],
    ],
  );
  await eventually(async () => {
    const { body } = await call("GET", `/subscriptions/${process.uuid}`);
    return body.subscriptions.length === 0;
  }, "subscriptions deleted");
});

test("tracks visible at the start of a subscription count as new, and are complete entries with `full`", async () => {
  const process = await start();
  show(process, 1, 2);
  const { secret } = (await subscribe(process, wish("/hook", { notification_format: "full" }))).body;
  const before = receiver.at("/hook").length;
  show(process, 2, 3);
  await eventually(() => receiver.at("/hook").length > before, "notified");
  const answered = read(receiver.at("/hook")[before] ?? assert.fail(), secret);
  assert.deepEqual(answered.tracks, [entryOf(2), entryOf(3)]);
});

test("the delivery status shows a receiver that rejects", async () => {
  const process = await start();
  await subscribe(process, wish("/broken"));
  show(process, 1);
  await eventually(async () => {
    const [{ delivery }] = (await call("GET", `/subscriptions/${process.uuid}`)).body.subscriptions;
    return delivery.waiting === 1 && delivery.last_attempt_at !== null && /500/.test(delivery.last_error);
  }, "the failure is shown");
  assert.equal((await call("DELETE", `/subscriptions/${process.uuid}`)).status, 200);
});

test("sends a marked sample to the receivers of a process and returns the results in time", async () => {
  const process = await start();
  const { secret, uuid } = (await subscribe(process, wish())).body;
  for (const path of ["/broken", "/hangs", "/elsewhere"])
    await subscribe(process, wish(path, { event_type: "target-count", notification_format: "full" }));
  const before = receiver.at("/hook").length;
  const { status, body } = await call("POST", `/subscriptions/${process.uuid}/test`);
  assert.equal(status, 200);
  const byPath = new Map(body.tests.map((one: JsonRecord) => [new URL(String(one.notification_url)).pathname, one]));
  const { detail: __, ...delivered } = byPath.get("/hook") as JsonRecord;
  assert.deepEqual(delivered, { uuid, subscription_uuid: uuid, ...wish(), delivered: true });
  for (const [path, why] of [
    ["/broken", /500/],
    ["/hangs", /within/],
    ["/elsewhere", /307/],
  ] as const) {
    const { delivered, detail } = byPath.get(path) as JsonRecord;
    assert.deepEqual([delivered, why.test(String(detail))], [false, true], String(detail));
  }
  const sample = read(receiver.at("/hook")[before] ?? assert.fail(), secret);
  assert.deepEqual([sample.sample, sample.process_uuid, sample.track_count], [true, process.uuid, 1]);
  const one = await call("POST", `/subscriptions/${process.uuid}/test?event_type=new-tracks`);
  assert.deepEqual([one.body.tests.length, receiver.at("/hook").length], [1, before + 2]);
  const none = await call("POST", `/subscriptions/${process.uuid}/test`, { notification_url: "http://192.0.2.1/" });
  assert.deepEqual([none.status, none.body.code], [404, "subscription_not_found"]);
});

test("selects subscriptions to delete in the query or in a body, by url or by type, or all", async () => {
  const process = await start();
  const at = `/subscriptions/${process.uuid}`;
  for (const path of ["/a", "/b", "/c"])
    for (const event_type of ["new-tracks", "target-count"]) await subscribe(process, wish(path, { event_type }));
  const left = async () =>
    (await call("GET", at)).body.subscriptions
      .map((one: JsonRecord) => `${one.event_type} ${new URL(String(one.notification_url)).pathname}`)
      .sort();
  const url = encodeURIComponent(`${receiver.url}/a`);
  assert.equal((await call("DELETE", `${at}?notification_url=${url}&event_type=new-tracks`)).body.uuids.length, 1);
  assert.equal((await call("DELETE", at, { notification_url: `${receiver.url}/b` })).body.uuids.length, 2);
  assert.deepEqual(await left(), ["new-tracks /c", "target-count /a", "target-count /c"]);
  assert.equal((await call("DELETE", `${at}?event_type=target-count`)).body.uuids.length, 2);
  assert.equal((await call("DELETE", `${at}?event_type=others`)).status, 422);
  assert.equal((await call("DELETE", at)).body.uuids.length, 1);
  assert.equal((await call("DELETE", at)).status, 404);
});

test("credentials are shown as *** and never logged; a masked url selects its subscription", async () => {
  const process = await start();
  const made = await subscribe(process, {
    ...wish(),
    notification_url: "http://bob:hunter6@192.0.2.1/in?token=hunter7&site=3",
    auth_url: "https://bob:hunter8@192.0.2.1/login",
  });
  const shown = {
    notification_url: "http://***@192.0.2.1/in?token=***&site=3",
    auth_url: "https://***@192.0.2.1/login",
  };
  const [listed] = (await call("GET", `/subscriptions/${process.uuid}`)).body.subscriptions;
  for (const { notification_url, auth_url } of [made.body, listed])
    assert.deepEqual({ notification_url, auth_url }, shown);
  assert.doesNotMatch(JSON.stringify(listed) + app.logged.join(), /hunter|whsec_/);
  assert.equal((await subscribe(process, wish("/x?token=***"))).status, 422);
  const gone = await call("DELETE", `/subscriptions/${process.uuid}`, { notification_url: shown.notification_url });
  assert.equal(gone.status, 200);
});

test("concurrent requests do not exceed the subscription limit of a key over all its processes", async () => {
  const eve = await join({ subscriptions: 3 });
  const both = [await start(eve), await start(eve)];
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, i) => subscribe(both[i % 2] ?? assert.fail(), wish(`/${i}`), eve)),
  );
  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 201, 201, 403, 403, 403]);
  const rejected = replies.find(({ status }) => status === 403);
  assert.equal(rejected?.body.code, "subscriptions_limit_reached");
});

test("rejects subscriptions to unknown, ended or foreign processes, and to graphs without detections", async () => {
  const [mine, over, blind] = [await start(), await start(), await start(ada, ["feed"])];
  const eve = await join();
  await subscribe(mine, wish());
  over.end();
  await sql`update processes set state = 'finished', finished_at = now() where uuid = ${over.uuid}`;
  const unknown = { uuid: newUuid() };
  for (const [process, user] of [
    [unknown, ada],
    [over, ada],
    [mine, eve],
  ] as const) {
    const { status, body } = await subscribe(process, wish(), user);
    assert.deepEqual([status, body.code], [404, "process_not_found"]);
  }
  for (const [method, path] of [
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/test"],
  ] as const) {
    for (const [{ uuid }, user] of [
      [unknown, ada],
      [mine, eve],
    ] as const) {
      const { status, body } = await call(method, `/subscriptions/${uuid}${path}`, undefined, user);
      assert.deepEqual([status, body.code], [404, "process_not_found"]);
    }
  }
  assert.deepEqual((await call("GET", `/subscriptions/${over.uuid}`)).body, { subscriptions: [] });
  const lacking = await subscribe(blind, wish());
  assert.deepEqual([lacking.status, lacking.body.code], [409, "graph_lacks"]);
});

test("the listing is paged, newest first", async () => {
  const process = await start();
  for (const path of ["/1", "/2", "/3"]) await subscribe(process, wish(path));
  const first = await call("GET", `/subscriptions/${process.uuid}?limit=2`);
  const second = await call("GET", `/subscriptions/${process.uuid}?limit=2&cursor=${first.body.next_cursor}`);
  const paths = [...first.body.subscriptions, ...second.body.subscriptions].map(
    ({ notification_url: url }: { notification_url: string }) => new URL(url).pathname,
  );
  assert.deepEqual([paths, second.body.next_cursor], [["/3", "/2", "/1"], undefined]);
});

test("rejects URLs in private networks and denied hosts, unless the operator allows them", async () => {
  const process = await start();
  const privateHosts = [
    "10.8.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "[fd12::1]",
    "[::ffff:10.8.0.1]",
    "[64:ff9b:1::a08:1]",
  ];
  for (const host of ["169.254.169.254", "metadata", "[fe80::1]", "10.9.0.1", "0xa9fea9fe", ...privateHosts])
    for (const field of ["notification_url", "auth_url"]) {
      const { status, body } = await subscribe(process, { ...wish(), [field]: `http://${host}/` });
      assert.deepEqual([status, body.code, body.errors?.[0]?.path], [422, "address_refused", `/${field}`], host);
    }
  const outside = "http://198.51.100.9/hook";
  assert.equal((await subscribe(process, { ...wish(), notification_url: outside })).status, 201);
  const relay = await subscribe(process, { ...wish(), notification_url: outside, auth_url: `${receiver.url}/token` });
  const answered = [relay.status, relay.body.code, relay.body.errors?.[0]?.path];
  assert.deepEqual(
    answered,
    [422, "address_refused", "/auth_url"],
    "no token of a private host is sent to a public one",
  );
});

const REJECTED: readonly (readonly [why: string, change: JsonRecord, path: string])[] = [
  ["no url", { notification_url: null }, "/notification_url"],
  ["a url that is not a string", { notification_url: 7 }, "/notification_url"],
  ["another scheme", { notification_url: "ftp://192.0.2.1/" }, "/notification_url"],
  ["a url without a host", { notification_url: "http:///hook" }, "/notification_url"],
  ["a url with a space", { notification_url: "http://192.0.2.1/a b" }, "/notification_url"],
  ["a url with two @", { notification_url: "http://a@b@192.0.2.1/" }, "/notification_url"],
  ["port 0", { notification_url: "http://192.0.2.1:0/" }, "/notification_url"],
  ["a url that is too long", { notification_url: `http://192.0.2.1/${"a".repeat(2048)}` }, "/notification_url"],
  ["a url with a non-ASCII character", { notification_url: "http://192.0.2.1/ä" }, "/notification_url"],
  ["another event type", { event_type: "alerts" }, "/event_type"],
  ["no event type", { event_type: null }, "/event_type"],
  ["another policy", { notifier_policy_type: "digest" }, "/notifier_policy_type"],
  ["a negative interval", { notifier_policy_args: { backoff_seconds: -1 } }, "/notifier_policy_args/backoff_seconds"],
  [
    "an interval longer than a day",
    { notifier_policy_args: { backoff_seconds: 86_401 } },
    "/notifier_policy_args/backoff_seconds",
  ],
  [
    "an interval that is not a number",
    { notifier_policy_args: { backoff_seconds: "5" } },
    "/notifier_policy_args/backoff_seconds",
  ],
  ["another format", { notification_format: "xml" }, "/notification_format"],
  ["an auth_url with another scheme", { auth_url: "ldap://192.0.2.1/" }, "/auth_url"],
];
for (const [why, change, path] of REJECTED)
  test(`POST /subscribe rejects ${why}`, async () => {
    const { status, body } = await subscribe({ uuid: newUuid() }, { ...wish(), ...change });
    assert.deepEqual([status, body.code], [422, "invalid_input"]);
    assert.deepEqual(
      body.errors.map((one: { path: string }) => one.path),
      [path],
    );
    if (path === "/event_type") assert.match(body.detail, /new-tracks.*target-count/);
  });
