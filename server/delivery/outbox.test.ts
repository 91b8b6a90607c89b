/** The outbox on a real database. */
import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { Sql } from "../store/client.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { insertDeliveries, readQueue } from "../store/deliveries.ts";
import {
  claimDestinations,
  readStatuses,
  releaseIdle,
  removeDestination,
  requeueDestination,
  saveDestination,
  type Target,
} from "../store/destinations.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { newUuid } from "../uuid.ts";
import {
  addDestination,
  addUser,
  enqueue,
  LIMITS,
  makeOutbox,
  newDelivery,
  openOutbox,
  range,
  statusOf,
  webhookTarget,
} from "./outbox.fixture.ts";
import { openReceiver, type Received, status } from "./receiver.fixture.ts";

let database: TestDatabase;
let sql: Sql;
let user = "";

before(async () => {
  database = await testDatabase();
  sql = database.sql;
  user = await addUser(sql);
});
after(() => database.close());

const numberOf = ({ body }: Received): number => JSON.parse(body).number;
const nowhere = webhookTarget("http://127.0.0.1:1/");

test("drops and counts the oldest of a full queue, and delivers the newest in order", async () => {
  const receiver = await openReceiver({ "/hook": status(200) });
  const outbox = await openOutbox(sql, { DELIVERY_QUEUED: "200" }, { limits: { bodyBytes: 1024 } });
  const uuid = await addDestination(sql, user, nowhere);
  for (const at of range(0, 9)) await enqueue(outbox, sql, uuid, range(at * 50 + 1, at * 50 + 50));
  await sql.begin((tx) => outbox.enqueue(tx, [newDelivery(uuid, { text: "x".repeat(1025) })]));
  const full = await statusOf(sql, uuid);
  assert.ok(full.waiting >= 198 && full.waiting <= 202, `${full.waiting} wait`);
  assert.equal(full.waiting + full.dropped, 501);
  const [counted] = await sql<{ count: number }[]>`select count(*) from parcels where destination_uuid = ${uuid}`;
  assert.equal(full.waiting, counted?.count);
  await saveDestination(sql, { uuid, userUuid: user, target: webhookTarget(`${receiver.url}/hook`) });
  outbox.wake();
  await eventually(async () => (await statusOf(sql, uuid)).waiting === 0, "nothing waits");
  const numbers = receiver.received.map(numberOf);
  assert.deepEqual(numbers, range(500 - numbers.length + 1, 500));
});

test("limits the queues of one user together, and drops only its own oldest deliveries", async () => {
  const bounds = { DELIVERY_QUEUED_PER_KEY: "100", DELIVERY_QUEUED_BYTES_PER_KEY: "65536" };
  const outbox = await openOutbox(sql, bounds);
  const [crowd, wordy] = [await addUser(sql), await addUser(sql)];
  const addTo = (owner: string) => addDestination(sql, owner, nowhere);
  const [first, second, good, long] = [await addTo(crowd), await addTo(crowd), await addTo(user), await addTo(wordy)];
  await enqueue(outbox, sql, good, range(1, 90));
  await enqueue(outbox, sql, first, range(1, 80));
  await enqueue(outbox, sql, second, range(1, 90));
  await sql.begin(async (tx) => {
    const deliveries = range(1, 20).map((number) => newDelivery(long, { number, text: "x".repeat(8_000) }));
    await outbox.enqueue(tx, deliveries);
    // The queues are trimmed before the transaction ends, too.
    await wait(3 * LIMITS.lookMs);
  });
  outbox.wake();
  const countOf = async (uuid: string) => (await sql`select seq from parcels where destination_uuid = ${uuid}`).length;
  await eventually(
    async () => (await countOf(first)) + (await countOf(second)) <= 100,
    "the oldest of the first user are gone",
  );
  await eventually(async () => (await countOf(long)) <= 8, "so are those of the user with long bodies");
  assert.deepEqual([await countOf(first), await countOf(second), await countOf(good)], [10, 90, 90]);
  assert.equal((await statusOf(sql, first)).dropped, 70);
  assert.equal((await statusOf(sql, first)).waiting, 10);
  await sql`delete from users where uuid in ${sql([crowd, wordy])}`;
  await removeDestination(sql, good);
});

