import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addUser } from "../processes/supervisor.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { addNode } from "../store/nodes.fixture.ts";
import { expireNodes, listNodes, NODE_LEASE } from "../store/nodes.ts";
import { newUuid } from "../uuid.ts";
import { ClusterNode } from "./node.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await testDatabase();
  sql = database.sql;
});
after(() => database.close());

test("frees the upload reservations of a node whose lease has ended", async () => {
  const user = await addUser(sql);
  const silent = newUuid();
  await addNode(sql, silent);
  await sql`update nodes set lease_until = now() - interval '1 second' where uuid = ${silent}`;
  const node = await ClusterNode.join({ sql, log: silentLog, isAlone: false });
  for (const nodeUuid of [silent, node.uuid]) {
    await sql`insert into upload_reservations ${sql({ uuid: newUuid(), userUuid: user.uuid, nodeUuid, bytes: 5 })}`;
  }
  await expireNodes(sql);
  const left = await sql<{ nodeUuid: string }[]>`select node_uuid from upload_reservations`;
  assert.deepEqual(
    left.map(({ nodeUuid }) => nodeUuid),
    [node.uuid],
  );
  // Shown as lost for a while.
  assert.deepEqual(
    (await listNodes(sql)).map(({ uuid, isLive }) => [uuid, isLive]),
    [
      [silent, false],
      [node.uuid, true],
    ],
  );
  await sql`update nodes set lease_until = now() - interval '1 hour' where uuid = ${silent}`;
  await expireNodes(sql);
  await node.leave();
  assert.equal((await sql`select from nodes`).length, 0);
  assert.equal((await sql`select from upload_reservations`).length, 0);
});

test("a node can miss a renewal without losing its lease", () =>
  assert.ok(NODE_LEASE.renewMs * 2 <= NODE_LEASE.leaseSeconds * 1000));

test("a node renews itself, and registers again after it expired", async () => {
  const node = await ClusterNode.join({ sql, log: silentLog, isAlone: false, limits: { renewMs: 20 } });
  await sql`delete from nodes`;
  while ((await sql`select from nodes`).length === 0) await new Promise(setImmediate);
  assert.deepEqual([...(await sql`select uuid from nodes`)], [{ uuid: node.uuid }]);
  await node.leave();
});
