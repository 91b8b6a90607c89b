/**
 * Failing elements in a copy of the checkout: folders that cannot be loaded, and elements that throw while running, as
 * shown by the command line, the log and the API. Runs from the bundle, as after the set-up.
 */
import assert from "node:assert/strict";
import { type ExecFileException, execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ForkedRunner } from "../../graphs/runtime/runner/runner.fixture.ts";
import { StateEvent } from "../../schemas/api/events.ts";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import { eventually } from "../../server/streams/streams.fixture.ts";
import { checkBy } from "../../server/validation.ts";
import { createKey, MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { copyCheckout } from "../checkout.fixture.ts";
import { makeClip } from "../graph.fixture.ts";

const FRAMES = 50;
/** Reached once: the second run resumes at the frame that failed, and has fewer frames left. */
const AT = 30;
const LIMIT_MS = 120_000;
const HERE = new URL(".", import.meta.url);

const folder = mkdtempSync(join(tmpdir(), "windhover-crash-"));
const checkout = join(folder, "checkout");
const targetsFile = join(checkout, "graphs/targets.json");
const command = join(checkout, "cli/windhover.mjs");
let service: TestService;
/** The source of a clip. */
let video: string;
/** A process on a source without an end. */
let bystander: string;

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const node = (...args: readonly string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    const options = { cwd: checkout, env: { ...process.env, NO_COLOR: "1" }, timeout: LIMIT_MS };
    execFile(process.execPath, args, options, (error: ExecFileException | null, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
const windhover = (...args: readonly string[]): Promise<Outcome> => node(command, ...args);

const GRAPH = `
graph: boom
about: Fails at a frame.
params:
  how: { enum: [not, throw, create, update, timer, close, escape, grow], default: throw }
  at: { type: integer, default: ${AT} }
chains:
  main:
    - source
    - decode
    - stage: { buffers: 500 } # so that a busy machine drops none
    - boom: { how: $how, at: $at }
    - print
`;

/** Text of the module, or null; the reported position and reason. */
const BROKEN: Readonly<Record<string, readonly [text: string | null, place: string, reason: RegExp]>> = {
  "broken-empty": [null, "elements/broken-empty/broken-empty.ts", /there is no such file/],
  "broken-syntax": ["\nconst x = {;\n", "elements/broken-syntax/broken-syntax.ts:2:12", /Expected identifier/],
  "broken-export": ["export default 42;\n", "elements/broken-export/broken-export.ts", /is not an element/],
  "broken-import": [
    'import { z } from "no-such-package";\nexport default z;\n',
    "elements/broken-import/broken-import.ts:1:19",
    /no-such-package/,
  ],
  "broken-load": [
    'function fail(): never {\n  throw new Error("not today");\n}\nfail();\n',
    "elements/broken-load/broken-load.ts:2:9",
    /not today/,
  ],
};

before(async () => {
  await copyCheckout(checkout);
  const boom = await readFile(new URL("boom.element.ts", HERE), "utf8");
  // Behind a symbolic link to a folder outside of the checkout: its imports must still resolve.
  await mkdir(join(folder, "elsewhere/boom"), { recursive: true });
  await writeFile(join(folder, "elsewhere/boom/boom.ts"), boom.replace("../../elements/element.ts", "../element.ts"));
  await symlink(join(folder, "elsewhere/boom"), join(checkout, "elements/boom"));
  for (const [name, [text]] of Object.entries(BROKEN)) {
    await mkdir(join(checkout, "elements", name));
    if (text !== null) await writeFile(join(checkout, "elements", name, `${name}.ts`), text);
  }
  await writeFile(join(checkout, "graphs/boom.yaml"), GRAPH);
  // What an earlier bundle has left.
  await mkdir(join(checkout, "build/bundle"));
  await writeFile(join(checkout, "build/bundle/inputs.json"), JSON.stringify([["package.json", 0, 0]]));
});
after(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

function assertReported(stderr: string): void {
  const lines = stderr.split("\n");
  for (const [name, [, place, reason]] of Object.entries(BROKEN)) {
    const [line = "", ...more] = lines.filter((text) => text.includes(`"${name}" is left out`));
    assert.ok(line.startsWith(`${place}: `), `${name}: ${stderr}`);
    assert.match(line, reason);
    assert.deepEqual(more, []);
  }
}

test("reports a broken element once with its position, and leaves it out, from sources and from the bundle", async () => {
  const graph = "graph: uses\nchains:\n  main:\n    - source\n    - broken-syntax\n    - fakesink\n";
  await writeFile(join(folder, "uses.yaml"), graph);
  const read = await windhover("check", join(folder, "uses.yaml"));
  assertReported(read.stderr);
  assert.equal(read.code, 2, read.stderr);
  assert.match(
    read.stderr,
    /uses\.yaml:5:7: the element "broken-syntax" could not be loaded: elements\/broken-syntax\/broken-syntax\.ts:2:12: Expected/,
    "why a graph with it does not compile",
  );
  const bundled = await node("setup/bundle.mjs");
  assert.equal(bundled.code, 0, bundled.stderr);
  assert.match(bundled.stderr, /element "broken-syntax" left out: elements\/broken-syntax\/broken-syntax\.ts:2/);
  const listed = await windhover("inspect");
  assertReported(listed.stderr);
  for (const [name, [, place]] of Object.entries(BROKEN))
    assert.match(listed.stdout, new RegExp(`^\\(broken\\) +${name} +${place}: `, "m"));
  assert.match(listed.stdout, /^windhover +boom +Fails at a frame/m);
});

/** The position in the source: `boom.ts` and the line. */
async function placeOf(text: string): Promise<string> {
  const source = await readFile(new URL("boom.element.ts", HERE), "utf8");
  const line = source.split("\n").findIndex((candidate) => candidate.includes(text)) + 1;
  assert.ok(line > 0, text);
  return `boom/boom.ts:${line}:`;
}

const FAILURES = [
  { hows: ["create"], printed: [/^windhover: boom: boom in create$/m], at: ["boom in create"] },
  { hows: ["timer"], printed: [/^windhover: uncaught error: boom in a timer$/m], at: ["boom in a timer"] },
  {
    hows: ["throw", "close"],
    printed: [/^windhover: boom: boom at 30$/m, /^boom-2: close\(\) failed: boom in close/m],
    at: ["boom at $", "boom in close"],
  },
];
test("the command line reports every failure with file and line of the TypeScript source, and exits with 1", async () => {
  for (const { hows, printed, at } of FAILURES) {
    const source = `source uri="test:ball?frames=${FRAMES}&width=64&height=48"`;
    const booms = hows.map((how) => `boom how=${how} at=${AT}`).join(" ! ");
    const { code, stderr } = await windhover("launch", `${source} ! decode ! ${booms} ! fakesink`);
    assert.equal(code, 1, `${booms}: ${stderr}`);
    for (const pattern of printed) assert.match(stderr, pattern);
    for (const text of at) assert.ok(stderr.includes(await placeOf(text)), `${booms}: ${stderr}`);
  }
});

const readProcess = (uuid: string, key = MASTER_KEY) =>
  service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`, { key });

async function startBoom(how: string, at: number, key = MASTER_KEY, source = video): Promise<string> {
  const started = await service.expect<{ process_uuid: string }>(
    201,
    "POST",
    `/start?source_uuid=${source}&graph=boom`,
    { json: { params: { how, at } }, key },
  );
  return started.process_uuid;
}

async function awaitEnd(uuid: string, key = MASTER_KEY): Promise<ProcessRecord> {
  await eventually(async () => /finished|failed/.test((await readProcess(uuid, key)).state), "the process has ended");
  return readProcess(uuid, key);
}

const checkState = checkBy(StateEvent);

/** All state events until the process ends. */
async function readStates(uuid: string): Promise<readonly StateEvent[]> {
  const response = await fetch(`${service.url}/process/${uuid}/events`, {
    headers: { api_key: MASTER_KEY },
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const text = await response.text();
  const states = [...text.matchAll(/^event: state\nid: .*\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ""));
  for (const state of states) assert.deepEqual(checkState(state), []);
  return states;
}

test("the service shows a crash while the process recovers, after recovery, and after giving up", async () => {
  const clip = await makeClip(folder, FRAMES, "width=64&height=48");
  service = await TestService.start({
    command,
    env: {
      WINDHOVER_RUNNERS_RESTARTS: "1",
      BOOM_TARGETS: targetsFile,
      WINDHOVER_RUNNERS_MEMORY_BYTES: String(2 ** 29),
    },
  });
  const broken = service.serving.stderr.split("\n").filter((line) => line.includes("element not loaded"));
  assert.equal(broken.length, Object.keys(BROKEN).length, service.serving.stderr);
  const tenant = await createKey(service, "tenant");
  ({ uuid: video } = await uploadVideo(service, clip));
  const { uuid: ofTenant } = await uploadVideo(service, clip, { key: tenant });

  const recovering = await startBoom("throw", AT);
  const [states, doomed] = await Promise.all([
    readStates(recovering),
    // At the first frame of every run.
    startBoom("throw", 0, tenant, ofTenant),
  ]);
  const [ended, failed] = [await awaitEnd(recovering), await awaitEnd(doomed, tenant)];

  const [crash] = states.filter(({ restarting }) => restarting);
  assert.deepEqual([crash?.state, crash?.error, crash?.last_error?.node], ["running", null, "boom"]);
  assert.equal(crash?.last_error?.detail, `boom: boom at ${AT}`);
  assert.deepEqual([ended.state, ended.error, ended.restarting], ["finished", null, false]);
  // It resumed at the frame that it failed on.
  assert.deepEqual([ended.stats.restarts, ended.stats.frames_lost], [1, 0]);
  assert.equal(ended.last_error?.node, "boom");
  assert.equal(ended.last_error?.detail, `boom: boom at ${AT}`);
  assert.ok(ended.last_error?.trace?.[0]?.includes(await placeOf("boom at $")), JSON.stringify(ended.last_error));
  assert.ok(service.serving.stderr.includes(await placeOf("boom at $")), "the position is in the log");

  assert.deepEqual([failed.state, failed.error?.code, failed.stats.restarts], ["failed", "pipeline_failed", 1]);
  assert.match(failed.error?.detail ?? "", /crashed more than 1 times .* boom: boom at 0/);
  assert.equal(failed.stats.frames_lost, FRAMES);
  assert.deepEqual(Object.keys(failed.last_error ?? {}).sort(), ["at", "detail", "node"]);

  const { processes } = await service.expect<{ processes: ProcessRecord[] }>(200, "GET", "/processes?state=all");
  assert.deepEqual(processes.find(({ uuid }) => uuid === recovering)?.last_error, ended.last_error);
});

test("errors of an element at its start and in live changes are in the response", async () => {
  const start = `/start?source_uuid=${video}&graph=boom`;
  const rejected = await service.call<{ detail: string }>("POST", start, { json: { params: { how: "create" } } });
  assert.equal(rejected.status, 503);
  assert.match(rejected.body.detail, /boom in create/);
  const { uuid: loop } = await uploadVideo(service, await makeClip(folder, 10, "width=64&height=48"), { loop: true });
  bystander = await startBoom("not", 0, MASTER_KEY, loop);
  const patched = await service.call<{ detail: string }>("PATCH", `/process/${bystander}/graph`, {
    json: { boom: { how: "update" } },
  });
  assert.ok(patched.status >= 400 && patched.status < 500, `${patched.status}: ${patched.text}`);
  assert.match(patched.text, /boom in update/);
  const { state, last_error } = await readProcess(bystander);
  assert.deepEqual([state, last_error], ["running", null]);
});

/** From the command line of the private PostgreSQL. */
async function findDatabaseSocket(serverPid: number): Promise<string> {
  const children = (await readFile(`/proc/${serverPid}/task/${serverPid}/children`, "utf8")).trim().split(" ");
  const commands = await Promise.all(children.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  const socketFolder = /unix_socket_directories="([^"]+)"/.exec(commands.join())?.[1];
  assert.ok(socketFolder !== undefined, commands.join());
  return join(socketFolder, ".s.PGSQL.5432");
}

test("code in a runner cannot access the outside or use up the memory of the machine; other processes continue", async () => {
  const { pid } = service.serving;
  const targets = { pid, file: join(service.folder.path, "data/secret"), database: await findDatabaseSocket(pid) };
  await writeFile(targets.file, "secret");
  await writeFile(targetsFile, JSON.stringify(targets));
  const [escaping, growing] = await Promise.all([startBoom("escape", AT), startBoom("grow", AT)]);
  const [escaped, grown] = [await awaitEnd(escaping), await awaitEnd(growing)];
  assert.equal(escaped.last_error?.node, "boom");
  assert.equal(
    escaped.last_error?.detail,
    "uncaught error: escape: read EACCES, write EACCES, database EACCES, denied EACCES, fork EPERM, kill EPERM",
  );
  assert.deepEqual([grown.state, grown.stats.restarts], ["finished", 1]);
  assert.match(grown.last_error?.detail ?? "", /the limit is 512 MiB|was ended by SIG/);
  const { state, stats, last_error } = await readProcess(bystander);
  assert.deepEqual([state, stats.restarts, last_error], ["running", 0, null]);
});

test("a runner behaves the same bundled and from sources, and sources newer than the bundle win", async () => {
  const { findBundle } = (await import(
    pathToFileURL(join(checkout, "setup/load.mjs")).href
  )) as typeof import("../../setup/load.mjs");
  const firstMessages = async (): Promise<string> => {
    const runner = new ForkedRunner(join(checkout, "graphs/runtime/runner/runner.mjs"));
    await runner.start({ sourceUri: "test:ball?width=64&height=48&frames=5", epochMs: 0 });
    await runner.exited;
    assert.equal(runner.states.at(-1), "finished");
    return JSON.stringify(runner.messages);
  };
  assert.ok(findBundle("runner"));
  const bundled = await firstMessages();
  await utimes(join(checkout, "graphs/runtime/limits.ts"), new Date(), new Date());
  assert.equal(findBundle("runner"), null);
  assert.equal(await firstMessages(), bundled);
});
