import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Authenticator, findKeyIn, LoginGate } from "../keys/authenticate.ts";
import { createFirstKey, createKey, type KeyOrder } from "../keys/keys.ts";
import { StillMedia } from "../media/media.fixture.ts";
import { testDatabase } from "../store/database.fixture.ts";
import { revokeUser } from "../store/users.ts";
import { makeConfig, openApp } from "./app.fixture.ts";
import { informationEndpoints } from "./information.ts";

const database = await testDatabase();
const { sql } = database;
const settings = { LIMITS_FAILED_LOGINS_PER_MINUTE: "5", LIMITS_VIDEO_BYTES: "1000", LIMITS_STORAGE_BYTES: "2000" };
const parts: Record<string, string> = { database: "ok", disk: "ok" };
const app = await openApp(
  informationEndpoints({
    sql,
    softwareVersion: "0.1.0",
    components: async () => ({ ...parts }),
    media: new StillMedia(),
  }),
  {
    settings: { ...settings, HTTP_TRUSTED_PROXIES: "127.0.0.1" },
    authenticate: new Authenticator(findKeyIn(sql, makeConfig(settings)), new LoginGate(5)).authenticate,
  },
);
after(async () => {
  await app.close(0);
  await database.close();
});

const firstKey = await createFirstKey(sql, null);
assert.ok(firstKey !== null);

const ORDER: KeyOrder = {
  username: "acme",
  master: null,
  product: "standard",
  pendingMs: 100 * 60_000,
  allocatedMs: 10 * 60_000,
  expiresAt: new Date("2099-12-31T23:59:59.999Z"),
  hasTrackLogger: true,
  hasRecording: false,
  hasEnhancement: false,
  isGraphAuthor: false,
  isOperator: false,
  limits: { videoBytes: 500 },
};
const acme = await createKey(sql, ORDER);
const child = { ...ORDER, master: "acme", pendingMs: 0, hasTrackLogger: false, limits: {} };
const north = await createKey(sql, { ...child, username: "acme-north", expiresAt: null });
await createKey(sql, { ...child, username: "acme-south", allocatedMs: null });

/** As it is shown: that of `acme`, which has all rights. */
const { uuid } = acme.row;
const KEY = {
  uuid,
  key_uuid: uuid,
  name: "first",
  scopes: ["admin"],
  source_uuids: null,
  person: null,
  expires_at: null,
};

