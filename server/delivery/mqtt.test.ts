/** Deliveries to topics of a real broker: mosquitto. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openMosquitto } from "../../test/mosquitto.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { closeDestination, readStatuses, saveDestination, type Target } from "../store/destinations.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { Gate } from "./gate.fixture.ts";
import { addDestination, addUser, enqueue, mqttTarget, openOutbox, range, statusOf } from "./outbox.fixture.ts";

let database: TestDatabase;
let user = "";

before(async () => {
  database = await testDatabase();
  user = await addUser(database.sql);
});
after(() => database.close());

interface Numbered {
  readonly id: string;
  readonly number: number;
}

/** What a subscriber receives, in order. */
async function listen(broker: Awaited<ReturnType<typeof openMosquitto>>, topic = "alerts/#"): Promise<Numbered[]> {
  const client = await broker.connect();
  const received: Numbered[] = [];
  client.on("message", (_topic, payload) => received.push(JSON.parse(payload.toString())));
  await client.subscribeAsync(topic, { qos: 1 });
  return received;
}

/** The first copy of each. */
const numbersOf = (received: readonly Numbered[]): readonly number[] => [
  ...new Map(received.map(({ id, number }) => [id, number])).values(),
];

test("delivers in order, removes what was delivered, and ignores deliveries to a removed destination", async () => {
  const { sql } = database;
  const broker = await openMosquitto();
  const received = await listen(broker);
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(sql, user, mqttTarget(broker.port));
  await enqueue(outbox, sql, uuid, range(1, 1200));
  await enqueue(outbox, sql, uuid, range(1201, 1210));
  await eventually(() => received.length >= 1210, "all arrive");
  assert.deepEqual(
    received.map(({ number }) => number),
    range(1, 1210),
  );
  await eventually(async () => (await statusOf(sql, uuid)).waiting === 0, "nothing waits");
  const { delivered, dropped, lastError, lastDeliveredAt } = await statusOf(sql, uuid);
  assert.deepEqual([delivered, dropped, lastError], [1210, 0, null]);
  assert.ok(lastDeliveredAt instanceof Date);
  await closeDestination(sql, uuid);
  outbox.wake();
  await eventually(async () => (await readStatuses(sql, [uuid])).size === 0, "the destination is removed");
  await enqueue(outbox, sql, uuid, [1]);
});

test("loses nothing while the broker is offline, keeps the order, and repeats the same bytes", async () => {
  const { sql } = database;
  const broker = await openMosquitto();
  const gate = await Gate.open(broker.port);
  after(() => gate.cut());
  const received = await listen(broker);
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(sql, user, mqttTarget(gate.port));
  for (const round of range(0, 3)) {
    const before = received.length;
    await enqueue(outbox, sql, uuid, range(round * 200 + 1, round * 200 + 150));
    await eventually(() => received.length > before, "some arrive");
    await gate.cut();
    await enqueue(outbox, sql, uuid, range(round * 200 + 151, round * 200 + 200));
    await eventually(async () => (await statusOf(sql, uuid)).lastError !== null, "it is detected");
    await gate.open();
  }
  await eventually(async () => (await statusOf(sql, uuid)).waiting === 0, "nothing waits");
  await eventually(() => received.some(({ number }) => number === 800), "the last arrives");
  assert.deepEqual(numbersOf(received), range(1, 800));
  assert.equal(new Set(received.map((message) => JSON.stringify(message))).size, 800);
  assert.equal((await statusOf(sql, uuid)).delivered, 800);
});

test("reports why a broker rejects deliveries, without the password", async () => {
  const { sql } = database;
  const [broker, guarded] = await Promise.all([
    openMosquitto({ isStarted: false }),
    openMosquitto({ isGuarded: true }),
  ]);
  const outbox = await openOutbox(sql);
  const expected: readonly (readonly [Target, RegExp])[] = [
    [mqttTarget(broker.port), /127\.0\.0\.1:\d+: nothing listens there/],
    [mqttTarget(guarded.port, { username: "drone", password: "geheim:8" }), /username and password|this user/],
    [mqttTarget(1, { url: "mqtt://no-such-host.invalid" }), /no-such-host\.invalid cannot be resolved/],
    [mqttTarget(1, { url: "mqtt://169.254.169.254:1883" }), /does not connect to that network/],
    [mqttTarget(1, { url: "mqtt://[::ffff:169.254.169.254]:1883" }), /does not connect to that network/],
    [mqttTarget(guarded.port, { url: `mqtts://127.0.0.1:${guarded.port}` }), /mqtts:.*(TLS|SSL|connection)/i],
  ];
  const uuids = await Promise.all(expected.map(([target]) => addDestination(sql, user, target)));
  for (const uuid of uuids) await enqueue(outbox, sql, uuid, [1]);
  for (const [at, [, reason]] of expected.entries()) {
    let last: string | null = null;
    await eventually(async () => {
      last = (await statusOf(sql, uuids[at] ?? "")).lastError;
      return last !== null;
    }, `the reason ${reason}`);
    assert.match(last ?? "", reason);
    assert.ok(!`${last}`.includes("geheim"));
  }
  // With a valid user the delivery continues.
  await saveDestination(sql, {
    ...{ uuid: uuids[1] ?? "", userUuid: user },
    target: mqttTarget(guarded.port, { ...guarded.user, qos: 2 }),
  });
  outbox.wake();
  await eventually(async () => (await statusOf(sql, uuids[1] ?? "")).delivered === 1, "it is delivered");
  assert.equal((await statusOf(sql, uuids[1] ?? "")).lastError, null);
});

test("keeps fewer QoS 2 messages in flight than a broker accepts", async () => {
  const { sql } = database;
  await sql`delete from destinations`;
  const broker = await openMosquitto();
  const received = await listen(broker);
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(sql, user, mqttTarget(broker.port, { qos: 2 }));
  await enqueue(outbox, sql, uuid, range(1, 200));
  await eventually(async () => (await statusOf(sql, uuid)).waiting === 0, "nothing waits");
  await eventually(() => received.length >= 200, "all arrive");
  assert.deepEqual(
    received.map(({ number }) => number),
    range(1, 200),
  );
  const [reading] = await outbox.read();
  assert.deepEqual([reading?.attempts, reading?.failures], [200, 0]);
});
