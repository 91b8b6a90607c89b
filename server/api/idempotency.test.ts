import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Type } from "typebox";
import { ServiceError } from "../service-error.ts";
import { testDatabase } from "../store/database.fixture.ts";
import { newUuid } from "../uuid.ts";
import { define, makeUser, openApp, type TestApp } from "./app.fixture.ts";

const database = await testDatabase();
const { sql } = database;
const apps: TestApp[] = [];
after(async () => {
  await Promise.all(apps.map((app) => app.close(0)));
  await database.close();
});

const users = { ada: makeUser("ada"), ben: makeUser("ben") };
for (const { uuid, username } of Object.values(users))
  await sql`
    insert into users (uuid, username, product, key_id, key_sha256, has_track_logger, has_recording, has_enhancement, is_graph_author)
    values (${uuid}, ${username}, 'test', ${username}, sha256(${username}), false, false, false, false)`;

/** What a request does, set by each test. */
const state = { made: 0, act: async (): Promise<void> => {} };

const THING = Type.Object({ uuid: Type.String(), name: Type.String() });

/** Another server on the same database, as after a restart or on another machine. */
async function open(): Promise<TestApp> {
  const create = define("POST", "/things", "createThing", {
    summary: "Create",
    body: Type.Object({ name: Type.String({ maxLength: 100 }), size: Type.Optional(Type.Integer()) }),
    answers: { 201: { description: "Created.", schema: THING } },
    errors: ["sources_limit_reached"],
    async handle({ body }) {
      state.made += 1;
      await state.act();
      return { status: 201, body: { uuid: newUuid(), name: body.name }, headers: { Location: "/things/1" } };
    },
  });
  const app = await openApp([create], { sql, authenticate: async (key: string | null) => users[key as "ada" | "ben"] });
  apps.push(app);
  return app;
}
const app = await open();

const post = (key: string, body: unknown, { to = app, as = "ada" } = {}) =>
  to.call("/things", {
    method: "POST",
    headers: { api_key: as, "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
  });

test("the same request is executed once, and answered equally on every server", async () => {
  state.made = 0;
  const first = await post("one", { name: "a", size: 1 });
  const again = await post("one", { size: 1, name: "a" }, { to: await open() });
  assert.deepEqual([first.status, again.status, state.made], [201, 201, 1]);
  assert.deepEqual(await again.json(), await first.json());
  assert.equal(again.headers.get("location"), "/things/1");
  assert.deepEqual(
    [first, again].map(({ headers }) => headers.get("idempotency-replayed")),
    [null, "true"],
  );
});

test("the key of another user is another key", async () => {
  const [mine, other] = [await post("shared", { name: "a" }), await post("shared", { name: "b" }, { as: "ben" })];
  assert.deepEqual([mine.status, other.status], [201, 201]);
  assert.equal(((await other.json()) as { name: string }).name, "b");
});

test("the key with another body is rejected", async () => {
  await post("body", { name: "a" });
  const other = await post("body", { name: "b" });
  assert.equal(other.status, 422);
  assert.equal(((await other.json()) as { code: string }).code, "idempotency_key_reused");
});

test("of concurrent requests one is executed, and the others are told to retry", async () => {
  state.made = 0;
  let finish = () => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let enter = () => {};
  const entered = new Promise<void>((resolve) => (enter = resolve));
  state.act = async () => {
    enter();
    await finished;
  };
  const running = post("busy", { name: "a" });
  await entered;
  const others = await Promise.all([1, 2, 3].map(() => post("busy", { name: "a" })));
  assert.deepEqual(
    others.map(({ status, headers }) => [status, headers.get("retry-after")]),
    [1, 2, 3].map(() => [409, "1"]),
  );
  finish();
  assert.equal((await running).status, 201);
  state.act = async () => {};
  assert.equal((await post("busy", { name: "a" })).headers.get("idempotency-replayed"), "true");
  assert.equal(state.made, 1);
});

test("a request that failed can be sent again", async () => {
  state.act = async () => {
    throw new ServiceError("sources_limit_reached", { detail: "delete one first" });
  };
  assert.equal((await post("failed", { name: "a" })).status, 403);
  state.act = async () => {};
  const again = await post("failed", { name: "a" });
  assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [201, null]);
});

test("a request whose server died can be sent again when its lease is over", async () => {
  await sql`
    insert into idempotency_keys (user_uuid, key, digest, lease_until)
    select user_uuid, 'died', digest, now() + interval '1 hour' from idempotency_keys where key = 'failed'`;
  assert.equal((await post("died", { name: "a" })).status, 409);
  await sql`update idempotency_keys set lease_until = now() - interval '1 second' where key = 'died'`;
  assert.equal((await post("died", { name: "a" })).status, 201);
});

test("an answer is kept for 24 hours", async () => {
  await post("old", { name: "a" });
  await sql`update idempotency_keys set created_at = now() - interval '25 hours' where key = 'old'`;
  const again = await post("old", { name: "b" });
  assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [201, null]);
  await sql`update idempotency_keys set created_at = now() - interval '25 hours'`;
  await post("new", { name: "a" });
  assert.deepEqual([...(await sql`select key from idempotency_keys`)], [{ key: "new" }]);
});

test("rejects a key that is not text of 1 to 255 characters, and more than 10,000 keys in a day", async () => {
  for (const key of ["a b", "x".repeat(256)]) assert.equal((await post(key, { name: "a" })).status, 422);
  await sql`
    insert into idempotency_keys (user_uuid, key, digest, status, lease_until)
    select ${users.ben.uuid}, 'many ' || i, '', 201, now() from generate_series(1, 10000) as i`;
  assert.equal((await post("another", { name: "a" }, { as: "ben" })).status, 429);
  assert.equal((await post("another", { name: "a" })).status, 201);
});

test("secrets in answers are sealed in the database", async () => {
  await post("sealed", { name: "whsec_secret" });
  const [row] = await sql<{ body: string }[]>`select body::text as body from idempotency_keys where key = 'sealed'`;
  assert.match(row?.body ?? "", /^sealed\./);
});