test("never sends what was rolled back, and stores an id once", async () => {
  const receiver = await openReceiver({ "/hook": status(200) });
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(sql, user, webhookTarget(`${receiver.url}/hook`));
  const delayed = { ...newDelivery(uuid, { number: 1 }), dueAt: new Date(Date.now() + 400) };
  await assert.rejects(
    sql.begin(async (tx) => {
      await outbox.enqueue(tx, [newDelivery(uuid, { number: 0 })]);
      throw new Error("not after all");
    }),
  );
  await outbox.enqueue(sql, [delayed, { ...delayed, body: JSON.stringify({ number: 7 }) }]);
  await outbox.enqueue(sql, [delayed, newDelivery(uuid, { number: 2 })]);
  outbox.wake();
  await eventually(async () => (await statusOf(sql, uuid)).waiting === 0, "nothing waits");
  assert.deepEqual(receiver.received.map(numberOf), [1, 2]);
});

test("does not release a destination that was changed after its queue was read", async () => {
  const [uuid, nodeUuid] = [newUuid(), newUuid()];
  const target = webhookTarget("http://127.0.0.1:1/", { spacingMs: 3_600_000 });
  await saveDestination(sql, { uuid, userUuid: user, target });
  await insertDeliveries(sql, [{ ...newDelivery(uuid, { number: 1 }), dueAt: new Date() }], 10);
  const slots = { healthy: 1, failing: 1 };
  const claim = () =>
    claimDestinations(sql, { nodeUuid, leaseSeconds: 60 }, { mqtt: slots, webhook: slots, email: slots });
  assert.deepEqual(
    (await claim()).map((claimed) => claimed.uuid),
    [uuid],
  );
  await sql`update parcels set due_at = now() + interval '1 hour' where destination_uuid = ${uuid}`;
  const held = { uuid, nodeUuid, target };
  const queue = await readQueue(sql, held, { count: 10, bytes: 1000 });
  assert.ok(queue !== null && queue.deliveries.length === 0 && !queue.isChanged);
  await saveDestination(sql, { uuid, userUuid: user, target: { ...target, spacingMs: 0 } as Target });
  assert.equal(await releaseIdle(sql, { ...held, ...queue }), false);
  assert.equal((await readQueue(sql, held, { count: 10, bytes: 1000 }))?.isChanged, true);
  await requeueDestination(sql, uuid, nodeUuid);
  // It is due now, rounded to milliseconds: perhaps a little later.
  let [claimed] = await claim();
  while (claimed === undefined) [claimed] = await claim();
  assert.deepEqual(claimed.target, { ...target, spacingMs: 0 });
  await removeDestination(sql, uuid);
});

test("amends a delivery until it is being sent, and loses no amendment", async () => {
  const receiver = await openReceiver({ "/hook": status(200) });
  const outbox = await openOutbox(sql);
  const uuid = await addDestination(sql, user, webhookTarget(`${receiver.url}/hook`));
  const first = newDelivery(uuid, { number: 0 });
  const dueAt = new Date(Date.now() + 300);
  await outbox.enqueue(sql, [{ ...first, dueAt: new Date(Date.now() + 3_600_000) }]);
  let kept = 0;
  for (let number = 1; await outbox.amend(sql, { ...first, body: JSON.stringify({ number }), dueAt }); number++) {
    kept = number;
    outbox.wake();
  }
  assert.ok(kept > 0);
  await eventually(async () => (await statusOf(sql, uuid)).waiting === 0, "nothing waits");
  assert.deepEqual(receiver.received.map(numberOf), [kept]);
  assert.equal(await outbox.amend(sql, { ...first, body: JSON.stringify({ number: 0 }) }), false);
  assert.equal(await outbox.amend(sql, newDelivery(newUuid(), {})), false);
});

