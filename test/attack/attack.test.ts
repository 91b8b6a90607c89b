/**
 * What a real service refuses a client without a key, another tenant, and a key with less than all rights; and malformed
 * input on all of its interfaces.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { poll } from "../watch.fixture.ts";
import { corruptToken, listCalls, listForeignCalls } from "./cross-tenant.fixture.ts";
import { sendMalformed } from "./malformed.fixture.ts";
import { ADDRESS, Target } from "./target.fixture.ts";

const URL_SECONDS = 5;
const INPUTS = 30;
const LANES = 8;
const SEED = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9);
const target = await Target.open({ WINDHOVER_MEDIA_URL_SECONDS: String(URL_SECONDS) });
after(() => target.close());
const pids = target.pids;

test("resources of another tenant are not found, and nothing is accessible without a key", async () => {
  const calls = listForeignCalls(target);
  assert.ok(calls.length >= 40, `${calls.length} operations`);
  for (const { method, path, isList, refusal, ...options } of calls) {
    const where = `${method} ${path}`;
    const call = async (party: { key?: string; address: string }) => {
      const reply = await target.call(method, path, { ...options, ...party });
      return reply.status === 426 ? target.call(method, path, { ...party, isUpgrade: true }) : reply;
    };
    const { status, text } = await call({ key: target.keyA, address: ADDRESS.tenantA });
    if (isList) assert.deepEqual(Object.values(JSON.parse(text)).flat(), [], `tenant A: ${where}`);
    else assert.equal(status, refusal, `tenant A: ${where}: ${text.slice(0, 300)}`);
    const stranger = await call({ address: ADDRESS.stranger });
    assert.ok(
      [401, 403].includes(stranger.status),
      `no key: ${where}: ${stranger.status} ${stranger.text.slice(0, 300)}`,
    );
  }
  const { status } = await target.call("GET", `/process/${target.owned.process}`, { key: target.keyB });
  assert.equal(status, 200, "its owner has access");
});

/** Adds a key of tenant B. */
async function addKey(scopes: readonly string[], source_uuids: readonly string[] | null = null): Promise<string> {
  const { text, status } = await target.call("POST", "/key", {
    key: target.keyB,
    body: JSON.stringify({ name: "one", scopes, source_uuids }),
  });
  assert.equal(status, 201, text);
  return (JSON.parse(text) as { key: string }).key;
}

const INCLUDED: Readonly<Record<string, readonly string[]>> = {
  ...{ read: ["read"], publish: ["publish"], operate: ["read", "publish", "operate"] },
};

for (const [scope, included] of Object.entries(INCLUDED))
  test(`a key with the scope \`${scope}\` can do nothing else, on any operation`, async () => {
    const key = await addKey([scope]);
    const state = () => snapshot(target.keyB);
    const before = await state();
    let rejected = 0;
    for (const call of listCalls(target)) {
      const { operation, method, path, ...options } = call;
      const needed = operation.security.find((scheme) => "api_key" in scheme)?.api_key?.[0];
      if (needed === undefined || included.includes(needed)) continue;
      // Both ways to send a key work on every operation.
      assert.ok(
        operation.security.some((scheme) => "bearer" in scheme),
        `${method} ${path} does not declare it`,
      );
      const credential = scope === "publish" ? { headers: { authorization: `Bearer ${key}` } } : { key };
      const reply = await target.call(method, path, { ...options, ...credential });
      assert.equal(reply.status, 403, `${method} ${path}: ${reply.text.slice(0, 300)}`);
      assert.match(reply.text, /"scope_needed"/, `${method} ${path}`);
      rejected++;
    }
    assert.ok(rejected >= (scope === "operate" ? 8 : 50), `${rejected} operations were rejected`);
    if (scope !== "operate") assert.deepEqual(await state(), before, "nothing has changed");
    const socket = `/process/${target.owned.process}/${scope === "publish" ? "detection_data" : "telemetry"}`;
    const { status } = await target.call("GET", socket, { key, isUpgrade: true });
    // The source of the process has no telemetry, or the process has ended.
    assert.equal(status === 403, scope !== "operate", `websockets need a scope too: ${status}`);
  });

