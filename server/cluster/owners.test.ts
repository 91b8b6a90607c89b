import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addSource, addUser } from "../processes/supervisor.fixture.ts";
import { insertProcess } from "../sources/sources.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { newUuid } from "../uuid.ts";
import { ClusterNode } from "./node.ts";
import { Owners } from "./owners.ts";

let database: TestDatabase;
let sql: Sql;
let [own, other, third]: ClusterNode[] = [];
let processUuid: string;

const join = (url: string | null): Promise<ClusterNode> =>
  ClusterNode.join({ sql, log: silentLog, isAlone: false, limits: { freshMs: 0 } }, { url });

before(async () => {
  database = await testDatabase();
  sql = database.sql;
  own = await join("http://10.0.0.1:8080");
  other = await join("http://10.0.0.2:8080");
  third = await join("http://10.0.0.3:8080");
  const user = await addUser(sql);
  processUuid = await insertProcess(sql, user.uuid, await addSource(sql, user), "running");
});
after(async () => {
  for (const node of [own, other, third]) await node?.leave();
  await database.close();
});

const give = (node: ClusterNode | undefined, fence: number) =>
  sql`update processes set node_uuid = ${node?.uuid ?? null}, fence = ${fence} where uuid = ${processUuid}`;
const open = (): Owners => new Owners(own ?? assert.fail(), sql);

test("finds the other node of a process with its claim; none for an own, a free, an unknown and an ended one", async () => {
  await give(other, 3);
  const found = await open().find(processUuid);
  assert.deepEqual([found?.node.uuid, found?.node.url, found?.fence], [other?.uuid, "http://10.0.0.2:8080", 3]);
  await give(own, 4);
  assert.equal(await open().find(processUuid), null);
  await give(undefined, 5);
  assert.equal(await open().find(processUuid), null);
  assert.equal(await open().find(newUuid()), null);
  await give(other, 6);
  await sql`update processes set state = 'finished' where uuid = ${processUuid}`;
  assert.equal(await open().find(processUuid), null);
  await sql`update processes set state = 'running' where uuid = ${processUuid}`;
});

test("an owner is used for a while, unless a fresh one is asked for", async () => {
  const owners = open();
  await give(other, 7);
  assert.equal((await owners.find(processUuid))?.fence, 7);
  await give(third, 8);
  // Read within the same instant: the cache is younger than a second.
  assert.equal((await owners.find(processUuid))?.node.uuid, other?.uuid);
  const fresh = await owners.find(processUuid, true);
  assert.deepEqual([fresh?.node.uuid, fresh?.fence], [third?.uuid, 8]);
  assert.equal((await owners.find(processUuid))?.node.uuid, third?.uuid, "the fresh one is cached");
});

test("a lost node, and one that does not listen yet, are not found", async () => {
  await give(other, 9);
  await sql`update nodes set lease_until = now() - interval '1 second' where uuid = ${other?.uuid ?? ""}`;
  assert.equal(await open().find(processUuid), null);
  await other?.renew();
  assert.equal((await open().find(processUuid))?.fence, 9);
  other?.update({ url: null });
  await other?.renew();
  assert.equal(await open().find(processUuid), null);
});

test("requests for many processes at once share a query", async () => {
  let queries = 0;
  const counting = new Proxy(sql, {
    apply(target, self, args) {
      if (String((args as unknown[])[0]).includes("from processes")) queries += 1;
      return Reflect.apply(target as never, self, args as never);
    },
  });
  const owners = new Owners(own ?? assert.fail(), counting);
  await Promise.all(Array.from({ length: 50 }, () => owners.find(newUuid())));
  assert.ok(queries <= 2, `${queries} queries`);
});
