import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Scope } from "../../schemas/api/keys.ts";
import type { Authorization, AuthorizeRequest } from "../../schemas/hub.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { addKey } from "../keys/api-keys.ts";
import { Authenticator, findKeyIn } from "../keys/authenticate.ts";
import { createKey } from "../keys/keys.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { findUserByName } from "../store/users.ts";
import { Authorizer, PublisherQuota, type RecordingSubject, RunTokens, WrongKeys } from "./authorization.ts";
import { addOutput, addSource, KEY_ORDER } from "./media-service.fixture.ts";

let database: TestDatabase;
let ada: string;
let eve: string;
before(async () => {
  database = await testDatabase();
  const { sql } = database;
  ada = (await createKey(sql, { ...KEY_ORDER, username: "ada" })).key;
  eve = (await createKey(sql, { ...KEY_ORDER, username: "eve" })).key;
  await addSource(sql, "ada", "ada/yard");
  await addOutput(sql, "ada", "processed");
});
after(() => database?.close());

const withoutKey = ({ key, ...granted }: Authorization) => {
  assert.match(key ?? "", /^[0-9a-f-]{36}$/);
  return granted;
};

function open(wrongKeysAllowed = 5, maxPublished = 5) {
  const { sql } = database;
  const tokens = new RunTokens();
  const wrongKeys = new WrongKeys(wrongKeysAllowed);
  const recorded: RecordingSubject[] = [];
  const used: string[] = [];
  let slept = 0;
  const authorizer = new Authorizer({
    ...{ sql, tokens, wrongKeys, maxPublished, log: silentLog, livePaths: () => ["ada/live", "ada/processed"] },
    keys: new Authenticator(findKeyIn(sql, makeConfig()), wrongKeys),
    sleep: async () => void slept++,
    nameRecording: (subject) => {
      recorded.push(subject);
      return "the-recording";
    },
    onKeyUsed: (path) => void used.push(path),
  });
  const ask = (given: Partial<AuthorizeRequest>) =>
    authorizer.authorize({
      ...{ type: "authorize", id: 1, action: "publish", protocol: "rtsp", path: "ada/yard", secret: ada },
      address: "192.0.2.1",
      ...given,
    } as AuthorizeRequest);
  const kindOf = async (given: Partial<AuthorizeRequest>) => (await ask(given)).refusal?.kind ?? "granted";
  return { ask, kindOf, tokens, recorded, used, slept: () => slept };
}

test("the owner publishes where a source is registered, by either protocol, and is recorded", async () => {
  const { ask, recorded, used } = open();
  for (const protocol of ["rtsp", "rtmp"] as const)
    assert.deepEqual(withoutKey(await ask({ protocol })), { refusal: null, recording: "the-recording" });
  assert.equal(recorded[0]?.alias, "yard");
  assert.deepEqual(used, ["ada/yard", "ada/yard"]);
});

test("the owner plays sources and outputs, which records nothing", async () => {
  const { ask } = open();
  for (const path of ["ada/yard", "ada/processed"])
    assert.deepEqual(withoutKey(await ask({ action: "play", path })), { refusal: null, recording: null });
});

test("a key publishes with the scope publish, plays with read, and only what belongs to its sources", async () => {
  const { sql } = database;
  const user = (await findUserByName(sql, "ada")) ?? assert.fail();
  const [yard] = await sql<{ uuid: string }[]>`
    select uuid from sources where user_uuid = ${user.uuid} and hub_path = 'ada/yard'`;
  await addSource(sql, "ada", "ada/gate");
  const add = async (scopes: readonly Scope[], sourceUuids: readonly string[] | null = null) =>
    (await addKey(sql, { userUuid: user.uuid, name: "one", scopes, sourceUuids, expiresAt: null })).key;
  const [reads, publishes, limited] = [
    await add(["read"]),
    await add(["publish"]),
    await add(["operate"], [yard?.uuid ?? ""]),
  ];
  const { ask, kindOf } = open(1000, 100);
  assert.equal(await kindOf({ secret: reads, action: "play" }), "granted");
  const { refusal } = await ask({ secret: reads });
  assert.deepEqual(
    [refusal?.kind, /scope `publish`; this key has `read`/.test(refusal?.detail ?? "")],
    ["forbidden", true],
  );
  assert.equal(await kindOf({ secret: publishes }), "granted");
  assert.equal(await kindOf({ secret: publishes, action: "play" }), "forbidden");
  for (const action of ["publish", "play"] as const) {
    assert.equal(await kindOf({ secret: limited, action }), "granted");
    for (const path of ["ada/gate", "ada/processed", "ada/elsewhere"])
      assert.equal(await kindOf({ secret: limited, action, path }), "unknown", `${action} ${path}`);
  }
});

test("rejects an unregistered path, and publishing to the path of an output", async () => {
  const { kindOf } = open();
  assert.equal(await kindOf({ path: "ada/elsewhere" }), "unknown");
  assert.equal(await kindOf({ path: "ada/elsewhere", action: "play" }), "unknown");
  assert.equal(await kindOf({ path: "ada/processed" }), "forbidden");
});

test("gives another user the same answer for every path, whether it exists or not", async () => {
  const { ask, recorded } = open();
  for (const action of ["publish", "play"] as const) {
    const [real, unreal] = await Promise.all([
      ask({ action, secret: eve }),
      ask({ action, secret: eve, path: "ada/elsewhere" }),
    ]);
    assert.equal(real.refusal?.kind, "forbidden");
    assert.deepEqual(real, unreal);
  }
  assert.deepEqual(recorded, []);
});