/** What tenant B has. */
async function snapshot(key: string): Promise<unknown> {
  const paths = [
    "/sources",
    "/outputs",
    "/alerts",
    "/graphs",
    "/keys",
    "/accounts",
    `/subscriptions/${target.owned.process}`,
  ];
  const texts = await Promise.all(paths.map(async (path) => (await target.call("GET", path, { key })).text));
  return texts.map((text) => text.replaceAll(/"last_used_at":("[^"]*"|null)/g, "").replaceAll(/token=[^"]*/g, ""));
}

test("a key that is limited to one source finds nothing of another, on any operation", async () => {
  const body = JSON.stringify({ alias: "other", input_url: "rtsp://192.0.2.7/other", stream_type: "rtsp" });
  const made = await target.call("POST", "/stream", { key: target.keyB, body });
  const { uuid } = JSON.parse(made.text) as { uuid: string };
  const key = await addKey(["admin"], [uuid]);
  const hidden = Object.entries(target.owned).filter(([name]) => !["graph", "model"].includes(name));
  for (const { operation: _, method, path, ...options } of listCalls(target)) {
    const where = `${method} ${path}`;
    const reply = await target.call(method, path, { ...options, key });
    const { status, text } = reply.status === 426 ? await target.call(method, path, { key, isUpgrade: true }) : reply;
    if (hidden.some(([, own]) => path.includes(own) || options.body?.includes(own)))
      assert.ok([403, 404].includes(status), `${where}: ${status} ${text.slice(0, 300)}`);
    for (const [name, own] of hidden)
      if (!path.includes(own) && !options.body?.includes(own))
        assert.ok(!text.includes(own), `${where} shows the ${name}`);
  }
  const { text } = await target.call("GET", "/sources", { key });
  assert.deepEqual(
    (JSON.parse(text) as { sources: { uuid: string }[] }).sources.map((source) => source.uuid),
    [uuid],
  );
  assert.equal((await target.call("GET", `/source/${uuid}`, { key })).status, 200);
  const more = await target.call("POST", "/key", { key, body: JSON.stringify({ name: "more", scopes: ["read"] }) });
  assert.match(more.text, /"unlimited_key_needed"/);
});

test("rejects tokens that are altered, expired or of another resource", async () => {
  const { text } = await target.call("GET", `/output/${target.owned.video}`, { key: target.keyB });
  const [, token = assert.fail(`no signed URL in ${text}`)] = /[?&]token=([^"&]+)/.exec(text) ?? [];
  const open = `/output/${target.owned.video}/hls/index.m3u8?token=${token}`;
  const { status: good } = await target.call("GET", open, { address: ADDRESS.stranger });
  assert.notEqual(good, 403, "the original token is valid");
  for (const bad of corruptToken(token)) {
    const path = `/output/${target.owned.video}/hls/index.m3u8?token=${encodeURIComponent(bad)}`;
    const { status } = await target.call("GET", path, { address: ADDRESS.stranger });
    assert.ok([400, 401, 403].includes(status), `${path}: ${status}`);
  }
  const elsewhere = `/source/${target.owned.source}/hls/index.m3u8?token=${token}`;
  assert.equal((await target.call("GET", elsewhere, { address: ADDRESS.stranger })).status, 403);
  const readStatus = async () => (await target.call("GET", open, { address: ADDRESS.stranger })).status;
  await poll("it has expired", async () => (await readStatus()) === 403);
});

test(`${INPUTS} malformed inputs cause no server error and end no process (seed ${SEED})`, async () => {
  await sendMalformed(target, INPUTS, SEED, LANES);
  assert.deepEqual(target.pids, pids);
  assert.equal((await target.call("GET", "/status")).status, 200);
});
