/**
 * Attacks on a real service by a client without a key and by tenant A, while tenant B uses it normally.
 * `npm run soak -- attack` takes half an hour; `npm test` runs each part once.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { createKey } from "../api/service.fixture.ts";
import { corruptToken, listCalls, listForeignCalls } from "../attack/cross-tenant.fixture.ts";
import { FLOODS, type Flood } from "../attack/floods.fixture.ts";
import { inputsFor } from "../attack/malformed.fixture.ts";
import { ADDRESS, type Measurement, measure, p99Of, Target } from "../attack/target.fixture.ts";
import { childCommand } from "../child.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const TIMEOUT_MS = rounds(240_000, 3_600_000);
const INPUTS = rounds(60, 25_000);
const LANES = 8;
/** Quiet and flooded times alternate, so that a machine that is slow for a while slows both. */
const FLOOD_ROUNDS = rounds(1, 7);
const FLOOD_MS = rounds(300, 8_000);
const QUIET_MS = rounds(100, 8_000);
/** Maximum factor of the p99 latency of others during a flood. Not checked in `npm test`, where other tests run as well. */
const MAX_SLOWDOWN = 3;
const IS_LONG = rounds(0, 1) === 1;
/** Maximum resident size in MB during all attacks. */
const MAX_MB: Readonly<Record<string, number>> = { server: 600, hub: 400, runner: 700, probe: 400, enhance: 600 };
const SEED = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9);

const FLOODER = childCommand(new URL("../attack/flood.child.ts", import.meta.url));
const URL_SECONDS = 5;
const target = await Target.open({
  WINDHOVER_MEDIA_URL_SECONDS: String(URL_SECONDS),
  // The default. Beside other tests it takes longer to examine a video.
  ...(IS_LONG && { WINDHOVER_UPLOADS_PROBE_SECONDS: "20" }),
});
after(() => target.close());
const before = target.pids;

test("resources of another tenant are not found, and nothing is accessible without a key", {
  timeout: TIMEOUT_MS,
}, async () => {
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
  test(`a key with the scope \`${scope}\` can do nothing else, on any operation`, { timeout: TIMEOUT_MS }, async () => {
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

test("a key that is limited to one source finds nothing of another, on any operation", {
  timeout: TIMEOUT_MS,
}, async () => {
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

test("rejects tokens that are altered, expired or of another resource", { timeout: TIMEOUT_MS }, async () => {
  const { text } = await target.call("GET", `/output/${target.owned.video}`, { key: target.keyB });
  const [, token = assert.fail(`no signed URL in ${text}`)] = /[?&]token=([^"&]+)/.exec(text) ?? [];
  const open = `/output/${target.owned.video}/hls/index.m3u8?token=${token}`;
  const { status: good } = await target.call("GET", open, { address: ADDRESS.stranger });
  assert.notEqual(good, 403, "the original token is valid");
  const corrupted = corruptToken(token);
  for (const bad of IS_LONG ? corrupted : corrupted.filter((_, i) => i % 5 === 0 || i > corrupted.length - 12)) {
    const path = `/output/${target.owned.video}/hls/index.m3u8?token=${encodeURIComponent(bad)}`;
    const { status } = await target.call("GET", path, { address: ADDRESS.stranger });
    assert.ok([400, 401, 403].includes(status), `${path}: ${status}`);
  }
  const elsewhere = `/source/${target.owned.source}/hls/index.m3u8?token=${token}`;
  assert.equal((await target.call("GET", elsewhere, { address: ADDRESS.stranger })).status, 403);
  await sleep(URL_SECONDS * 1000 + 2000); // expiry is rounded up to whole seconds
  assert.equal((await target.call("GET", open, { address: ADDRESS.stranger })).status, 403, "it has expired");
});

async function measureDuring(flood: Flood): Promise<Measurement> {
  const isKeyless = flood.name.startsWith("no key");
  const victim = {
    ports: target.ports,
    address: isKeyless ? ADDRESS.stranger : ADDRESS.tenantA,
    key: isKeyless ? "" : target.keyA,
  };
  const child = spawn(process.execPath, [...FLOODER, JSON.stringify(victim), flood.name], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  try {
    await once(child.stdout, "data");
    return await measure(target, AbortSignal.timeout(FLOOD_MS));
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}

/** The p99 latency of each round, and the median of those: a moment in which the whole machine is slow does not decide. */
const middleP99 = (measured: readonly Measurement[]): number =>
  measured.map(p99Of).sort((a, b) => a - b)[Math.floor(measured.length / 2)] ?? 0;

test("a flood of one client does not affect others", { timeout: TIMEOUT_MS }, async (context) => {
  const faults: string[] = [];
  for (const flood of FLOODS) {
    const quiet: Measurement[] = [];
    const flooded: Measurement[] = [];
    for (let round = 0; round < FLOOD_ROUNDS; round++) {
      quiet.push(await measure(target, AbortSignal.timeout(QUIET_MS)));
      flooded.push(await measureDuring(flood));
    }
    const all = [...quiet, ...flooded];
    assert.deepEqual(
      all.flatMap(({ failures }) => failures),
      [],
      flood.name,
    );
    const slower = middleP99(flooded) / middleP99(quiet);
    const requests = flooded.reduce((sum, { timesMs }) => sum + timesMs.length, 0);
    const row = `${flood.name}: ${requests} requests, p99 ${slower.toFixed(2)} times the normal one (${middleP99(quiet).toFixed(1)} ms)`;
    context.diagnostic(row);
    if (IS_LONG && slower > MAX_SLOWDOWN) faults.push(row);
  }
  assert.deepEqual(faults, []);
});

test(`${INPUTS} malformed inputs cause no server error (seed ${SEED})`, { timeout: TIMEOUT_MS }, async (context) => {
  const key = await createKey(target.service, "tenant-f", "--graph-author", "--limit", "requests_per_minute=10000000");
  const clip = await readFile(await makeClip(temporaryFolder(), 10, "width=64&height=48"));
  const counts = new Map<string, number>();
  const queue = fc.sample(inputsFor(target, key, clip), { numRuns: INPUTS, seed: SEED }).values();
  const faults: string[] = [];
  const lane = async () => {
    for (const { kind, send } of queue) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      const fault = await send(target);
      if (fault !== null) faults.push(`${kind}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  assert.deepEqual(faults, []);
  context.diagnostic([...counts].map(([kind, count]) => `${kind} ${count}`).join(", "));
});

test("no process was restarted, and memory stays within limits", async (context) => {
  assert.deepEqual(target.pids, before);
  const peaks = target.takePeaks();
  context.diagnostic([...peaks].map(([name, mb]) => `${name} ${mb.toFixed(0)} MB`).join(", "));
  for (const [name, mb] of peaks) assert.ok(mb <= (MAX_MB[name] ?? 0), `${name}: ${mb.toFixed(0)} MB`);
  assert.equal((await target.call("GET", "/status")).status, 200);
});
