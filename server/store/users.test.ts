import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { ServiceError } from "../service-error.ts";
import { newUuid } from "../uuid.ts";
import { type TestDatabase, testDatabase } from "./database.fixture.ts";
import {
  allocate,
  createFirstUser,
  createUser,
  findUserByKeyId,
  findUserByName,
  listUsers,
  type NewUser,
  readSubscription,
  revokeUser,
  toUser,
  type UserRow,
} from "./users.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());

const describeUser = (username: string, changes: Partial<NewUser> = {}): NewUser => ({
  username,
  masterUuid: null,
  product: "standard",
  keyId: randomBytes(6).toString("hex"),
  keySha256: createHash("sha256").update(username).digest(),
  hasTrackLogger: true,
  hasRecording: false,
  hasEnhancement: false,
  isGraphAuthor: false,
  isOperator: false,
  limits: {},
  expiresAt: null,
  allocatedMs: 0,
  pendingMs: 0,
  ...changes,
});

async function make(username: string, changes: Partial<NewUser> = {}): Promise<UserRow> {
  const user = await createUser(database.sql, describeUser(username, changes));
  assert.ok(typeof user !== "string", `${username}: ${user}`);
  return user;
}

const refusedWith = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

test("of several servers that start on an empty database one creates the first user, and none later", async () => {
  const { sql } = database;
  const made = await Promise.all(["one", "two", "three"].map((name) => createFirstUser(sql, describeUser(name))));
  const [first, ...others] = made.filter((user) => user !== null);
  assert.ok(first !== undefined);
  assert.deepEqual(others, []);
  await revokeUser(sql, first.uuid);
  assert.equal(await createFirstUser(sql, describeUser("four")), null);
});

test("reads a user as it was created", async () => {
  const expiresAt = new Date("2030-01-02T03:04:05.678Z");
  const wanted = describeUser("whole", {
    expiresAt,
    limits: { processes: 9 },
    allocatedMs: 3_600_000_000_000,
    pendingMs: 1,
  });
  const made = await createUser(database.sql, wanted);
  assert.ok(typeof made !== "string");
  const found = await findUserByKeyId(database.sql, wanted.keyId);
  assert.deepEqual(found, made);
  assert.deepEqual({ ...made, ...wanted }, made);
  assert.equal(made.revokedAt, null);
  assert.deepEqual(await findUserByName(database.sql, "whole"), made);
  assert.equal(await findUserByKeyId(database.sql, "nobody"), null);
  assert.equal(await findUserByName(database.sql, "nobody"), null);
});

test("a user has the configured limits, overridden by its own", async () => {
  const configured = {
    ...{ processes: 4, sources: 100, outputsRegistered: 100, outputsActive: 8, alerts: 100, subscriptions: 10 },
    ...{ videoBytes: 1, storageBytes: 2, requestsPerMinute: 3, socketClients: 1 },
  };
  const user = toUser(await make("limited", { limits: { sources: 5 } }), configured);
  assert.deepEqual(user.limits, { ...configured, sources: 5 });
  assert.deepEqual(Object.keys(user).includes("keySha256"), false);
});

test("a name is used once, also by simultaneous calls", async () => {
  const made = await Promise.all([1, 2, 3].map(() => createUser(database.sql, describeUser("twin"))));
  assert.deepEqual(
    made.filter((user) => typeof user === "string"),
    ["username_taken", "username_taken"],
  );
});

test("the master of a child must be neither a child nor revoked", async () => {
  const master = await make("master-a");
  const child = await make("child-a", { masterUuid: master.uuid });
  const refused = async (masterUuid: string) => createUser(database.sql, describeUser("child-b", { masterUuid }));
  assert.equal(await refused(child.uuid), "no_such_master");
  assert.equal(await refused(newUuid()), "no_such_master");
  await revokeUser(database.sql, master.uuid);
  assert.equal(await refused(master.uuid), "no_such_master");
});