test("receivers that hang do not block others, and a thousand offline ones cost little", async () => {
  const held = new Set<Socket>();
  const mute = createServer((socket) => {
    held.add(socket.on("error", () => {}));
    socket.once("close", () => held.delete(socket));
  });
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  after(() => {
    mute.close();
    for (const socket of held) socket.destroy();
  });
  const { port } = mute.address() as import("node:net").AddressInfo;
  const receiver = await openReceiver({ "/hook": status(200) });
  const outbox = await openOutbox(sql, { DELIVERY_AT_ONCE: "8" }, { limits: { answerSeconds: 600 } });
  const hanging = await Promise.all(
    range(1, 40).map(() => addDestination(sql, user, webhookTarget(`http://127.0.0.1:${port}/`))),
  );
  const away = range(1, 1000).map(() => newUuid());
  await sql.begin(async (tx) => {
    await tx`
      insert into destinations (uuid, user_uuid, kind, target)
      select value::uuid, ${user}, 'webhook', ${tx.typed.sealed(nowhere)}
      from jsonb_array_elements_text(${tx.json(away)})`;
    await outbox.enqueue(
      tx,
      [...away, ...hanging].map((uuid) => newDelivery(uuid, { number: 1 })),
    );
    // As after their first attempt.
    await tx`update destinations set failures = 1 where uuid in ${tx([...away, ...hanging])}`;
  });
  const good = await addDestination(sql, user, webhookTarget(`${receiver.url}/hook`));
  outbox.wake();
  for (const number of range(1, 5)) {
    await enqueue(outbox, sql, good, [number]);
    await eventually(async () => (await statusOf(sql, good)).delivered === number, "the good one has it");
  }
  assert.deepEqual(receiver.received.map(numberOf), range(1, 5));
  assert.ok(held.size <= 2, `${held.size} requests hang at once`);
  assert.equal((await outbox.read()).find(({ kind }) => kind === "webhook")?.waiting, 1040);
  await sql`delete from destinations where uuid in ${sql([...away, ...hanging])}`;
});

test("slow receivers of one user do not make another user wait", async () => {
  const slow = range(1, 12).map((at) => `/slow/${at}`);
  const answerLate: Parameters<typeof openReceiver>[0][string] = (response) =>
    void setTimeout(() => response.writeHead(200).end(), 150);
  const receiver = await openReceiver({
    ...Object.fromEntries(slow.map((path) => [path, answerLate])),
    "/quick": status(200),
  });
  const outbox = await openOutbox(sql, { DELIVERY_AT_ONCE: "4" });
  const crowd = await addUser(sql);
  for (const path of slow) {
    const uuid = await addDestination(sql, crowd, webhookTarget(`${receiver.url}${path}`));
    await enqueue(outbox, sql, uuid, range(1, 20));
  }
  await eventually(() => receiver.received.length >= 3, "the slots are used");
  const quick = await addDestination(sql, user, webhookTarget(`${receiver.url}/quick`));
  await enqueue(outbox, sql, quick, [1]);
  await eventually(() => receiver.at("/quick").length === 1, "the quick one has it");
  const counts = slow.map((path) => receiver.at(path).length);
  assert.ok(counts.includes(0), `it had to wait for all: ${counts}`);
  assert.ok(Math.max(...counts) < 20, `it had to wait for all of one: ${counts}`);
  await sql`delete from users where uuid = ${crowd}`;
});

test("receivers of one user that hang leave slots to other users", async () => {
  const mute = await openReceiver({ "/mute": () => {}, "/hook": status(200) });
  const outbox = await openOutbox(sql, { DELIVERY_AT_ONCE: "8" }, { limits: { answerSeconds: 600 } });
  const [crowd, second] = [await addUser(sql), await addUser(sql)];
  const subscribe = async (owner: string, path: string, count: number) => {
    const uuids = range(1, count).map(() => newUuid());
    await sql.begin(async (tx) => {
      for (const uuid of uuids)
        await saveDestination(tx, { uuid, userUuid: owner, target: webhookTarget(`${mute.url}${path}`) });
      await outbox.enqueue(
        tx,
        uuids.map((uuid) => newDelivery(uuid, { number: 1 })),
      );
    });
    outbox.wake();
    return uuids;
  };
  await subscribe(crowd, "/mute", 30);
  await eventually(() => mute.at("/mute").length >= 3, "the first user has its slots");
  await subscribe(second, "/mute", 30);
  await eventually(() => mute.at("/mute").length >= 4, "the second user has one");
  const [good = ""] = await subscribe(user, "/hook", 1);
  for (const number of range(2, 4)) {
    await eventually(async () => (await statusOf(sql, good)).delivered === number - 1, "it is delivered");
    await enqueue(outbox, sql, good, [number]);
  }
  assert.equal(mute.at("/mute").length, 4, "half of the six healthy slots, and half of what that leaves");
  const trials = range(1, 8).map(() =>
    outbox.attempt(
      { uuid: newUuid(), userUuid: crowd, target: webhookTarget(`${mute.url}/mute`) },
      newDelivery("", {}),
    ),
  );
  const refused = await Promise.race(trials);
  assert.match(refused.detail, /too many receivers/);
  const target = webhookTarget(`${mute.url}/hook`);
  const tried = await outbox.attempt({ uuid: newUuid(), userUuid: user, target }, newDelivery("", {}));
  assert.equal(tried.delivered, true, tried.detail);
  await sql`delete from users where uuid in ${sql([crowd, second])}`;
});