test("reveals nothing about a path without a valid key", async () => {
  const { ask } = open(1000);
  const secrets = [null, "", "wh_abc_wrong-wrong-wrong", "x", `${ada}x`, "run_abc"];
  for (const secret of secrets) {
    const [real, unreal] = await Promise.all([ask({ secret }), ask({ secret, path: "no/body" })]);
    assert.equal(real.refusal?.kind, "unauthorized", String(secret));
    assert.deepEqual(real, unreal);
  }
});

test("rejects a revoked and an expired key", async () => {
  const { sql } = database;
  const { key } = await createKey(sql, { ...KEY_ORDER, username: "old", expiresAt: new Date(Date.now() + 60_000) });
  await addSource(sql, "old", "old/yard");
  const order = { path: "old/yard", secret: key };
  assert.equal(await open().kindOf(order), "granted");
  await sql`update users set expires_at = now() - interval '1 second' where username = 'old'`;
  const { refusal } = await open().ask(order);
  assert.deepEqual([refusal?.kind, /expired/.test(refusal?.detail ?? "")], ["unauthorized", true]);
  await sql`update users set expires_at = null, revoked_at = now() where username = 'old'`;
  assert.equal(await open().kindOf(order), "unauthorized");
});

test("a run token allows its own action on its own path, and records nothing", async () => {
  const { ask, kindOf, tokens, used } = open();
  const publish = tokens.issue("publish", "ada/processed");
  const order = { path: "ada/processed", secret: publish.token };
  assert.deepEqual(await ask(order), { refusal: null, recording: null, isOwn: true });
  assert.equal(await kindOf({ ...order, action: "play" }), "unauthorized");
  assert.equal(await kindOf({ ...order, path: "ada/yard" }), "unauthorized");
  publish.revoke();
  assert.equal(await kindOf(order), "unauthorized");
  assert.deepEqual(used, []);
});

test("delays responses to an address with too many wrong keys, but not to others or known keys", async () => {
  const { kindOf, slept } = open(3);
  assert.equal(await kindOf({}), "granted");
  const wrong = { secret: `wh_abc_${"x".repeat(43)}` };
  const kinds = [];
  for (let i = 0; i < 5; i++) kinds.push(await kindOf(wrong));
  assert.deepEqual(kinds, ["unauthorized", "unauthorized", "unauthorized", "slow_down", "slow_down"]);
  assert.equal(slept(), 2);
  assert.equal(await kindOf({}), "granted");
  assert.equal(await kindOf({ ...wrong, address: "192.0.2.2" }), "unauthorized");
  assert.equal(slept(), 2);
  assert.equal(await kindOf({ secret: eve, path: "eve/yard" }), "unknown");
  assert.equal(slept(), 3);
});

test("calls no key wrong while the database is unavailable", async () => {
  const { ask } = (() => {
    const wrongKeys = new WrongKeys(5);
    const authorizer = new Authorizer({
      ...{ sql: database.sql, tokens: new RunTokens(), wrongKeys, log: silentLog, maxPublished: 1 },
      livePaths: () => [],
      keys: {
        authenticate: () => Promise.reject(new Error("unavailable")),
        isKnown: () => false,
      },
      sleep: async () => {},
      nameRecording: () => null,
      onKeyUsed: () => {},
    });
    return { ask: (request: AuthorizeRequest) => authorizer.authorize(request) };
  })();
  const { refusal } = await ask({
    ...{ type: "authorize", id: 1, action: "play", protocol: "rtsp", path: "ada/yard", secret: ada },
    address: "192.0.2.1",
  });
  assert.equal(refusal?.kind, "unavailable");
});

test("limits the streams that a key publishes at once; those of its processes do not count", async () => {
  const ofOne = open(5, 1);
  const publish = { action: "publish", path: "ada/yard", secret: ada } as const;
  assert.match((await ofOne.ask(publish)).refusal?.detail ?? "", /publishes 1 streams already/);
  const ofTwo = open(5, 2);
  assert.equal((await ofTwo.ask(publish)).refusal?.kind, "forbidden");
  const { token } = ofTwo.tokens.issue("publish", "ada/processed");
  assert.equal((await ofTwo.ask(publish)).refusal, null);
  assert.deepEqual(await ofTwo.ask({ action: "publish", path: "ada/processed", secret: token }), {
    ...{ refusal: null, recording: null, isOwn: true },
  });
});

test("each user has its own quota, and the same path counts once", () => {
  const quota = new PublisherQuota(2, () => ["ada/live", "ada-2/x"]);
  assert.deepEqual(
    ["ada/a", "ada/b", "ada/a", "ada/live"].map((path) => quota.take("ada", path)),
    [true, false, true, true],
  );
  assert.equal(quota.take("eve", "eve/a"), true);
});

test("frees the quota of a client that published nothing after a while", () => {
  let nowMs = 0;
  const quota = new PublisherQuota(
    1,
    () => [],
    () => nowMs,
  );
  assert.deepEqual([quota.take("ada", "ada/a"), quota.take("ada", "ada/b")], [true, false]);
  nowMs = 60_000;
  assert.equal(quota.take("ada", "ada/b"), true);
});

test("a token allows one action on one path until it is revoked", () => {
  const tokens = new RunTokens();
  const { token, revoke } = tokens.issue("publish", "ada/yard");
  assert.ok(tokens.isToken(token));
  assert.ok(tokens.allows(token, "publish", "ada/yard"));
  assert.ok(!tokens.allows(token, "play", "ada/yard"));
  assert.ok(!tokens.allows(token, "publish", "ada/yard2"));
  revoke();
  assert.ok(!tokens.allows(token, "publish", "ada/yard"));
  assert.equal(tokens.size, 0);
});

test("tokens are unique", () => {
  const tokens = new RunTokens();
  const issued = Array.from({ length: 100 }, () => tokens.issue("play", "ada/yard").token);
  assert.equal(new Set(issued).size, issued.length);
});