test("lists children after their master", async () => {
  const first = await make("list-first");
  const second = await make("list-second");
  await make("list-second-child", { masterUuid: second.uuid });
  await make("list-first-child", { masterUuid: first.uuid });
  const names = (await listUsers(database.sql))
    .map(({ username }) => username)
    .filter((name) => name.startsWith("list-"));
  assert.deepEqual(names, ["list-first", "list-first-child", "list-second", "list-second-child"]);
});

test("a key is revoked once", async () => {
  const { uuid, keyId } = await make("revoked");
  const revoke = async () => (await revokeUser(database.sql, uuid)).map(({ username }) => username);
  assert.deepEqual(await revoke(), ["revoked"]);
  assert.deepEqual(await revoke(), []);
  assert.ok((await findUserByKeyId(database.sql, keyId))?.revokedAt instanceof Date);
});

test("revoking a master revokes its children, also one being created, and no others", async () => {
  const master = await make("ended");
  const names = ["ended-south", "ended-north"];
  for (const name of names) await make(name, { masterUuid: master.uuid });
  const other = await make("unended");
  const late = describeUser("ended-late", { masterUuid: master.uuid });
  const [revoked, made] = await Promise.all([revokeUser(database.sql, master.uuid), createUser(database.sql, late)]);
  const isMade = typeof made !== "string";
  assert.deepEqual(
    revoked.map(({ username }) => username),
    ["ended", ...(isMade ? ["ended-late"] : []), "ended-north", "ended-south"],
  );
  assert.equal((await findUserByKeyId(database.sql, other.keyId))?.revokedAt, null);
});

test("a master allocates pending minutes to itself and its children, all or nothing", async () => {
  const { sql } = database;
  const master = await make("giver", { pendingMs: 600_000 });
  const child = await make("taker", { masterUuid: master.uuid });
  await allocate(sql, { masterUuid: master.uuid, username: "taker", ms: 240_000 });
  await allocate(sql, { masterUuid: master.uuid, username: "giver", ms: 60_000 });
  const tooMuch = allocate(sql, { masterUuid: master.uuid, username: "taker", ms: 300_001 });
  await assert.rejects(tooMuch, refusedWith("minutes_not_pending"));
  assert.equal((await readSubscription(sql, child.uuid))?.remainingMs, 240_000);
  assert.equal((await readSubscription(sql, master.uuid))?.remainingMs, 60_000);
  assert.equal((await readSubscription(sql, master.uuid))?.pendingMs, 300_000);
});

test("only a master allocates minutes, and only to its own children", async () => {
  const { sql } = database;
  const master = await make("owner", { pendingMs: 1000 });
  const child = await make("owned", { masterUuid: master.uuid });
  await make("stranger");
  await make("boundless", { masterUuid: master.uuid, allocatedMs: null });
  const give = (masterUuid: string, username: string) => allocate(sql, { masterUuid, username, ms: 10 });
  await assert.rejects(give(child.uuid, "owned"), refusedWith("master_key_needed"));
  await assert.rejects(give(master.uuid, "stranger"), refusedWith("user_not_found"));
  await assert.rejects(give(master.uuid, "nobody"), refusedWith("user_not_found"));
  await assert.rejects(give(master.uuid, "boundless"), refusedWith("minutes_unlimited"));
  assert.equal((await readSubscription(sql, master.uuid))?.pendingMs, 1000);
});

test("simultaneous calls never allocate more than is pending", async () => {
  const { sql } = database;
  const master = await make("raced", { pendingMs: 100 });
  const names = ["raced", "raced-1", "raced-2", "raced-3"];
  for (const name of names.slice(1)) await make(name, { masterUuid: master.uuid });
  const calls = Array.from({ length: 40 }, (_, i) => names[i % names.length] ?? "");
  const outcomes = await Promise.allSettled(
    calls.map((username) => allocate(sql, { masterUuid: master.uuid, username, ms: 7 })),
  );
  const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  assert.ok(refusals.every(refusedWith("minutes_not_pending")));
  assert.equal(refusals.length, 40 - 14);
  const [sum] = await sql`
    select sum(allocated_ms)::int as given, sum(pending_ms)::int as pending from users where username like 'raced%'`;
  assert.deepEqual({ ...sum }, { given: 98, pending: 2 });
});
