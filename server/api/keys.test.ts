import assert from "node:assert/strict";
import { after, test } from "node:test";
import { poll, until } from "../../test/watch.fixture.ts";
import { addKey } from "../keys/api-keys.ts";
import { Authenticator, findKeyIn, LoginGate } from "../keys/authenticate.ts";
import { createKey, type KeyOrder } from "../keys/keys.ts";
import { StillMedia } from "../media/media.fixture.ts";
import { addSource } from "../media/media-service.fixture.ts";
import { findKeyById, listInvalid } from "../store/api-keys.ts";
import { testDatabase } from "../store/database.fixture.ts";
import { revokeUser } from "../store/users.ts";
import { makeConfig, openApp } from "./app.fixture.ts";
import { informationEndpoints } from "./information.ts";
import { keyEndpoints } from "./keys.ts";

const database = await testDatabase();
const { sql } = database;
const config = makeConfig();
const clock = { ms: 0 };
const { authenticate, renew } = new Authenticator(findKeyIn(sql, config), new LoginGate(1000), () => clock.ms);
const app = await openApp(
  [
    ...keyEndpoints(sql, config, renew),
    ...informationEndpoints({ sql, softwareVersion: "0.1.0", components: async () => ({}), media: new StillMedia() }),
  ],
  { authenticate },
);
after(async () => {
  await app.close(0);
  await database.close();
});

const ORDER: KeyOrder = {
  ...{ username: "acme", master: null, product: "standard", pendingMs: 0, allocatedMs: null, expiresAt: null },
  ...{ hasTrackLogger: true, hasRecording: false, hasEnhancement: false, isGraphAuthor: false, isOperator: false },
  limits: { processes: 6 },
};
const acme = await createKey(sql, ORDER);
const north = await createKey(sql, { ...ORDER, username: "acme-north", master: "acme", limits: {} });
const other = await createKey(sql, { ...ORDER, username: "other" });
const operator = await createKey(sql, { ...ORDER, username: "boss", isOperator: true });

interface Body {
  readonly code?: string;
  readonly key?: string;
  readonly uuid?: string;
  readonly [name: string]: unknown;
}

/** Every call looks keys up again. */
async function call(method: string, path: string, key: string, json?: object) {
  clock.ms += 2000;
  const init = json === undefined ? {} : { body: JSON.stringify(json) };
  const headers = { api_key: key, ...(json && { "content-type": "application/json" }) };
  const response = await app.call(path, { method, headers, ...init });
  return { status: response.status, body: (await response.json()) as Body };
}

async function make(json: object, key = acme.key): Promise<{ key: string; uuid: string; body: Body }> {
  const { status, body } = await call("POST", "/key", key, json);
  assert.equal(status, 201, JSON.stringify(body));
  return { key: body.key ?? "", uuid: body.uuid ?? "", body };
}

const listOf = async (key: string, query = "") =>
  (await call("GET", `/keys${query}`, key)).body.keys as Record<string, unknown>[];