test("two servers on one database deliver each once and in order, and take over from each other", async () => {
  const receiver = await openReceiver({
    "/hook": (response) => void setTimeout(() => response.writeHead(200).end(), 1),
    "/stuck": (response, _, earlier) => void (earlier > 0 && response.writeHead(200).end()),
  });
  const limits = { leaseSeconds: 1, answerSeconds: 600 };
  const [one, other] = [await makeOutbox(sql, {}, { limits }), await makeOutbox(sql, {}, { limits })];
  const uuid = await addDestination(sql, user, webhookTarget(`${receiver.url}/hook`));
  for (const at of range(0, 9)) await enqueue(at % 2 ? one : other, sql, uuid, range(at * 10 + 1, at * 10 + 10));
  await eventually(async () => (await statusOf(sql, uuid)).waiting === 0, "nothing waits");
  assert.deepEqual(receiver.at("/hook").map(numberOf), range(1, 100));

  // A killed server holds its destinations until the lease expires.
  const dead = await addDestination(sql, user, webhookTarget(`${receiver.url}/hook`));
  await sql`
    update destinations set node_uuid = ${newUuid()}, lease_until = now() + interval '400 ms' where uuid = ${dead}`;
  await enqueue(other, sql, dead, [101]);
  const [row] = await sql<
    { isHeld: boolean }[]
  >`select lease_until > now() as is_held from destinations where uuid = ${dead}`;
  if (row?.isHeld) assert.ok(!receiver.at("/hook").some((received) => numberOf(received) === 101));
  await eventually(async () => (await statusOf(sql, dead)).delivered === 1, "it is taken over");

  // A server that stops releases what it was about to send.
  const stuck = await addDestination(sql, user, webhookTarget(`${receiver.url}/stuck`));
  await enqueue(one, sql, stuck, [1]);
  await eventually(() => receiver.at("/stuck").length === 1, "it is being sent");
  await Promise.all([one.close(), other.close()]);
  assert.equal((await statusOf(sql, stuck)).lastError, null);
  await openOutbox(sql, {}, { limits });
  await eventually(async () => (await statusOf(sql, stuck)).delivered === 1, "the next one sends it");
  const ids = receiver.at("/stuck").map(({ headers }) => headers["webhook-id"]);
  assert.equal(new Set(ids).size, 1);
});

test("removes destinations and their queues with their user", async () => {
  const outbox = await openOutbox(sql);
  const leaving = await addUser(sql);
  const [uuid, removed] = [await addDestination(sql, leaving, nowhere), await addDestination(sql, user, nowhere)];
  for (const one of [uuid, removed]) await enqueue(outbox, sql, one, [1, 2, 3]);
  await removeDestination(sql, removed);
  await sql`delete from users where uuid = ${leaving}`;
  assert.equal((await readStatuses(sql, [uuid, removed])).size, 0);
  const [{ count } = { count: -1 }] = await sql<{ count: number }[]>`
    select count(*) from parcels where destination_uuid in ${sql([uuid, removed])}`;
  assert.equal(count, 0);
});

test("while nothing is due, one query finds that out", async () => {
  await sql`delete from destinations`;
  const counts = { looks: 0, claims: 0, trims: 0 };
  const counting = new Proxy(sql, {
    apply(target, self, args) {
      const text = String((args as unknown[])[0]);
      if (text.includes("min(greatest(wake_at")) counts.looks += 1;
      if (text.includes("with free as")) counts.claims += 1;
      if (text.includes("having sum(")) counts.trims += 1;
      return Reflect.apply(target as never, self, args as never);
    },
  });
  const outbox = await openOutbox(counting, {}, { limits: { lookMs: 20 } });
  await eventually(async () => counts.looks >= 10, "it looks again and again");
  assert.deepEqual([counts.claims, counts.trims], [1, 1], "what an earlier server has left");
  const receiver = await openReceiver({ "/hook": status(200) });
  const uuid = await addDestination(sql, user, webhookTarget(`${receiver.url}/hook`));
  await enqueue(outbox, counting, uuid, [1, 2]);
  await eventually(async () => (await statusOf(sql, uuid)).delivered === 2, "both are delivered");
  await eventually(async () => counts.trims >= 2, "the queues are trimmed after new deliveries");
  // By another node, which has ended before it was sent.
  await sql.begin((tx) => insertDeliveries(tx, [newDelivery(uuid, { number: 3 })], 100));
  await eventually(async () => (await statusOf(sql, uuid)).delivered === 3, "it is found");
});
