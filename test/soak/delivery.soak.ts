/**
 * Notices under load while their broker and their webhook are disconnected, fail and recover, and servers are killed:
 * every committed notice arrives, in order, and duplicates are byte-identical.
 */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { Gate } from "../../server/delivery/gate.fixture.ts";
import { addUser, mqttTarget, webhookTarget } from "../../server/delivery/outbox.fixture.ts";
import type { Sql } from "../../server/store/client.ts";
import { testDatabase } from "../../server/store/database.fixture.ts";
import { saveDestination, type Target } from "../../server/store/destinations.ts";
import { newUuid } from "../../server/uuid.ts";
import { runChild } from "../child.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { progress, rounds, seededRandom } from "./rounds.fixture.ts";

const { file: CHILD, execArgv } = runChild(new URL("delivery.child.ts", import.meta.url));
const LOAD_MS = rounds(0, 60_000);
/** Maximum number between two faults. */
const NOTICES = rounds(100, 300);
/** Turns a hang into a failure. */
const LIMIT_MS = 120_000;

interface Promised {
  readonly destinationUuid: string;
  readonly id: string;
  readonly body: string;
}

/** Received notices by receiver, in order, including duplicates. */
class Arrivals {
  readonly #bodies = new Map<string, string[]>();

  add(uuid: string, body: string): void {
    const bodies = this.#bodies.get(uuid) ?? [];
    bodies.push(body);
    this.#bodies.set(uuid, bodies);
  }

  of(uuid: string): readonly string[] {
    return this.#bodies.get(uuid) ?? [];
  }

  /** Without byte-identical duplicates. */
  distinct(uuid: string): readonly string[] {
    return [...new Set(this.of(uuid))];
  }
}

async function startServer(url: string): Promise<ChildProcess> {
  const child = fork(CHILD, [url], { execArgv: [...execArgv], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit").then(() => assert.fail("the server exited"));
  await Promise.race([once(child, "message"), ended]);
  ended.catch(() => {});
  return child;
}

async function countPromised(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*) from promised`;
  return row?.count ?? 0;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

test("every committed notice arrives in order while receivers are unreachable and servers are killed", {
  timeout: LOAD_MS * 4 + 2 * LIMIT_MS,
}, async (t) => {
  const random = seededRandom();
  const database = await testDatabase();
  t.after(() => database.close());
  const { sql, url } = database;
  const arrivals = new Arrivals();
  const broker = await openMosquitto();
  const subscriber = await broker.connect();
  subscriber.on("message", (topic, payload) => arrivals.add(topic, payload.toString()));
  await subscriber.subscribeAsync("#", { qos: 1 });
  let isFailing = false;
  const hook = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (isFailing) return void response.writeHead(500).end();
    arrivals.add((request.url ?? "").slice(1), Buffer.concat(chunks).toString());
    response.end();
  });
  hook.on("clientError", (_, socket) => socket.destroy());
  await once(hook.listen(0, "127.0.0.1"), "listening");
  t.after(() => hook.close().closeAllConnections());
  const gates = [await Gate.open(broker.port), await Gate.open((hook.address() as AddressInfo).port)] as const;
  t.after(() => Promise.all(gates.map((gate) => gate.cut())));

  await sql`create table promised (destination_uuid uuid, seq bigint, id text, body text)`;
  const userUuid = await addUser(sql);
  const targets: readonly ((uuid: string) => Target)[] = [
    (topic) => mqttTarget(gates[0].port, { topic }),
    (topic) => mqttTarget(gates[0].port, { topic, qos: 2 }),
    (path) => webhookTarget(`http://127.0.0.1:${gates[1].port}/${path}`),
    (path) => webhookTarget(`http://127.0.0.1:${gates[1].port}/${path}`),
  ];
  for (const target of targets) {
    const uuid = newUuid();
    await saveDestination(sql, { uuid, userUuid, target: target(uuid) });
  }

  // Two servers: each takes over the notices of the other when it is killed.
  const servers = await Promise.all([startServer(url), startServer(url)]);
  t.after(() => servers.map((server) => server.kill("SIGKILL")));
  const load = async (amount: number): Promise<void> => {
    const before = await countPromised(sql);
    while ((await countPromised(sql)) < before + amount) await wait(20);
  };
  const startedMs = performance.now();
  let kills = 0;
  do {
    progress("load", Math.round(performance.now() - startedMs), LOAD_MS);
    const gate = gates[random.next() < 0.5 ? 0 : 1];
    await load(NOTICES * random.next());
    await gate.cut();
    isFailing = random.next() < 0.3;
    await load(NOTICES * random.next());
    const victim = servers.shift();
    assert.ok(victim !== undefined);
    await kill(victim);
    kills += 1;
    await load(NOTICES * random.next());
    await gate.open();
    isFailing = false;
    if (performance.now() - startedMs < LOAD_MS) servers.push(await startServer(url));
  } while (performance.now() - startedMs < LOAD_MS);
  for (const server of servers) {
    const loaded = once(server, "message");
    server.send("stop");
    await loaded;
  }

  const deadlineMs = performance.now() + LIMIT_MS;
  for (;;) {
    const [left] = await sql<{ count: number }[]>`select count(*) from parcels`;
    if (left?.count === 0) break;
    const standings = await sql`select last_error, failures, wake_at, lease_until, delivered from destinations`;
    assert.ok(performance.now() < deadlineMs, `${left?.count} notices are still queued: ${JSON.stringify(standings)}`);
    await wait(50);
  }
  const promised = await sql<
    Promised[]
  >`select destination_uuid, id, body from promised order by destination_uuid, seq`;
  const byReceiver = new Map<string, Promised[]>();
  for (const notice of promised) {
    const notices = byReceiver.get(notice.destinationUuid) ?? [];
    notices.push(notice);
    byReceiver.set(notice.destinationUuid, notices);
  }
  assert.equal(byReceiver.size, targets.length);
  for (const [uuid, notices] of byReceiver) {
    const bodies = notices.map(({ body }) => body);
    // The broker forwards to its subscriber with a delay.
    while (arrivals.distinct(uuid).length < bodies.length && performance.now() < deadlineMs) await wait(20);
    assert.deepEqual(arrivals.distinct(uuid), bodies, `seed ${random.seed}`);
  }
  const copies = [...byReceiver.keys()].reduce((sum, uuid) => sum + arrivals.of(uuid).length, 0) - promised.length;
  const { dropped } =
    (await sql<{ dropped: number }[]>`select sum(dropped)::bigint as dropped from destinations`)[0] ?? {};
  assert.equal(dropped, 0);
  t.diagnostic(
    `${promised.length} notices, ${copies} duplicates, ${kills} rounds of a disconnected receiver and a killed server`,
  );
});
