/** Processes that wait for their source, and the events of an account, with a real publisher, webhook and broker. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findDescendants } from "../../cli/serve/serving.fixture.ts";
import { Windhover } from "../../client/client.ts";
import type { AccountEvent, EventSubscription } from "../../schemas/api/account-events.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceDetails, SourceRecord } from "../../schemas/api/sources.ts";
import { loadConfig } from "../../server/config/load.ts";
import { openReceiver, status } from "../../server/delivery/receiver.fixture.ts";
import { spawnPublisher } from "../../server/media/publisher.fixture.ts";
import { silentLog } from "../../server/store/database.fixture.ts";
import { borrowDatabase } from "../../server/store/database.ts";
import { newUuid } from "../../server/uuid.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { findFreePort } from "../ports.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { EventReader } from "./account-events.fixture.ts";
import { createKey, MASTER_KEY, TestService, uploadVideo, withoutRecordings } from "./service.fixture.ts";

const skip = await withoutModel("default");
let service: TestService;
let port: number;
let username: string;
const publishers = new Set<ChildProcess>();

before(async () => {
  port = await findFreePort();
  service = await TestService.start({
    env: { WINDHOVER_RTSP_PORT: String(port), WINDHOVER_NETWORK_ALLOW: "127.0.0.1", WINDHOVER_RUNNERS_SPARE: "0" },
  });
  await withoutRecordings(service);
  username = (await service.expect<{ username: string }>(200, "GET", "/login")).username;
});
after(async () => {
  for (const publisher of publishers) publisher.kill("SIGKILL");
  await service?.close();
});

function publish(name: string, key = MASTER_KEY): ChildProcess {
  const publisher = spawnPublisher(`rtsp://key:${key}@127.0.0.1:${port}/${username}/${name}`);
  publishers.add(publisher);
  return publisher;
}

async function addStream(name: string): Promise<string> {
  const input_url = `rtsp://127.0.0.1:${port}/${username}/${name}`;
  const json = { alias: name, input_url, stream_type: "rtsp" };
  return (await service.expect<SourceRecord>(201, "POST", "/stream", { json })).uuid;
}

/** `preview` needs no model. */
const start = async (source: string, json: unknown, graph = "preview"): Promise<string> =>
  (await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source}&graph=${graph}`, { json }))
    .process_uuid;

const read = (uuid: string) => service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
const readSource = (uuid: string) => service.expect<SourceDetails>(200, "GET", `/source/${uuid}`);
const reach = (uuid: string, state: ProcessRecord["state"]) =>
  poll(`the process is ${state}`, async () => {
    const process = await read(uuid);
    return process.state === state ? process : null;
  });
const listEvents = async (query: string) =>
  (await service.expect<{ events: AccountEvent[] }>(200, "GET", `/events?${query}`)).events;
const countRunners = () => findDescendants(service.serving.pid, /runner\.mjs/).length;

test("a process waits for its stream without a runner, runs with it, and waits again", { skip }, async () => {
  const source = await addStream("drone");
  const fault = await service.call("POST", `/start?source_uuid=${source}&graph=preview`);
  assert.equal(fault.status, 400);
  const reader = new EventReader(() => service.url);
  const uuid = await start(source, { wait: true, keep: true, params: { every: 250 } }, "detect");
  assert.equal((await read(uuid)).state, "waiting");
  assert.equal((await readSource(source)).status, "offline");
  // What is attached before the stream begins is there when it does.
  const output = await service.expect<{ uuid: string }>(201, "POST", "/output", {
    json: { alias: "out", type: "rtsp", url: "rtsp://seen" },
  });
  await service.expect(200, "POST", `/process/${uuid}/${output.uuid}`);
  assert.equal(countRunners(), 0, "a process that waits has no runner");
  const other = await start(source, { wait: true });
  const lacking = await service.call("POST", `/process/${other}/${output.uuid}`);
  assert.equal(lacking.status, 409, "the graph preview has no such output");
  await service.expect(200, "DELETE", `/process/${other}`);
  const refused = await service.call("POST", `/process/${uuid}/pause`);
  assert.equal(refused.status, 409);

  const publisher = publish("drone");
  const running = await reach(uuid, "running");
  assert.deepEqual(running.outputs, [output.uuid]);
  assert.ok(countRunners() > 0);
  await poll("the output is live", async () => (await read(uuid)).output_states[0]?.status === "live");
  const live = await poll("the stream is measured", async () => {
    const found = await readSource(source);
    return found.fps === null ? null : found;
  });
  assert.deepEqual(
    [live.status, live.codec, live.width, live.height, live.status_detail],
    ["processing", "h264", 160, 120, null],
  );
  assert.ok((live.bytes ?? 0) > 0 && (live.duration_seconds ?? 0) > 0);

  publisher.kill("SIGKILL");
  await reach(uuid, "waiting");
  assert.equal((await readSource(source)).status, "offline");
  // The server is killed while it waits, and the next one continues.
  process.kill(service.serving.pid, "SIGKILL");
  await service.serving.ended;
  await service.startAgain();
  assert.equal((await read(uuid)).state, "waiting");
  const again = publish("drone");
  await reach(uuid, "running");
  await service.expect(200, "DELETE", `/process/${uuid}`);

  const ofProcess = (await listEvents(`process=${uuid}&after=0`)).map(({ type }) => type);
  assert.deepEqual(
    ofProcess.filter((type) => !type.startsWith("process-reconnect")),
    [...["process-waiting", "process-started", "process-waiting", "process-started", "process-finished"]],
  );
  const all = await listEvents("after=0&limit=1000");
  await poll("the reader has all events", () => reader.events.length >= all.length);
  await reader.close();
  assert.deepEqual(reader.events, all, "each event was sent once and in order, over the end of the server");
  assert.ok(reader.connections > 1);
  assert.deepEqual(reader.gaps, []);
  again.kill("SIGKILL");
});

test("a process fails when its stream does not begin in time, and can be stopped while it waits", async () => {
  const source = await addStream("late");
  const late = await start(source, { wait: true, wait_seconds: 1 });
  const { error } = await reach(late, "failed");
  assert.equal(error?.code, "source_not_live");
  assert.match(error?.detail ?? "", /wait_seconds/);
  const stopped = await start(source, { wait: true });
  await service.expect(200, "DELETE", `/process/${stopped}`);
  assert.equal((await read(stopped)).state, "finished");
});

test("a wait is only for live sources, and its fields require it", async () => {
  const source = await addStream("strict");
  for (const json of [
    { keep: true },
    { wait_seconds: 5 },
    { wait: false, keep: true },
    { wait: true, wait_seconds: 0 },
  ])
    assert.equal((await service.call("POST", `/start?source_uuid=${source}&graph=preview`, { json })).status, 422);
  const folder = temporaryFolder();
  const file = await uploadVideo(service, await makeClip(folder, 10));
  const path = `/start?source_uuid=${file.uuid}&graph=preview`;
  assert.equal((await service.call("POST", path, { json: { wait: true } })).status, 422);
  const { codec, width, height, fps, duration_seconds, bytes } = await readSource(file.uuid);
  assert.deepEqual([codec, width, height, fps], ["h264", 320, 180, 25]);
  assert.ok((duration_seconds ?? 0) > 0 && (bytes ?? 0) > 0);
});

test("the log rejects types, cursors and places that do not exist", async () => {
  for (const query of ["type=process-faild", "type=a,,b", "cursor=x", "after=-1", "what=1"])
    assert.equal((await service.call("GET", `/events?${query}`)).status, 422, query);
  const headers = { Accept: "text/event-stream", "Last-Event-ID": "x" };
  assert.equal((await service.call("GET", "/events", { headers })).status, 422);
});

test("a rejected publisher is an event, and the source says why", async () => {
  const source = await addStream("rejected");
  publish("rejected", "wh_000000000000_wrong");
  const [event] = await poll("the event", async () => {
    const found = await listEvents(`source=${source}&type=stream-rejected`);
    return found.length > 0 && found;
  });
  assert.match(event?.data.reason ?? "", /does not exist/);
  assert.equal((await readSource(source)).status_detail, event?.data.reason);
  // Anyone can be that: one event, but the source says why the last one was rejected.
  publish("rejected", await createKey(service, "stranger"));
  await poll("the reason of another", async () =>
    /only valid for paths below/.test((await readSource(source)).status_detail ?? ""),
  );
  assert.equal((await listEvents(`source=${source}&type=stream-rejected`)).length, 1);
  const first = publish("rejected");
  await poll("the stream", async () => {
    const { status, status_detail: detail } = await readSource(source);
    return status === "streaming" && detail === null;
  });
  publish("rejected");
  await poll("the second publisher", async () =>
    /already being published/.test((await readSource(source)).status_detail ?? ""),
  );
  first.kill("SIGKILL");
});

test("a webhook gets the events of all processes of a key, signed, and none of another key", async () => {
  const receiver = await openReceiver({ "/events": status(204) });
  const key = await createKey(service, "other");
  const json = {
    output: [{ type: "webhook", config: { url: `${receiver.url}/events` } }],
    types: ["process-waiting", "process-finished"],
  };
  const created = await service.expect<EventSubscription>(201, "POST", "/events/subscriptions", { json });
  const { subscriptions } = await service.expect<{ subscriptions: EventSubscription[] }>(
    200,
    "GET",
    "/events/subscriptions",
  );
  assert.deepEqual(
    subscriptions.map(({ uuid }) => uuid),
    [created.uuid],
  );
  const [{ config } = { config: null }] = subscriptions[0]?.output ?? [];
  assert.deepEqual(config, { url: `${receiver.url}/events`, secret: "***" });
  const none = { key };
  assert.deepEqual(await service.expect(200, "GET", "/events/subscriptions", none), { subscriptions: [] });
  assert.deepEqual(await service.expect(200, "GET", "/events", none), { events: [] });
  assert.equal((await service.call("DELETE", `/events/subscription/${created.uuid}`, none)).status, 404);

  const sources = [await addStream("hook-a"), await addStream("hook-b")];
  const uuids = [];
  for (const source of sources) uuids.push(await start(source, { wait: true }));
  for (const uuid of uuids) await service.expect(200, "DELETE", `/process/${uuid}`);
  await poll("the notifications", () => receiver.at("/events").length >= 4);
  const bodies = receiver.at("/events").map(({ body, headers }) => {
    const event = JSON.parse(body) as AccountEvent;
    assert.equal(headers["webhook-id"], event.uuid);
    assert.match(String(headers["webhook-signature"]), /^v1,/);
    return `${event.type} ${event.process_uuid}`;
  });
  assert.deepEqual(bodies, [
    ...uuids.map((uuid) => `process-waiting ${uuid}`),
    ...uuids.map((uuid) => `process-finished ${uuid}`),
  ]);
  const test = await service.expect<{ tests: { delivered: boolean }[] }>(
    200,
    "POST",
    `/events/subscription/${created.uuid}/test`,
  );
  assert.deepEqual(
    test.tests.map(({ delivered }) => delivered),
    [true],
  );
  await service.expect(200, "DELETE", `/events/subscription/${created.uuid}`);
});

test("a broker gets the events of a source in order, each once, also those while it was offline", async () => {
  const broker = await openMosquitto();
  const [wanted, unwanted] = [await addStream("mqtt-a"), await addStream("mqtt-b")];
  const received: AccountEvent[] = [];
  const listen = async () => {
    const subscriber = await broker.connect();
    subscriber.on("message", (_, bytes) => received.push(JSON.parse(String(bytes))));
    await subscriber.subscribeAsync("ops/events", { qos: 1 });
  };
  await listen();
  const config = { host: `127.0.0.1:${broker.port}`, topic: "ops/events" };
  const json = { output: [{ type: "mqtt", config }], source_uuid: wanted };
  const { uuid } = await service.expect<EventSubscription>(201, "POST", "/events/subscriptions", { json });
  const run = async (source: string) => {
    const process = await start(source, { wait: true });
    await service.expect(200, "DELETE", `/process/${process}`);
  };
  await run(unwanted);
  await run(wanted);
  await poll("two events", () => received.length >= 2);
  await broker.kill();
  await run(wanted);
  await broker.start();
  await listen();
  const expected = await listEvents(`source=${wanted}&after=0`);
  assert.equal(expected.length, 4);
  await poll("all events", () => new Set(received.map(({ id }) => id)).size >= expected.length);
  // At least once: a delivery whose acknowledgement was lost is repeated.
  const once = received.filter((event, at) => received.findIndex(({ id }) => id === event.id) === at);
  assert.deepEqual(once, expected);
  await service.expect(200, "DELETE", `/events/subscription/${uuid}`);
});

test("a key that is limited to sources gets the events of these sources, as a listing and as they happen", async () => {
  const [own, other] = [await addStream("limited-a"), await addStream("limited-b")];
  const limited = { name: "limited", scopes: ["read"], source_uuids: [own] };
  const { key } = await service.expect<{ key: string }>(201, "POST", "/key", { json: limited });
  const over = new AbortController();
  const seen: AccountEvent[] = [];
  const following = (async () => {
    const windhover = new Windhover({ url: service.url, apiKey: key });
    for await (const event of windhover.followEvents({ after: 0, signal: over.signal }))
      seen.push(event as AccountEvent);
  })();
  for (const source of [other, own, other])
    await service.expect(200, "DELETE", `/process/${await start(source, { wait: true })}`);
  const expected = await listEvents(`source=${own}&after=0`);
  assert.deepEqual(
    expected.map(({ type }) => type),
    ["process-waiting", "process-finished"],
  );
  const list = async (query: string) =>
    (await service.expect<{ events: AccountEvent[] }>(200, "GET", `/events?${query}`, { key })).events;
  assert.deepEqual(await list("after=0"), expected);
  assert.deepEqual(await list(`after=0&source=${other}`), []);
  await poll("the events", () => seen.length >= expected.length);
  over.abort();
  await following;
  assert.deepEqual(seen, expected);
  const [{ id = 0 } = {}] = expected;
  const replay = new EventReader(() => service.url, { key, lastId: String(id) });
  await poll("the rest", () => replay.events.length >= expected.length - 1);
  await replay.close();
  assert.deepEqual(replay.events, expected.slice(1));
});

test("a key that is limited to sources subscribes to the events of these sources, and to no others", async () => {
  const [own, next, other] = [await addStream("sub-a"), await addStream("sub-b"), await addStream("sub-c")];
  const makeKey = async (name: string, source_uuids: readonly string[] | null): Promise<string> => {
    const json = { name, scopes: ["operate"], source_uuids };
    return (await service.expect<{ key: string }>(201, "POST", "/key", { json })).key;
  };
  const [both, one] = [await makeKey("both", [own, next]), await makeKey("one", [own])];
  const receiver = await openReceiver({ "/hook": status(204) });
  const output = [{ type: "webhook", config: { url: `${receiver.url}/hook` } }];
  const subscribe = (key: string, more = {}) =>
    service.expect<EventSubscription>(201, "POST", "/events/subscriptions", { key, json: { output, ...more } });
  const list = async (key: string) =>
    (await service.expect<{ subscriptions: EventSubscription[] }>(200, "GET", "/events/subscriptions", { key }))
      .subscriptions;
  const made = await subscribe(both);
  assert.deepEqual([made.source_uuid, made.source_uuids], [null, [own, next]]);
  const json = { output, source_uuid: other };
  assert.equal((await service.call("POST", "/events/subscriptions", { key: both, json })).status, 404);

  for (const source of [other, own, other, next])
    await service.expect(200, "DELETE", `/process/${await start(source, { wait: true })}`);
  const expected = [...(await listEvents(`source=${own}&after=0`)), ...(await listEvents(`source=${next}&after=0`))];
  assert.equal(expected.length, 4);
  // Deliveries are in order, so that one of another source would have come before.
  await poll("the events", () => receiver.received.length >= expected.length);
  assert.deepEqual(
    receiver.received.map(({ body }) => JSON.parse(body)),
    expected,
  );

  // Each key finds the subscriptions that send nothing of other sources.
  const [ofOne, ofAll] = [await subscribe(one, { source_uuid: own }), await subscribe(MASTER_KEY)];
  const uuids = (found: readonly EventSubscription[]) => found.map(({ uuid }) => uuid);
  assert.deepEqual(uuids(await list(both)), [ofOne.uuid, made.uuid]);
  assert.deepEqual(uuids(await list(one)), [ofOne.uuid]);
  for (const [key, { uuid }] of [
    [both, ofAll],
    [one, made],
    [one, ofAll],
  ] as const)
    for (const [method, path] of [
      ["DELETE", ""],
      ["POST", "/test"],
    ] as const)
      assert.equal((await service.call(method, `/events/subscription/${uuid}${path}`, { key })).status, 404);
  const { tests } = await service.expect<{ tests: { delivered: boolean }[] }>(
    ...([200, "POST", `/events/subscription/${made.uuid}/test`, { key: both }] as const),
  );
  assert.deepEqual(
    tests.map(({ delivered }) => delivered),
    [true],
  );
  for (const [key, { uuid }] of [
    [both, made],
    [one, ofOne],
    [MASTER_KEY, ofAll],
  ] as const)
    await service.expect(200, "DELETE", `/events/subscription/${uuid}`, { key });
});

/** Of the minutes of an account, by a process that has ended. */
async function useUp(name: string, seconds: number): Promise<void> {
  const { path } = service.folder;
  const env = { WINDHOVER_DATA_DIR: join(path, "data") };
  const database = await borrowDatabase(loadConfig({ file: null, folder: path, env }).config, silentLog);
  try {
    await database.sql`
      insert into usage (process_uuid, fence, user_uuid, running_ms)
      select ${newUuid()}, 1, uuid, ${seconds * 1000} from users where username = ${name}`;
  } finally {
    await database.close();
  }
}

test("an event says when nine tenths of the minutes are used, once, by webhook and as a server-sent event", async () => {
  const key = await createKey(service, "metered", "--minutes", "1");
  await useUp("metered", 50);
  const receiver = await openReceiver({ "/hook": status(204) });
  const output = [{ type: "webhook", config: { url: `${receiver.url}/hook` } }];
  await service.expect(201, "POST", "/events/subscriptions", { key, json: { output } });
  const reader = new EventReader(() => service.url, { key, lastId: "0" });
  const input_url = `rtsp://127.0.0.1:${port}/metered/yard`;
  const { uuid } = await service.expect<SourceRecord>(201, "POST", "/stream", {
    ...{ key, json: { alias: "yard", input_url, stream_type: "rtsp" } },
  });
  const publisher = spawnPublisher(input_url.replace("//", `//key:${key}@`));
  publishers.add(publisher);
  // Together they use the rest in half of its time.
  const count = 2;
  for (let n = 0; n < count; n += 1)
    await service.expect(201, "POST", `/start?source_uuid=${uuid}&graph=preview`, { key, json: { wait: true } });
  const sent = (): AccountEvent[] => receiver.received.map(({ body }) => JSON.parse(body));
  const isOver = (events: readonly AccountEvent[]) =>
    events.filter(({ type }) => type === "process-finished").length === count;
  await poll("the minutes are used up", () => isOver(reader.events) && isOver(sent()));
  publisher.kill("SIGKILL");
  await reader.close();
  const [near = assert.fail("no event"), ...others] = reader.events.filter(({ type }) => type === "quota-near");
  assert.deepEqual([others, near.source_uuid, near.data.quota, near.data.limit], [[], null, "minutes", 1]);
  assert.ok((near.data.used ?? 0) >= 0.9, `${near.data.used} minutes`);
  assert.deepEqual(
    sent().filter(({ type }) => type === "quota-near"),
    [near],
  );
  const finished = reader.events.filter(({ type }) => type === "process-finished");
  assert.deepEqual(new Set(finished.map(({ data }) => data.error?.code)), new Set(["usage_limit_reached"]));
  assert.ok(
    finished.every(({ id }) => id > near.id),
    "it comes before the end",
  );
});

