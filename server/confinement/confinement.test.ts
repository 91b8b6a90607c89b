/** A runner under the control of an attacker harms neither the service nor other processes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { jobOn } from "../../graphs/runtime/runner/runner.fixture.ts";
import { describeExit } from "../../ipc/child.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { isAlive } from "../is-alive.ts";
import { processRecordingsFolder } from "../media/recordings/recording-files.ts";
import { Runner } from "../processes/runner.ts";
import { RunnerFolders } from "../processes/runner-folders.ts";
import { videoFolder } from "../sources/video-files.ts";
import { silentLog } from "../store/database.fixture.ts";
import { Confinement } from "./confinement.ts";

const MISBEHAVING = new URL("./misbehaving-runner.fixture.mjs", import.meta.url);
const MEMORY_BYTES = 2 ** 28;
/** An address where nothing listens. */
const DENIED = "127.8.8.8";
const isRoot = process.getuid?.() === 0;

type Try = readonly [kind: "read" | "list" | "write" | "fork" | "kill" | "connect" | "allocate", value: unknown];

interface Account {
  readonly outcomes: readonly string[];
  readonly privileges: Readonly<Record<"Uid" | "CapEff" | "NoNewPrivs", string>>;
  readonly names: readonly string[];
  readonly sourceUri: string;
  readonly attach: readonly { readonly params: { readonly path: string } }[];
}

const dataDir = mkdtempSync(join(tmpdir(), "windhover-confinement-"));
chmodSync(dataDir, 0o711);
const [first, second] = ["first.mp4", "second.mp4"].map((name) => join(videoFolder(dataDir), name)) as [string, string];
const recording = join(processRecordingsFolder(dataDir), "one/0.mp4");
const listeners: Server[] = [];
const runners: Runner[] = [];
let confinement: Confinement;
let folders: RunnerFolders;

