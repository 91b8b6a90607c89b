import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Deadline } from "../../ipc/channel.ts";
import { HUB_PROTOCOL } from "../../schemas/hub.ts";
import { findHubPorts } from "../../test/ports.fixture.ts";
import { poll } from "../../test/watch.fixture.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { backoff } from "../async/timing.ts";
import { isAlive } from "../is-alive.ts";
import { silentLog } from "../store/database.fixture.ts";
import { RunTokens } from "./authorization.ts";
import { CLIENT_LIMITS, type LIMITS, MediaHub, type RecordingReport } from "./media-hub.ts";
import { WRONG_KEY_MS } from "./open-media.ts";

const REAL = new URL("../../hub/hub.mjs", import.meta.url);
const HELLO = `process.send({ type: "hello", protocol: ${HUB_PROTOCOL}, pid: process.pid });`;
const READY = `process.on("message", ({ type, id }) => {
  if (type === "start") process.send({ type: "reply", id, error: null, result: { rtspPort: 5, rtmpPort: 6, srtPort: 7, rtspsPort: null, rtmpsPort: null } });
});`;

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "windhover-supervision-"));
});
after(() => rm(folder, { recursive: true, force: true }));

async function script(name: string, ...lines: readonly string[]): Promise<URL> {
  const file = join(folder, `${name}.mjs`);
  await writeFile(file, lines.join("\n"));
  return pathToFileURL(file);
}

function open(entry: URL, limits: Partial<typeof LIMITS> = {}, settings: Readonly<Record<string, string>> = {}) {
  const reports: RecordingReport["type"][] = [];
  let losses = 0;
  const opening = MediaHub.open({
    config: makeConfig({ RTSP_PORT: "0", RTMP_PORT: "0", SRT_PORT: "0", RECORDINGS_RESERVE_BYTES: "0", ...settings }),
    log: silentLog,
    ...{ entry, limits },
    httpSocket: join(folder, `${Math.random()}`.slice(2, 12)),
    recordingsFolder: folder,
    tokens: new RunTokens(),
    authorize: async () => ({ refusal: { kind: "unauthorized", detail: "rejected" }, recording: null }),
    recordings: { handle: ({ type }) => void reports.push(type), onHubLost: () => void losses++, unreported: [] },
  });
  return { opening, reports, losses: () => losses };
}

test("restarts a hub that hangs, on the same ports", async () => {
  const { opening, reports, losses } = open(REAL, { silentMs: 2_000 }, await findHubPorts());
  const hub = await opening;
  try {
    await poll("it has repaired recordings", () => reports.includes("repaired"));
    const { pid = 0, rtspPort } = hub;
    process.kill(pid, "SIGSTOP");
    await poll("another runs", () => hub.pid !== pid && hub.trouble === null);
    assert.deepEqual([hub.rtspPort, hub.numbers.restarts, losses()], [rtspPort, 1, 1]);
    assert.ok(!isAlive(pid), "the first one is gone");
  } finally {
    await hub.close();
  }
  assert.ok(!isAlive(hub.pid ?? 0), "nothing is left running");
});

test("keeps its hub after the server itself was stopped for longer than the silence limit", async () => {
  const silentMs = 2000;
  const { opening, reports } = open(REAL, { silentMs });
  const hub = await opening;
  try {
    await poll("it has repaired recordings", () => reports.includes("repaired"));
    const { pid } = hub;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, silentMs + 500);
    // By the time that this one is missed, the hub would have been.
    await new Promise<void>((resolve) => new Deadline(1, resolve));
    assert.deepEqual([hub.pid, hub.trouble, hub.numbers.restarts], [pid, null, 0]);
  } finally {
    await hub.close();
  }
});

test("reports a port that is in use, and leaves nothing running", async () => {
  const pids = join(folder, "pids");
  const noting = await script(
    "noting",
    `import { appendFileSync } from "node:fs";`,
    `appendFileSync(${JSON.stringify(pids)}, process.pid + "\\n");`,
    `await import(${JSON.stringify(REAL.href)});`,
  );
  const taken = createServer();
  const port = await new Promise<number>((resolve) =>
    taken.listen(0, "127.0.0.1", () => resolve((taken.address() as { port: number }).port)),
  );
  await assert.rejects(open(noting, {}, { RTMP_PORT: String(port) }).opening, {
    name: "HubFault",
    message: new RegExp(`127\\.0\\.0\\.1:${port} for RTMP: another process listens there`),
  });
  taken.close();
  const started = (await readFile(pids, "utf8")).trim().split("\n").map(Number);
  assert.ok(started.length > 1, "it is tried more than once");
  for (const pid of started) assert.ok(!isAlive(pid));
});

test("rejects a hub of another version, one that sends invalid messages, and one that never listens", async () => {
  const old = await script(
    "old",
    `process.send({ type: "hello", protocol: 0, pid: 1 });`,
    "setInterval(() => {}, 1e6);",
  );
  await assert.rejects(open(old).opening, /version 0 of its messages/);
  const garbage = await script(
    "garbage",
    `process.send({ type: "published", stream: "x" });`,
    "setInterval(() => {}, 1e6);",
  );
  await assert.rejects(open(garbage).opening, /sent an invalid message/);
  const mute = await script("mute", HELLO, "setInterval(() => {}, 1e6);");
  await assert.rejects(open(mute, { loadMs: 500 }).opening, /did not listen within 0\.5 s/);
  const crash = await script("crash", "process.exit(3);");
  await assert.rejects(open(crash).opening, /ended with code 3/);
});

test("restarts a hub that keeps crashing with growing delays, until it is closed", async () => {
  const firstMs = 100;
  const lives = join(folder, "lives");
  const note = (what: string) => `appendFileSync(${JSON.stringify(lives)}, "${what} " + Date.now() + "\\n");`;
  const entry = await script(
    "dying",
    `import { appendFileSync } from "node:fs";`,
    note("born"),
    ...[HELLO, READY, `process.on("exit", () => { ${note("died")} });`, "setTimeout(() => process.exit(7), 200);"],
  );
  const { opening, losses } = open(entry, { restart: { firstMs, maxMs: 10_000 } });
  const hub = await opening;
  await poll("it has died four times", () => hub.numbers.restarts >= 4);
  assert.match(hub.trouble ?? (await poll("it is gone", () => hub.trouble)), /ended with code 7/);
  assert.ok(losses() >= 4);
  await hub.close();
  const moments = (await readFile(lives, "utf8")).trim().split("\n");
  const at = (what: string) => moments.flatMap((line) => (line.startsWith(what) ? [Number(line.split(" ")[1])] : []));
  const [born, died] = [at("born"), at("died")];
  for (const attempt of [1, 2, 3]) {
    const leastMs = backoff(attempt, { firstMs, maxMs: 10_000 }, 0);
    const pauseMs = (born[attempt] ?? Number.NaN) - (died[attempt - 1] ?? Number.NaN);
    assert.ok(pauseMs >= Math.floor(leastMs), `pause ${attempt} was of ${pauseMs} ms, not of ${leastMs}`);
  }
});

test("a delayed response to a wrong key is in time for the client", () =>
  assert.ok(WRONG_KEY_MS < CLIENT_LIMITS.verdictMs));

test("kills a hub that does not stop", async () => {
  const entry = await script(
    "stubborn",
    HELLO,
    READY,
    `process.on("disconnect", () => {});`,
    "setInterval(() => {}, 1e6);",
  );
  const hub = await open(entry, { stopMs: 300 }).opening;
  const { pid = 0 } = hub;
  await hub.close();
  assert.ok(!isAlive(pid));
});
