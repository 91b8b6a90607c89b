/** Notices to topics of a real broker: mosquitto. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openMosquitto } from "../../test/mosquitto.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import type { Target } from "./delivery.ts";
import { Gate } from "./gate.fixture.ts";
import { addDestination, addUser, enqueue, mqttTarget, openOutbox, range, standing } from "./outbox.fixture.ts";

let database: TestDatabase;
let user = "";

before(async () => {
  database = await testDatabase();
  user = await addUser(database.sql);
});
after(() => database.close());

interface Notice {
  readonly id: string;
  readonly number: number;
}

/** What a subscriber gets, in order. */
async function listen(broker: Awaited<ReturnType<typeof openMosquitto>>, topic = "alerts/#"): Promise<Notice[]> {
  const client = await broker.connect();
  const heard: Notice[] = [];
  client.on("message", (_topic, payload) => heard.push(JSON.parse(payload.toString())));
  await client.subscribeAsync(topic, { qos: 1 });
  return heard;
}

/** The first copy of each. */
const numbersOf = (heard: readonly Notice[]): readonly number[] => [
  ...new Map(heard.map(({ id, number }) => [id, number])).values(),
];

test("notices arrive in order and are gone then; a receiver that is not there any more is no matter", async () => {
  const { sql } = database;
  const broker = await openMosquitto();
  const heard = await listen(broker);
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(outbox, sql, user, mqttTarget(broker.port));
  await enqueue(outbox, sql, uuid, range(1, 1200));
  await enqueue(outbox, sql, uuid, range(1201, 1210));
  await eventually(() => heard.length >= 1210, "all arrive");
  assert.deepEqual(
    heard.map(({ number }) => number),
    range(1, 1210),
  );
  await eventually(async () => (await standing(outbox, sql, uuid)).waiting === 0, "nothing waits");
  const { delivered, dropped, lastError, lastDeliveredAt } = await standing(outbox, sql, uuid);
  assert.deepEqual([delivered, dropped, lastError], [1210, 0, null]);
  assert.ok(lastDeliveredAt instanceof Date);
  await outbox.closeDestination(sql, uuid);
  outbox.wake();
  await eventually(async () => (await outbox.standings(sql, [uuid])).size === 0, "the receiver is gone");
  await enqueue(outbox, sql, uuid, [1]);
});

test("a broker that is away loses nothing, and all arrives in order; copies are the same", async () => {
  const { sql } = database;
  const broker = await openMosquitto();
  const gate = await Gate.open(broker.port);
  after(() => gate.cut());
  const heard = await listen(broker);
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(outbox, sql, user, mqttTarget(gate.port));
  for (const round of range(0, 3)) {
    const before = heard.length;
    await enqueue(outbox, sql, uuid, range(round * 200 + 1, round * 200 + 150));
    await eventually(() => heard.length > before, "some arrive");
    await gate.cut();
    await enqueue(outbox, sql, uuid, range(round * 200 + 151, round * 200 + 200));
    await eventually(async () => (await standing(outbox, sql, uuid)).lastError !== null, "it is noticed");
    await gate.open();
  }
  await eventually(async () => (await standing(outbox, sql, uuid)).waiting === 0, "nothing waits");
  await eventually(() => heard.some(({ number }) => number === 800), "the last arrives");
  assert.deepEqual(numbersOf(heard), range(1, 800));
  assert.equal(new Set(heard.map((notice) => JSON.stringify(notice))).size, 800);
  assert.equal((await standing(outbox, sql, uuid)).delivered, 800);
});

test("why a broker does not take notices is told in words, without the password", async () => {
  const { sql } = database;
  const [broker, guarded] = await Promise.all([
    openMosquitto({ isStarted: false }),
    openMosquitto({ isGuarded: true }),
  ]);
  const outbox = await openOutbox(sql, { NETWORK_RESOLVE_SECONDS: "1" });
  const expected: readonly (readonly [Target, RegExp])[] = [
    [mqttTarget(broker.port), /127\.0\.0\.1:\d+: nothing listens there/],
    [mqttTarget(guarded.port, { username: "drone", password: "geheim:8" }), /username and password|this user/],
    [mqttTarget(1, { url: "mqtt://no-such-host.invalid" }), /no host of the name no-such-host\.invalid/],
    [mqttTarget(1, { url: "mqtt://169.254.169.254:1883" }), /does not connect to that network/],
    [mqttTarget(1, { url: "mqtt://[::ffff:169.254.169.254]:1883" }), /does not connect to that network/],
    [mqttTarget(guarded.port, { url: `mqtts://127.0.0.1:${guarded.port}` }), /mqtts:.*(TLS|SSL|connection)/i],
  ];
  const uuids = await Promise.all(expected.map(([target]) => addDestination(outbox, sql, user, target)));
  for (const uuid of uuids) await enqueue(outbox, sql, uuid, [1]);
  for (const [at, [, reason]] of expected.entries()) {
    let last: string | null = null;
    await eventually(async () => {
      last = (await standing(outbox, sql, uuids[at] ?? "")).lastError;
      return last !== null;
    }, `the reason ${reason}`);
    assert.match(last ?? "", reason);
    assert.ok(!`${last}`.includes("geheim"));
  }
  // Pointed to where they are welcome, they go on.
  await outbox.saveDestination(sql, {
    ...{ uuid: uuids[1] ?? "", userUuid: user },
    target: mqttTarget(guarded.port, { ...guarded.user, qos: 2 }),
  });
  outbox.wake();
  await eventually(async () => (await standing(outbox, sql, uuids[1] ?? "")).delivered === 1, "it is delivered");
  assert.equal((await standing(outbox, sql, uuids[1] ?? "")).lastError, null);
});

test("messages of quality 2 are never more at a time than a broker takes", async () => {
  const { sql } = database;
  await sql`delete from destinations`;
  const broker = await openMosquitto();
  const heard = await listen(broker);
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(outbox, sql, user, mqttTarget(broker.port, { qos: 2 }));
  await enqueue(outbox, sql, uuid, range(1, 200));
  await eventually(async () => (await standing(outbox, sql, uuid)).waiting === 0, "nothing waits");
  await eventually(() => heard.length >= 200, "all arrive");
  assert.deepEqual(
    heard.map(({ number }) => number),
    range(1, 200),
  );
  const [reading] = await outbox.read();
  assert.deepEqual([reading?.attempts, reading?.failures], [200, 0]);
});