before(async () => {
  // As the service does: its files are private.
  process.umask(0o077);
  process.env.WINDHOVER_BOOTSTRAP_KEY = process.env.SOME_API_TOKEN = "secret";
  ({ confinement, folders } = await open({}));
  mkdirSync(join(processRecordingsFolder(dataDir), "one"));
  for (const path of [first, second, join(dataDir, "settings.yaml")]) writeFileSync(path, "video", { mode: 0o600 });
});
afterEach(async () => {
  for (const runner of runners) runner.kill("the test is over");
  await Promise.all(runners.splice(0).map(({ child }) => child.gone));
});
after(async () => {
  for (const listener of listeners) listener.close();
  await folders.close();
  confinement.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function open(settings: Readonly<Record<string, string>>) {
  const config = makeConfig({ DATA_DIR: dataDir, NETWORK_DENY: DENIED, ...settings });
  const opened = await Confinement.open({ config, log: silentLog, reads: [] });
  return { confinement: opened, folders: await RunnerFolders.open(dataDir, opened.account, silentLog) };
}

async function load(options: Partial<ConstructorParameters<typeof Runner>[0]> = {}): Promise<Runner> {
  const runner = new Runner({
    ...{ entry: MISBEHAVING, confinement, folders, log: silentLog, loadMs: 60_000, replyMs: 60_000 },
    ...{ stopMs: 5000, silentMs: 5000 },
    ...{ memoryBytes: MEMORY_BYTES, writes: [], ...options },
  });
  runners.push(runner);
  await runner.child.loaded;
  return runner;
}

const attempt = async (runner: Runner, tries: readonly Try[], job = {}): Promise<Account> =>
  (await runner.request({
    type: "start",
    job: jobOn({ sourceUri: "test:ball", params: { tries }, ...job }),
  })) as Account;

async function listen(at: string | number): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  listeners.push(server);
  await once(typeof at === "string" ? server.listen(at) : server.listen(at, "127.0.0.1"), "listening");
  return server;
}

test("a runner can open only the files of its process", async () => {
  const other = await load();
  await attempt(other, [], { sourceUri: second });
  const { outcomes } = await attempt(await load(), [
    ["read", join(dataDir, "settings.yaml")],
    ["read", second],
    ["list", videoFolder(dataDir)],
    ["list", dataDir],
    ["list", tmpdir()],
    ["read", "/etc/shadow"],
    ["write", join(tmpdir(), "windhover-written")],
    ["write", join(videoFolder(dataDir), "written")],
    ["write", "/dev/shm/windhover-written"],
    ["read", `/proc/${process.pid}/environ`],
    ["read", `/proc/${process.pid}/mem`],
    ["read", `/proc/${other.pid}/environ`],
  ]);
  assert.deepEqual([...new Set(outcomes)], ["EACCES"]);
});

test("a runner reads the video of its process and writes its recording", async () => {
  const attach = [{ id: "recording", slot: "recording", params: { path: recording } }];
  const runner = await load();
  const lent = await attempt(runner, [], { sourceUri: first, attach });
  const path = lent.attach[0]?.params.path ?? "";
  const { outcomes } = await attempt(runner, [
    ["read", lent.sourceUri],
    ["write", path],
    ["write", lent.sourceUri],
  ]);
  assert.deepEqual(outcomes, ["done", "done", "EACCES"]);
  assert.equal(readFileSync(recording, "utf8"), "mine");
  assert.equal(readFileSync(first, "utf8"), "video");
});

test("a runner can connect neither to Unix sockets, such as that of the database, nor to denied addresses", async () => {
  const database = join(dataDir, ".s.PGSQL.5432");
  await listen(database);
  const { port } = (await listen(0)).address() as AddressInfo;
  const { outcomes } = await attempt(await load(), [
    ["connect", { path: database }],
    ["connect", { path: "\0windhover" }],
    ["connect", { host: DENIED, port }],
    ["connect", { host: `::ffff:${DENIED}`, port }],
    ["connect", { host: `64:ff9b::${DENIED}`, port }],
    ["connect", { host: "169.254.169.254", port: 80 }],
    ["connect", { host: "fe80::1", port: 80 }],
    ["connect", { host: "127.0.0.1", port }],
    ["connect", { host: "::ffff:127.0.0.1", port }],
  ]);
  assert.deepEqual(outcomes, [...Array(7).fill("EACCES"), "done", "done"]);
});

test("a runner can start no program, end no process and has no privileges", async () => {
  const other = await load();
  const { outcomes, privileges, names } = await attempt(await load(), [
    ["fork", "/bin/true"],
    ["fork", process.execPath],
    ["kill", process.pid],
    ["kill", other.pid],
    ["kill", -1],
  ]);
  assert.deepEqual(outcomes, Array(5).fill("EPERM"));
  assert.ok(isAlive(other.pid ?? 0));
  assert.deepEqual(privileges, { Uid: String(process.getuid?.()), CapEff: "0".repeat(16), NoNewPrivs: "1" });
  assert.deepEqual(
    names.filter((name) => /BOOTSTRAP|TOKEN|DATABASE/.test(name)),
    [],
  );
});

test("kills a runner that exceeds its memory limit, and no other", async () => {
  const other = await load();
  const runner = await load();
  await assert.rejects(attempt(runner, [["allocate", 8 * 2 ** 30]]), { name: "NoReply" });
  // By us, or by the kernel before we could read its usage.
  assert.match(
    describeExit("the runner", await runner.child.gone),
    /the limit is 256 MiB|ended by SIG(ABRT|TRAP|SEGV)/,
  );
  assert.equal((await attempt(other, [])).outcomes.length, 0);
});

test("the kernel limits memory where our check is too late", async () => {
  const { confinement } = await open({});
  const child = confinement.spawn({ entry: MISBEHAVING, memoryBytes: MEMORY_BYTES, hasChannel: true });
  child.send({ type: "start", id: 1, job: { params: { tries: [["reserve", 8 * 2 ** 30]] } } });
  child.stderr?.resume();
  const reply = new Promise<string>((resolve) => {
    child.on("message", (message: { type: string; result?: Account }) => {
      if (message.type === "reply") resolve(message.result?.outcomes[0] ?? "");
    });
    child.on("exit", () => resolve("ended"));
  });
  assert.notEqual(await reply, "done");
  child.kill("SIGKILL");
  confinement.close();
});

test("as root, runners run as another user that can open the files lent to it", { skip: !isRoot }, async () => {
  const as = await open({ RUNNERS_USER: "nobody" });
  const runner = await load({ ...as });
  const path = join(processRecordingsFolder(dataDir), "one/1.mp4");
  const attach = [{ id: "recording", slot: "recording", params: { path } }];
  const lent = await attempt(runner, [], { sourceUri: first, attach });
  assert.notEqual(lent.privileges.Uid, "0");
  const { outcomes } = await attempt(runner, [
    ["read", lent.sourceUri],
    ["write", lent.attach[0]?.params.path],
    ["read", second],
    ["connect", { host: "169.254.169.254", port: 80 }],
  ]);
  assert.deepEqual(outcomes, ["done", "done", "EACCES", "EACCES"]);
  assert.equal(readFileSync(path, "utf8"), "mine");
  runner.kill("the test is over");
  await runner.child.gone;
  await as.folders.close();
  as.confinement.close();
});