test("a key is created, used, listed without its secret, and revoked", async () => {
  const { key, uuid, body } = await make({ name: "dashboard", scopes: ["read"] });
  assert.match(key, /^wh_[a-z0-9]{10}_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual([body.username, body.scopes, body.source_uuids, body.last_used_at], ["acme", ["read"], null, null]);
  assert.equal((await call("GET", "/login", key)).status, 200);
  const [listed] = await listOf(acme.key, "?username=acme&limit=1");
  assert.deepEqual([listed?.uuid, listed?.name, listed?.state], [uuid, "dashboard", "valid"]);
  assert.ok(key.startsWith(`${listed?.prefix}_`));
  assert.ok(!JSON.stringify(await listOf(acme.key)).includes(key.slice(15)));
  assert.match(String((await call("GET", `/key/${uuid}`, acme.key)).body.last_used_at), /^20/);
  assert.equal((await call("DELETE", `/key/${uuid}`, acme.key)).status, 200);
  assert.equal((await call("GET", "/login", key)).body.code, "api_key_invalid");
  assert.deepEqual(await listInvalid(sql, [uuid, acme.row.uuid]), [uuid]);
  assert.equal((await call("DELETE", `/key/${uuid}`, acme.key)).body.code, "key_not_found");
  assert.ok((await listOf(acme.key, "?state=all")).some((row) => row.uuid === uuid && row.state === "revoked"));
  assert.ok(!(await listOf(acme.key)).some((row) => row.uuid === uuid));
});

test("the first key of an account has all rights, and servers of the version before reject it once it is revoked", async () => {
  const { key, row } = await createKey(sql, { ...ORDER, username: "early" });
  const second = await make({ name: "second", scopes: ["admin"] }, key);
  assert.equal((await call("DELETE", `/key/${row.uuid}`, second.key)).status, 200);
  assert.equal((await call("GET", "/login", key)).body.code, "api_key_invalid");
  const [kept] = await sql<{ keySha256: Buffer }[]>`select key_sha256 from users where uuid = ${row.uuid}`;
  assert.deepEqual(kept?.keySha256, Buffer.alloc(32));
  assert.equal((await call("GET", "/login", second.key)).status, 200);
});

test("the last use is written at most about once a minute", async () => {
  const { key, uuid } = await make({ name: "used", scopes: ["read"] });
  await call("GET", "/login", key);
  // Requests do not wait until it is written.
  const lastUse = async () => (await call("GET", `/key/${uuid}`, acme.key)).body.last_used_at as string | null;
  const first = await poll("the first use is written", lastUse);
  await call("GET", "/login", key);
  assert.equal(await lastUse(), first);
  await sql`update api_keys set last_used_at = now() - interval '2 minutes' where uuid = ${uuid}`;
  await call("GET", "/login", key);
  await until(async () => ((await lastUse()) ?? "") >= first);
});

test("a rotated key stays valid for the overlap", async () => {
  const old = await make({ name: "drone", scopes: ["publish"] });
  const rotated = await call("POST", `/key/${old.uuid}/rotate`, acme.key, { overlap_seconds: 3600 });
  assert.equal(rotated.status, 201);
  assert.deepEqual([rotated.body.name, rotated.body.scopes, rotated.body.expires_at], ["drone", ["publish"], null]);
  for (const key of [old.key, rotated.body.key ?? ""]) assert.equal((await call("GET", "/login", key)).status, 200);
  const expires = new Date(String((await call("GET", `/key/${old.uuid}`, acme.key)).body.expires_at)).getTime();
  assert.ok(expires > Date.now() + 3_000_000 && expires <= Date.now() + 3_600_000);
  // Used a moment ago, as that of a drone on the air is.
  assert.equal((await call("GET", "/login", rotated.body.key ?? "")).status, 200);
  const again = await call("POST", `/key/${rotated.body.uuid}/rotate`, acme.key, { overlap_seconds: 0 });
  assert.equal((await call("GET", "/login", rotated.body.key ?? "")).body.code, "api_key_expired");
  assert.equal((await call("GET", "/login", again.body.key ?? "")).status, 200);
  const dead = await call("POST", `/key/${rotated.body.uuid}/rotate`, acme.key, {});
  assert.equal(dead.body.code, "invalid_input", "the new one would have expired as well");
});

test("an expired key is rejected, and its name and expiry can be changed", async () => {
  const { key, uuid } = await make({ name: "short", scopes: ["read"], expires_at: "2099-01-01T00:00:00Z" });
  assert.equal((await call("GET", "/login", key)).body.expiration_date, "2099-01-01");
  await sql`update api_keys set expires_at = now() where uuid = ${uuid}`;
  assert.equal((await call("GET", "/login", key)).body.code, "api_key_expired");
  const changed = await call("PATCH", `/key/${uuid}`, acme.key, { name: "longer", expires_at: null });
  assert.deepEqual([changed.body.name, changed.body.expires_at, changed.body.state], ["longer", null, "valid"]);
  assert.equal((await call("GET", "/login", key)).status, 200);
  const limited = await call("PATCH", `/key/${uuid}`, acme.key, { scopes: ["operate"], source_uuids: "abc" });
  assert.deepEqual(
    [limited.status, limited.body.detail],
    [422, "/scopes cannot be changed; name or expires_at can (and 1 more)."],
  );
  const back = await call("PATCH", `/key/${uuid}`, acme.key, { ...changed.body, name: "long" });
  assert.deepEqual([back.status, back.body.name], [200, "long"], "a record can be sent back");
  const past = await call("PATCH", `/key/${uuid}`, acme.key, { expires_at: "2001-01-01T00:00:00Z" });
  assert.deepEqual([past.status, past.body.code], [422, "invalid_input"]);
});

test("a key cannot give more than it has: scopes, sources, time", async () => {
  for (const scopes of [["read"], ["publish"], ["operate"], ["read", "operate"]]) {
    const { key, uuid } = await make({ name: "weak", scopes });
    for (const [method, path, json] of [
      ["POST", "/key", { name: "x", scopes: ["read"] }],
      ["POST", `/key/${uuid}/rotate`, {}],
      ["PATCH", `/key/${uuid}`, { expires_at: null }],
      ["DELETE", `/key/${acme.row.uuid}`],
      ["GET", "/keys"],
      ["GET", "/accounts"],
      ["PATCH", "/account/acme-north", { limits: { processes: 1 } }],
    ] as const) {
      const { status, body } = await call(method, path, key, json);
      assert.deepEqual([status, body.code], [403, "scope_needed"], `${scopes}: ${method} ${path}`);
    }
  }
  const short = await make({ name: "week", scopes: ["admin"], expires_at: "2098-01-01T00:00:00Z" });
  for (const expires_at of [undefined, null, "2098-01-01T00:00:01Z"]) {
    const { body } = await call("POST", "/key", short.key, { name: "x", scopes: ["read"], expires_at });
    assert.equal(body.code, "scope_needed", String(expires_at));
  }
  assert.equal((await call("PATCH", `/key/${short.uuid}`, short.key, { expires_at: null })).body.code, "scope_needed");
  assert.equal((await call("POST", `/key/${acme.row.uuid}/rotate`, short.key, {})).body.code, "scope_needed");
  await make({ name: "x", scopes: ["read"], expires_at: "2098-01-01T00:00:00Z" }, short.key);
  const source = await addSource(sql, "acme", "acme/yard");
  const limited = await make({ name: "one source", scopes: ["admin"], source_uuids: [source] });
  const refused = await call("POST", "/key", limited.key, { name: "x", scopes: ["read"], source_uuids: [source] });
  assert.equal(refused.body.code, "unlimited_key_needed");
});

test("a key is limited to sources of its own account", async () => {
  const foreign = await addSource(sql, "other", "other/yard");
  const { body } = await call("POST", "/key", acme.key, { name: "x", scopes: ["read"], source_uuids: [foreign] });
  assert.equal(body.code, "source_not_found");
});

test("a master manages keys of its children; a child and another account do not see them", async () => {
  const made = await make({ name: "for north", scopes: ["operate"], username: "acme-north" });
  assert.equal((await call("GET", "/login", made.key)).body.username, "acme-north");
  assert.ok((await listOf(acme.key)).some((row) => row.uuid === made.uuid));
  assert.ok((await listOf(north.key)).every((row) => row.username === "acme-north"));
  assert.equal((await call("GET", `/key/${acme.row.uuid}`, north.key)).body.code, "key_not_found");
  for (const [method, path, json] of [
    ["GET", `/key/${made.uuid}`],
    ["PATCH", `/key/${made.uuid}`, { name: "mine" }],
    ["POST", `/key/${made.uuid}/rotate`, {}],
    ["DELETE", `/key/${made.uuid}`],
  ] as const)
    assert.equal((await call(method, path, other.key, json)).body.code, "key_not_found");
  const order = { name: "x", scopes: ["read"] };
  assert.equal((await call("POST", "/key", other.key, { ...order, username: "acme" })).body.code, "user_not_found");
  assert.equal((await call("POST", "/key", north.key, { ...order, username: "acme" })).body.code, "user_not_found");
});

test("an account has a limited number of keys", async () => {
  const { row } = await createKey(sql, { ...ORDER, username: "many" });
  const order = { userUuid: row.uuid, name: "one", scopes: ["read"] as const, sourceUuids: null, expiresAt: null };
  for (let i = 1; i < 200; i++) await addKey(sql, order);
  await assert.rejects(addKey(sql, order), { code: "keys_limit_reached" });
  await sql`update api_keys set expires_at = now() where uuid = (
    select uuid from api_keys where user_uuid = ${row.uuid} limit 1)`;
  await addKey(sql, order);
});

test("a master changes limits and features of its children, up to its own", async () => {
  const change = (json: object, key = acme.key, name = "acme-north") => call("PATCH", `/account/${name}`, key, json);
  const { status, body } = await change({ limits: { processes: 6, sources: 5 }, track_logger: false });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.track_logger, false);
  const north2 = await authenticate(north.key, "192.0.2.1");
  assert.deepEqual([north2.limits.processes, north2.limits.sources, north2.hasTrackLogger], [6, 5, false]);
  const back = await change({ limits: { sources: null } });
  assert.equal((back.body.limits as { sources: number }).sources, config.limits.sources);
  const refused = await change({ limits: { processes: 7, alerts: 1 }, recording: true });
  assert.deepEqual(
    [refused.status, (refused.body.errors as { path: string }[]).map(({ path }) => path)],
    [422, ["/limits/processes", "/recording"]],
  );
  assert.equal((await authenticate(north.key, "192.0.2.1")).limits.alerts, config.limits.alerts, "nothing was changed");
  assert.equal((await change({ limits: { processes: 1 } }, acme.key, "acme")).body.code, "operator_key_needed");
  assert.equal((await change({ limits: { processes: 1 } }, acme.key, "other")).body.code, "user_not_found");
  assert.equal((await change({ limits: { processes: 1 } }, north.key, "acme")).body.code, "user_not_found");
  assert.equal((await change({ limits: { processes: 50 } }, operator.key, "boss")).status, 200);
  const names = (await call("GET", "/accounts", acme.key)).body.accounts as {
    username: string;
    master: string | null;
  }[];
  assert.deepEqual(
    names.map(({ username, master }) => [username, master]),
    [
      ["acme", null],
      ["acme-north", "acme"],
    ],
  );
});

test("the name of a revoked account can be used again, by an account without its resources and keys", async () => {
  const first = await createKey(sql, { ...ORDER, username: "again" });
  await assert.rejects(createKey(sql, { ...ORDER, username: "again" }), /exists already/);
  const source = await addSource(sql, "again", "again/yard");
  await revokeUser(sql, first.row.uuid);
  const second = await createKey(sql, { ...ORDER, username: "again" });
  assert.equal((await call("GET", "/login", first.key)).body.code, "api_key_invalid");
  assert.equal((await call("GET", "/login", second.key)).body.username, "again");
  const [owner] = await sql<{ username: string }[]>`
    select username from users join sources on user_uuid = users.uuid where sources.uuid = ${source}`;
  assert.match(owner?.username ?? "", /^again-revoked-[0-9a-f]{8}$/);
  assert.equal((await findKeyById(sql, first.row.keyId))?.revokedAt !== null, true);
});