test("an event says when nine tenths of the storage are used, once", async () => {
  const folder = temporaryFolder();
  const [first, second] = [await makeClip(folder, 30), await makeClip(temporaryFolder(), 31)];
  const sizes = [first, second].map((file) => statSync(file).size);
  const limit = Math.ceil(((sizes[0] ?? 0) + (sizes[1] ?? 0)) * 1.05);
  const key = await createKey(service, "nearly-full", "--limit", `storage_bytes=${limit}`);
  const near = async () =>
    (await service.expect<{ events: AccountEvent[] }>(200, "GET", "/events?type=quota-near", { key })).events;
  await uploadVideo(service, first, { key });
  assert.deepEqual(await near(), []);
  await uploadVideo(service, second, { key });
  const [event, ...others] = await near();
  assert.deepEqual([event?.data.quota, event?.data.limit, others], ["storage", limit, []]);
  assert.equal(event?.data.used, (sizes[0] ?? 0) + (sizes[1] ?? 0));
});

test("the TypeScript client follows the log from any event on", async () => {
  const windhover = new Windhover({ url: service.url, apiKey: MASTER_KEY });
  const all = await listEvents("after=0&limit=1000&type=process-waiting");
  const [first] = all;
  assert.ok(first !== undefined && all.length > 1);
  const seen: AccountEvent[] = [];
  const over = new AbortController();
  for await (const event of windhover.followEvents({ after: first.id, type: "process-waiting", signal: over.signal })) {
    seen.push(event as AccountEvent);
    if (seen.length === all.length - 1) over.abort();
  }
  assert.deepEqual(seen, all.slice(1));
});
