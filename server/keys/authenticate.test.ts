import assert from "node:assert/strict";
import { test } from "node:test";
import { makeUser } from "../api/app.fixture.ts";
import { TokenBuckets } from "../async/token-buckets.ts";
import { ServiceError } from "../service-error.ts";
import { Authenticator, type KeyRecord, LoginGate } from "./authenticate.ts";
import { digestKey, makeKey } from "./keys.ts";

function makeStage({ failures = 3 } = {}) {
  const clock = { ms: 0 };
  const records = new Map<string, KeyRecord>();
  let asked = 0;
  const gate = new LoginGate(failures, new TokenBuckets(() => clock.ms));
  const find = async (id: string) => {
    asked += 1;
    return records.get(id) ?? null;
  };
  const { authenticate, renew } = new Authenticator(find, gate, () => clock.ms);
  const add = (key: string, more: Partial<KeyRecord> = {}, expiresAt: Date | null = null) => {
    const digest = digestKey(key);
    assert.ok(digest !== null);
    const user = { ...makeUser("ada"), expiresAt };
    records.set(digest.id, { user, keySha256: digest.sha256, revokedAt: null, ...more });
  };
  const codeOf = (key: string | null, address = "192.0.2.1"): Promise<string> =>
    authenticate(key, address).then(
      (user) => user.username,
      (error) => {
        assert.ok(error instanceof ServiceError, String(error));
        return error.code;
      },
    );
  return { clock, records, add, codeOf, authenticate, renew, asked: () => asked };
}

test("distinguishes a valid key from a missing, an unknown, a revoked and an expired one", async () => {
  const { add, codeOf } = makeStage();
  const [right, revoked, expired] = [makeKey(), makeKey(), makeKey()];
  add(right, {}, new Date(Date.now() + 60_000));
  add(revoked, { revokedAt: new Date() });
  add(expired, {}, new Date(Date.now() - 1));
  assert.equal(await codeOf(right), "ada");
  assert.equal(await codeOf(null), "api_key_missing");
  assert.equal(await codeOf(makeKey()), "api_key_invalid");
  assert.equal(await codeOf(revoked), "api_key_invalid");
  assert.equal(await codeOf(expired), "api_key_expired");
});

test("the right id with another secret is another key", async () => {
  const { add, codeOf } = makeStage();
  const key = makeKey();
  add(key);
  const [, id] = key.split("_");
  assert.equal(await codeOf(`wh_${id}_${makeKey().slice(14)}`), "api_key_invalid");
  assert.equal(await codeOf(key.slice(0, -1)), "api_key_invalid");
});

test("accepts a key chosen by the operator", async () => {
  const { add, codeOf } = makeStage();
  add("correct-horse-battery");
  assert.equal(await codeOf("correct-horse-battery"), "ada");
  assert.equal(await codeOf("correct-horse-batterz"), "api_key_invalid");
});

for (const key of ["short", "x".repeat(201), "with a space in it", "sch\u00f6ne-schl\u00fcssel-ab"])
  test(`"${key.slice(0, 20)}" cannot be a key, and is not looked up`, async () => {
    const { codeOf, asked } = makeStage();
    assert.equal(await codeOf(key), "api_key_invalid");
    assert.equal(asked(), 0);
  });

test("looks up a key at most once per second, and once for simultaneous requests", async () => {
  const { add, codeOf, asked, clock } = makeStage();
  const key = makeKey();
  add(key);
  await Promise.all([codeOf(key), codeOf(key), codeOf(key)]);
  clock.ms = 999;
  await codeOf(key);
  assert.equal(asked(), 1);
  clock.ms = 1000;
  await codeOf(key);
  assert.equal(asked(), 2);
});

test("rejects a revoked key after a second at most, and an expired one at once", async () => {
  const { add, codeOf, clock } = makeStage();
  const [key, short] = [makeKey(), makeKey()];
  const expiresAt = new Date(Date.now() + 60_000);
  add(key);
  add(short, {}, expiresAt);
  assert.equal(await codeOf(key), "ada");
  assert.equal(await codeOf(short), "ada");
  add(key, { revokedAt: new Date() });
  clock.ms = 1000;
  assert.equal(await codeOf(key), "api_key_invalid");
  expiresAt.setTime(Date.now() - 1);
  assert.equal(await codeOf(short), "api_key_expired");
});

test("a change takes effect at once when it is known, also while a key is being looked up", async () => {
  const { clock, records, add, codeOf, renew } = makeStage();
  const key = makeKey();
  add(key);
  clock.ms = 100;
  const early = codeOf(key);
  records.clear();
  renew();
  assert.equal(await codeOf(key), "api_key_invalid");
  assert.equal(await early, "ada");
  assert.equal(await codeOf(key), "api_key_invalid", "what was looked up before is not used");
});

test("delays an address that guesses, with valid keys too, but not other addresses or known keys", async () => {
  const { add, codeOf, authenticate, clock } = makeStage({ failures: 3 });
  const [known, fresh] = [makeKey(), makeKey()];
  add(known);
  add(fresh);
  assert.equal(await codeOf(known), "ada");
  for (let i = 0; i < 3; i++) assert.equal(await codeOf(makeKey()), "api_key_invalid");
  assert.equal(await codeOf(makeKey()), "rate_limited");
  assert.equal(await codeOf(fresh), "rate_limited");
  clock.ms = 5000;
  assert.equal(await codeOf(known), "ada");
  assert.equal(await codeOf(fresh, "192.0.2.2"), "ada");
  await assert.rejects(authenticate(makeKey(), "192.0.2.1"), { code: "rate_limited", retryAfterSeconds: 15 });
  clock.ms = 20_000;
  assert.equal(await codeOf(makeKey()), "api_key_invalid");
  assert.equal(await codeOf(makeKey()), "rate_limited");
});

test("does not count a missing key as a guess", async () => {
  const { codeOf } = makeStage({ failures: 1 });
  for (let i = 0; i < 5; i++) assert.equal(await codeOf(null), "api_key_missing");
});

test("counts an IPv6 network as one address", async () => {
  const { codeOf } = makeStage({ failures: 1 });
  assert.equal(await codeOf(makeKey(), "2001:db8:1:2::1"), "api_key_invalid");
  assert.equal(await codeOf(makeKey(), "2001:db8:1:2:ffff::9"), "rate_limited");
  assert.equal(await codeOf(makeKey(), "2001:db8:1:3::1"), "api_key_invalid");
  assert.equal(await codeOf(makeKey(), "::1"), "api_key_invalid");
});

test("does not count a database failure as a wrong key", async () => {
  const gate = new LoginGate(1);
  const down = new ServiceError("database_unavailable", { detail: "Down." });
  const { authenticate } = new Authenticator(() => Promise.reject(down), gate);
  for (let i = 0; i < 3; i++) await assert.rejects(authenticate(makeKey(), "192.0.2.1"), down);
});

test("counts simultaneous wrong keys together", async () => {
  const { codeOf, asked } = makeStage({ failures: 3 });
  const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(makeKey())));
  assert.deepEqual(codes.sort(), [...Array(3).fill("api_key_invalid"), ...Array(7).fill("rate_limited")]);
  assert.equal(asked(), 3);
});

test("delays simultaneous valid keys no longer than their lookup", async () => {
  const { add, codeOf } = makeStage({ failures: 3 });
  const keys = Array.from({ length: 3 }, () => makeKey());
  for (const key of keys) add(key);
  assert.deepEqual(await Promise.all(keys.map((key) => codeOf(key))), ["ada", "ada", "ada"]);
  assert.equal(await codeOf(makeKey()), "api_key_invalid");
});