async function call<T = Record<string, unknown>>(method: string, path: string, key: string | null, body?: object) {
  const headers: Record<string, string> = { ...(key !== null && { api_key: key }), "content-type": "application/json" };
  const response = await app.call(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}

test("`/status` is public; with a valid key it includes the components", async () => {
  const { status, body } = await call("GET", "/status", null);
  assert.equal(status, 200);
  assert.equal(body.status, "ok");
  assert.equal(body.version, "2.15.2");
  assert.equal(body.software_version, "0.1.0");
  assert.ok(Number(body.uptime_seconds) > 0);
  assert.ok(!("components" in body));
  assert.ok(!("components" in (await call("GET", "/status", "wh_wrong_key-that-is-none")).body));
  assert.deepEqual((await call("GET", "/status", acme.key)).body.components, { database: "ok", disk: "ok" });
  parts.disk = "3 MiB are free";
  assert.equal((await call("GET", "/status", null)).body.status, "degraded");
  parts.disk = "ok";
});

for (const method of ["GET", "POST"])
  test(`${method} /login validates a key`, async () => {
    const { status, body } = await call(method, "/login", acme.key);
    assert.equal(status, 200);
    const { key, ...rest } = body;
    assert.deepEqual(rest, { valid: true, username: "acme", product: "standard", expiration_date: "2099-12-31" });
    assert.deepEqual(key, KEY);
    assert.equal((await call(method, "/login", firstKey)).body.expiration_date, "9999-12-31");
    assert.equal((await call(method, "/login", null)).body.code, "api_key_missing");
  });

test("/login distinguishes a wrong, a revoked and an expired key", async () => {
  const past = await createKey(sql, { ...ORDER, username: "past", expiresAt: new Date(Date.now() - 1000) });
  const revoked = await createKey(sql, { ...ORDER, username: "revoked" });
  await revokeUser(sql, revoked.row.uuid);
  for (const [key, code] of [
    [`${acme.key.slice(0, -4)}0000`, "api_key_invalid"],
    [revoked.key, "api_key_invalid"],
    [past.key, "api_key_expired"],
  ] as const) {
    const { status, body } = await call("GET", "/login", key);
    assert.equal(status, 403);
    assert.equal(body.code, code);
  }
});

test("a revoked key and its child keys are rejected soon, without a restart", async () => {
  const { key, row } = await createKey(sql, { ...ORDER, username: "short-lived" });
  const child = await createKey(sql, { ...ORDER, username: "short-child", master: "short-lived" });
  for (const each of [key, child.key]) assert.equal((await call("GET", "/login", each)).status, 200);
  await revokeUser(sql, row.uuid);
  for (const each of [key, child.key]) {
    let answer = await call("GET", "/login", each);
    // How soon is tested with a fake clock, with the authenticator.
    while (answer.status === 200) answer = await call("GET", "/login", each);
    assert.equal(answer.body.code, "api_key_invalid");
  }
});

test("a master key sees its own minutes and those of its children", async () => {
  const { body } = await call("GET", "/user_info", acme.key);
  assert.deepEqual(body, {
    version: "2.15.2",
    software_version: "0.1.0",
    username: "acme",
    product: "standard",
    uploaded_video_storage: { max_video_upload_size_bytes: 500, total_storage_size_bytes: 2000 },
    subscription: {
      remaining_minutes: 10,
      consumed_minutes: 0,
      pending_to_allocate: 100,
      expiration_date: "2099-12-31",
    },
    children_subscription: [
      {
        username: "acme-north",
        remaining_minutes: 10,
        consumed_minutes: 0,
        pending_to_allocate: 0,
        expiration_date: "9999-12-31",
      },
      {
        username: "acme-south",
        remaining_minutes: 1_000_000_000,
        consumed_minutes: 0,
        pending_to_allocate: 0,
        expiration_date: "2099-12-31",
      },
    ],
    is_track_logger_enabled: true,
    is_enhancement_enabled: false,
    publish_urls: {
      rtsp: "rtsp://127.0.0.1:8554/acme/",
      rtmp: "rtmp://127.0.0.1:1935/acme/",
      srt: "srt://127.0.0.1:8890/acme/",
    },
    key: KEY,
  });
});

test("a child key sees only itself", async () => {
  const { body } = await call("GET", "/user_info", north.key);
  assert.equal(body.username, "acme-north");
  assert.equal(body.is_track_logger_enabled, false);
  assert.equal(body.is_enhancement_enabled, false);
  assert.ok(!("children_subscription" in body));
});

test("/info answers in the old format", async () => {
  const { body } = await call("GET", "/info", acme.key);
  assert.deepEqual(body, {
    version: "2.15.2",
    uploaded_video_storage: { max_video_upload_size_bytes: 500, total_storage_size_bytes: 2000 },
    subscription: { consumed_minutes: 0, remaining_minutes: 10, expiration_date: "2099-12-31" },
    product: "standard",
  });
  const first = await call("GET", "/info", firstKey);
  assert.deepEqual(first.body.subscription, {
    consumed_minutes: 0,
    remaining_minutes: 1_000_000_000,
    expiration_date: "9999-12-31",
  });
});

for (const [name, key, body, status, code] of [
  ["more than pending", acme.key, { username: "acme-north", minutes: 101 }, 403, "minutes_not_pending"],
  ["with a child key", north.key, { username: "acme-north", minutes: 1 }, 403, "master_key_needed"],
  ["to a key of another master", acme.key, { username: "master", minutes: 1 }, 404, "user_not_found"],
  ["to an unknown user", acme.key, { username: "unknown", minutes: 1 }, 404, "user_not_found"],
  ["to a key without a limit", acme.key, { username: "acme-south", minutes: 1 }, 409, "minutes_unlimited"],
  ["of zero", acme.key, { username: "acme", minutes: 0 }, 422, "invalid_input"],
  ["of a negative amount", acme.key, { username: "acme", minutes: -5 }, 422, "invalid_input"],
  ["of a fraction", acme.key, { username: "acme", minutes: 1.5 }, 422, "invalid_input"],
  ["of a string", acme.key, { username: "acme", minutes: "5" }, 422, "invalid_input"],
  ["of an excessive amount", acme.key, { username: "acme", minutes: 1e300 }, 422, "invalid_input"],
] as const)
  test(`allocating minutes ${name} is rejected and changes nothing`, async () => {
    const answer = await call("POST", "/subscription/allocate", key, body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.equal(answer.body.code, code);
    const { subscription } = (await call<{ subscription: object }>("GET", "/user_info", acme.key)).body;
    assert.deepEqual(
      { ...subscription, expiration_date: undefined },
      { remaining_minutes: 10, consumed_minutes: 0, pending_to_allocate: 100, expiration_date: undefined },
    );
  });

test("concurrent allocations never exceed the pending minutes", async () => {
  const orders = Array.from({ length: 12 }, (_, i) => ({ username: i % 2 ? "acme" : "acme-north", minutes: 30 }));
  const answers = await Promise.all(orders.map((order) => call("POST", "/subscription/allocate", acme.key, order)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 3);
  assert.ok(answers.every(({ status, body }) => status === 200 || body.code === "minutes_not_pending"));
  const { body } = await call<{ subscription: { pending_to_allocate: number } }>("GET", "/user_info", acme.key);
  assert.equal(body.subscription.pending_to_allocate, 10);
  const last = await call("POST", "/subscription/allocate", acme.key, { username: "acme-north", minutes: 10 });
  assert.equal(last.body.pending_to_allocate, 0);
  assert.equal(last.body.username, "acme-north");
});

test("after too many wrong keys an address is rate-limited with `Retry-After`", async () => {
  const from = async (address: string, key: string) => {
    const response = await app.call("/login", { headers: { api_key: key, "x-forwarded-for": address } });
    await response.text();
    return response;
  };
  for (let i = 0; i < 5; i++) assert.equal((await from("192.0.2.7", `wh_guess${i}_abcdefgh`)).status, 403);
  const rejected = await from("192.0.2.7", "wh_guess_abcdefghijk");
  assert.equal(rejected.status, 429);
  assert.ok(Number(rejected.headers.get("retry-after")) >= 1);
  assert.equal((await from("192.0.2.8", "wh_guess_abcdefghijk")).status, 403);
});

test("creates a first key only in an empty database", async () => {
  assert.equal(await createFirstKey(sql, null), null);
});

test("neither keys nor their digests reach the log", () => {
  const log = app.logged.join("");
  for (const { key } of [acme, north]) assert.ok(!log.includes(key.slice(-20)));
  assert.ok(log.includes('"username":"acme"'));
});
