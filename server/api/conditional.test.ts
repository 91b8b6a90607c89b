import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Type } from "typebox";
import { ServiceError } from "../service-error.ts";
import { DATABASE_LIMITS, testDatabase } from "../store/database.fixture.ts";
import type { User } from "../user.ts";
import { define, makeUser, openApp } from "./app.fixture.ts";

const database = await testDatabase();
const users = new Map<string, User>();
const userOf = (key: string): User => {
  const user = users.get(key) ?? makeUser(key);
  users.set(key, user);
  return user;
};
const UUID = "01890000-0000-7000-8000-000000000001";
/** `seen` is changed by the service, `alias` by clients. */
const record = { uuid: UUID, alias: "gate", note: "x".repeat(2000), seen: 0 };
let isThere = true;

const RECORD = Type.Object({
  ...{ uuid: Type.String(), alias: Type.String(), note: Type.String(), seen: Type.Integer() },
});
const answers = { 200: { description: "The record.", schema: RECORD } };
const PATH = "/thing/{thing_uuid}";
const app = await openApp(
  [
    define("GET", PATH, "readThing", {
      ...{ summary: "Read", answers, errors: ["source_not_found"] },
      async handle() {
        if (!isThere) throw new ServiceError("source_not_found", { detail: "it was deleted" });
        return { status: 200, body: { ...record } };
      },
    }),
    define("PATCH", PATH, "changeThing", {
      ...{ summary: "Change", answers, body: Type.Object({ alias: Type.String({ maxLength: 100 }) }) },
      async handle({ body }) {
        await database.sql`select pg_sleep(0.02)`;
        record.alias = body.alias;
        return { status: 200, body: { ...record } };
      },
    }),
    define("DELETE", PATH, "deleteThing", {
      ...{ summary: "Delete", answers, errors: ["source_not_found"] },
      handle() {
        isThere = false;
        return { status: 200, body: { ...record } };
      },
    }),
  ],
  { sql: database.sql, authenticate: async (key) => userOf(key ?? "") },
);
after(async () => {
  await app.close(0);
  await database.close();
});

const call = (method: string, headers: Readonly<Record<string, string>> = {}, alias?: string) =>
  app.call(`/thing/${UUID}`, {
    method,
    headers: { api_key: "ada", ...(alias !== undefined && { "content-type": "application/json" }), ...headers },
    ...(alias !== undefined && { body: JSON.stringify({ alias }) }),
  });
const tagOf = async (): Promise<string> => (await call("GET")).headers.get("etag") ?? assert.fail();

test("an answer that the client has already is 304 without a body, until anything changes", async () => {
  const tag = await tagOf();
  assert.match(tag, /^"[\w-]{16}\.[\w-]{24}"$/);
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
    const answer = await call("GET", { "if-none-match": known });
    assert.deepEqual([answer.status, await answer.text(), answer.headers.get("etag")], [304, "", tag]);
  }
  assert.equal((await call("HEAD", { "if-none-match": tag })).status, 304);
  record.seen += 1;
  const changed = await call("GET", { "if-none-match": tag });
  assert.equal(changed.status, 200);
  assert.equal(((await changed.json()) as typeof record).seen, 1);
  assert.notEqual(changed.headers.get("etag"), tag);
});

test("a change of what was read before succeeds, also if the service has changed the record since", async () => {
  const tag = await tagOf();
  record.seen += 1;
  const changed = await call("PATCH", { "if-match": tag }, "yard");
  assert.equal(changed.status, 200);
  const next = changed.headers.get("etag") ?? "";
  assert.equal((await call("PATCH", { "if-match": next }, "gate")).status, 200);
});

test("a change of what another client has changed is 412, and changes nothing", async () => {
  const tag = await tagOf();
  assert.equal((await call("PATCH", {}, "theirs")).status, 200);
  for (const method of ["PATCH", "DELETE"]) {
    const answer = await call(method, { "if-match": tag }, method === "PATCH" ? "mine" : undefined);
    assert.equal(answer.status, 412);
    assert.equal(((await answer.json()) as { code: string }).code, "precondition_failed");
  }
  assert.deepEqual([record.alias, isThere], ["theirs", true]);
  assert.equal((await call("PATCH", { "if-match": "*" }, "any")).status, 200);
});

test("of clients that change the same version at once, one succeeds", async () => {
  const tag = await tagOf();
  const answers = await Promise.all([1, 2, 3, 4].map((i) => call("PATCH", { "if-match": tag }, `client ${i}`)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412]);
});

test("changes of more keys at once than the database has connections do not wait for each other's connections", {
  timeout: 30_000,
}, async () => {
  const keys = Array.from({ length: DATABASE_LIMITS.connections + 2 }, (_, i) => `key${i}`);
  const answers = await Promise.all(keys.map((api_key) => call("PATCH", { "if-match": "*", api_key }, "gate")));
  assert.deepEqual(
    answers.map(({ status }) => status),
    keys.map(() => 200),
  );
});

test("a record that does not exist is 404", async () => {
  const tag = await tagOf();
  assert.equal((await call("DELETE", { "if-match": tag })).status, 200);
  assert.equal((await call("DELETE", { "if-match": tag })).status, 404);
});
