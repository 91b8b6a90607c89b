import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { makeConfig } from "../api/app.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import type { RecordingReport } from "./hub-process.ts";
import { MediaHub } from "./media-hub.ts";
import { until } from "./media-service.fixture.ts";
import { RunTokens } from "./run-tokens.ts";

const REAL = new URL("../../hub/hub.mjs", import.meta.url);
const HELLO = `process.send({ type: "hello", protocol: 1, pid: process.pid });`;
const READY = `process.on("message", (said) => said.type === "start" && process.send({ type: "ready", rtspPort: 5, rtmpPort: 6 }));`;

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

function open(entry: URL, settings: Readonly<Record<string, string>> = {}) {
  const heard: RecordingReport["type"][] = [];
  let losses = 0;
  const opening = MediaHub.open({
    config: makeConfig({ RTSP_PORT: "0", RTMP_PORT: "0", RECORDINGS_RESERVE_BYTES: "0", ...settings }),
    log: silentLog,
    entry,
    places: { httpSocket: join(folder, `${Math.random()}`.slice(2, 12)), recordingsFolder: folder },
    tokens: new RunTokens(),
    judge: async () => ({ refusal: { kind: "unauthorized", detail: "nobody" }, recording: null }),
    recordings: { hear: ({ type }) => void heard.push(type), loseHub: () => void losses++ },
  });
  return { opening, heard, losses: () => losses };
}

test("a hub that hangs is started again on the same ports", async () => {
  const { opening, heard, losses } = open(REAL, { MEDIA_SILENT_SECONDS: "2" });
  const hub = await opening;
  try {
    await until("it has looked for what was left", () => heard.includes("repaired"));
    const { pid = 0, rtspPort } = hub;
    process.kill(pid, "SIGSTOP");
    await until("another runs", () => hub.pid !== pid && hub.trouble === null);
    assert.deepEqual([hub.rtspPort, hub.numbers.restarts, losses()], [rtspPort, 1, 1]);
    assert.throws(() => process.kill(pid, 0), "the first one is gone");
  } finally {
    await hub.close();
  }
  assert.throws(() => process.kill(hub.pid ?? 0, 0), "nothing is left running");
});

test("a port that is taken is told in words, and nothing is left running", async () => {
  const taken = createServer();
  const port = await new Promise<number>((resolve) =>
    taken.listen(0, "127.0.0.1", () => resolve((taken.address() as { port: number }).port)),
  );
  await assert.rejects(open(REAL, { RTMP_PORT: String(port) }).opening, {
    name: "HubFault",
    message: new RegExp(`127\\.0\\.0\\.1:${port} for RTMP: something else listens there`),
  });
  taken.close();
});

test("a hub of another version, one that talks nonsense, and one that never listens do not start", async () => {
  const old = await script(
    "old",
    `process.send({ type: "hello", protocol: 0, pid: 1 });`,
    "setInterval(() => {}, 1e6);",
  );
  await assert.rejects(open(old).opening, /version 0 of the protocol/);
  const garbage = await script(
    "garbage",
    `process.send({ type: "ready", rtspPort: "x" });`,
    "setInterval(() => {}, 1e6);",
  );
  await assert.rejects(open(garbage).opening, /said something that no hub of this version says/);
  const mute = await script("mute", HELLO, "setInterval(() => {}, 1e6);");
  await assert.rejects(open(mute, { MEDIA_LOAD_SECONDS: "0.5" }).opening, /did not listen within 0\.5 s/);
  const crash = await script("crash", "process.exit(3);");
  await assert.rejects(open(crash).opening, /ended with code 3/);
});

test("a hub that dies again and again is tried again and again, more and more slowly, until it is closed", async () => {
  const entry = await script("dying", HELLO, READY, "setTimeout(() => process.exit(7), 300);");
  const { opening, losses } = open(entry, { MEDIA_RESTART_FIRST_SECONDS: "0.1" });
  const hub = await opening;
  await until("it has died three times", () => hub.numbers.restarts >= 3);
  assert.match(hub.trouble ?? (await until("it is gone", () => hub.trouble)), /ended with code 7/);
  assert.ok(losses() >= 3);
  await hub.close();
});

test("one that does not stop when it is told to is killed", async () => {
  const entry = await script(
    "stubborn",
    HELLO,
    READY,
    `process.on("disconnect", () => {});`,
    "setInterval(() => {}, 1e6);",
  );
  const hub = await open(entry, { MEDIA_STOP_SECONDS: "0.3" }).opening;
  const { pid = 0 } = hub;
  await hub.close();
  assert.throws(() => process.kill(pid, 0));
});
