/** Processes of stored graphs, and their upgrades: the real API, database, compiler and runner. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ENTRY } from "../../graphs/runtime/runner/runner.fixture.ts";
import type { ProcessGraph, ProcessUpgrade } from "../../schemas/api/graphs.ts";
import type { BranchRecord } from "../../schemas/api/outputs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import { loadTestKnowledge } from "../graphs/knowledge.fixture.ts";
import { GraphLibrary } from "../graphs/library.ts";
import { OwnGraphs } from "../graphs/own-graphs.ts";
import { NO_RECORDED, testHub } from "../media/media.fixture.ts";
import { addUser, openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import type { User } from "../user.ts";
import { makeConfig, openApp, type TestApp } from "./app.fixture.ts";
import { branchEndpoints, graphEndpoints, processGraphEndpoints, processUpgradeEndpoints } from "./graphs.ts";
import { processEndpoints } from "./processes.ts";

const SOURCE = "test:ball?width=64&height=48";
/** What differs between the versions of the graph. */
interface Variant {
  readonly every?: string;
  readonly param?: string;
  readonly step?: string;
  readonly branch?: string;
  readonly slot?: string;
}
const yard = ({ every = "$every", param = "1", step = "", branch = "", slot = "copy" }: Variant = {}) => `graph: yard
params:
  every: { type: integer, minimum: 1, default: ${param}, live: true }
  word: { type: string, enum: [a, b, c], default: a }
chains:
  main:
    - source
    - decode
${step}    - tee: { name: frames }
  data:
    - from: frames
    - stage
    - print: { every: ${every}, keys: [$word] }
${branch}slots:
  ${slot}:
    params: { step: { type: integer, minimum: 1, default: 1 } }
    chain: [{ from: frames }, stage, { print: { every: $step } }]
  feed:
    chain: [{ from: frames }, stage, jpegenc, feed]
`;
/** By version. */
const TEXTS = [
  yard(),
  yard({ every: "5" }),
  yard({ branch: "  more:\n    - from: frames\n    - stage\n    - print: { name: other, every: 9 }\n" }),
  yard({ step: "    - videocrop: { left: 8 }\n" }),
  // Compiles, and cannot run: frames have 48 lines.
  yard({ step: "    - videocrop: { top: 4000 }\n" }),
  yard({ slot: "other" }),
  yard({ param: "7" }),
];
const [FIRST, LIVE, BRANCH, CROPPED, BROKEN, SLOT, DEFAULT] = [1, 2, 3, 4, 5, 6, 7];

let database: TestDatabase;
let library: GraphLibrary;
let stage: Stage;
let app: TestApp;
let other: User;
let uuid: string;
const config = makeConfig({ GRAPHS_AUTHOR_ELEMENTS: "print", GRAPHS_COMPILE_SECONDS: "60" });

async function openService(user?: User, sourceUuid?: string): Promise<void> {
  stage = await openStage(database.sql, {
    settings: { RUNNERS_START_SECONDS: "60" },
    limits: { loadMs: 60_000 },
    ...(user !== undefined && { user }),
    ...(sourceUuid !== undefined && { sourceUuid }),
    needs: {
      runnerEntry: pathToFileURL(ENTRY),
      prepare: (order) => library.prepare(order),
      resolveInput: async () => ({
        ...{ uri: SOURCE, isFile: false, label: "test:ball", locate: async () => SOURCE, telemetry: null },
      }),
    },
  });
  const { sql } = database;
  const { supervisor: processes } = stage;
  const own = new OwnGraphs({ sql, library, config, listModels: async () => [] });
  app = await openApp(
    [
      ...graphEndpoints({ library, own, config }),
      ...branchEndpoints(processes),
      ...processGraphEndpoints({ library, processes }),
      ...processUpgradeEndpoints(processes, sql),
      ...processEndpoints({
        sql,
        processes,
        hub: testHub(),
        recordings: { list: async () => [] },
        recorded: NO_RECORDED,
      }),
    ],
    { authenticate: async (key) => ({ ...(key === "other" ? other : stage.user), isGraphAuthor: true }) },
  );
}

before(async () => {
  database = await testDatabase();
  library = await GraphLibrary.open(await loadTestKnowledge(), config);
  other = await addUser(database.sql);
  await openService();
  for (const [index, text] of TEXTS.entries()) {
    const stored = await call<{ version: number }>("PUT", "/graphs/yard", { yaml: text }, 201);
    assert.equal(stored.version, index + 1);
  }
});
after(async () => {
  await stage.supervisor.close();
  await app.close(0);
  await library.close();
  await database.close();
});

async function call<T>(method: string, path: string, body?: unknown, status = 200, key = "ada"): Promise<T> {
  const response = await app.call(path, {
    method,
    headers: { api_key: key, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
}

const start = async (graph: string, params = {}) => {
  const path = `/start?source_uuid=${stage.sourceUuid}&graph=${graph}`;
  return (await call<{ process_uuid: string }>("POST", path, { params }, 201)).process_uuid;
};
const upgrade = (version: number, more: object = {}) =>
  call<ProcessUpgrade>("POST", `/process/${uuid}/graph`, { version, ...more });
const refuse = (version: number, status: number, key = "ada") =>
  call<Problem>("POST", `/process/${uuid}/graph`, { version }, status, key);
const readProcess = () => call<ProcessRecord>("GET", `/process/${uuid}`);
const readGraph = () => call<ProcessGraph>("GET", `/process/${uuid}/graph`);
const nodesOf = ({ segments }: ProcessGraph) => segments.flatMap(({ nodes }) => nodes.map(({ name }) => name));
const everyOf = ({ segments }: ProcessGraph) =>
  segments.flatMap(({ nodes }) => nodes).find(({ name }) => name === "print")?.properties.every;
const runnerPid = () => stage.supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner");
const isRunning = () => stage.supervisor.held(uuid)?.state === "running";
const nextRunner = async (pid: number) => {
  await eventually(() => ![pid, undefined].includes(stage.supervisor.held(uuid)?.runnerPid), "a new runner");
  await eventually(isRunning, "running");
};
const labels = ({ changes }: ProcessUpgrade) => changes.map(({ label }) => label);

test("graphs are stored with the elements that the operator allows besides", () => {
  assert.ok(library.authorElements.has("print") && library.authorElements.has("detect"));
  assert.ok(!library.authorElements.has("filesink"));
});

describe("a process of a stored graph", () => {
  test("runs the version it names, and shows it", async () => {
    assert.equal(
      (await call<Problem>("POST", `/start?source_uuid=${stage.sourceUuid}&graph=yard@99`, {}, 404)).code,
      "graph_not_found",
    );
    assert.equal(
      (await call<Problem>("POST", `/start?source_uuid=${stage.sourceUuid}&graph=yard`, {}, 404, "other")).code,
      "graph_not_found",
    );
    uuid = await start("yard");
    assert.equal((await readProcess()).graph_version, DEFAULT);
    await call("DELETE", `/process/${uuid}`);
    uuid = await start(`yard@${FIRST}`, { word: "b" });
    const shown = await readProcess();
    assert.deepEqual([shown.graph, shown.graph_version, shown.params], ["yard", FIRST, { every: 1, word: "b" }]);
  });

  test("keeps its graph from being deleted", async () => {
    assert.equal((await call<Problem>("DELETE", "/graphs/yard", undefined, 409)).code, "graph_in_use");
  });
});

describe("an upgrade", () => {
  test("says first what it would change, and changes nothing", async () => {
    const live = await upgrade(LIVE, { dry_run: true });
    assert.deepEqual(live.changes, [{ label: "live", node: "print", property: "every", from: 1, to: 5 }]);
    assert.deepEqual([live.version, live.previous_version, live.dry_run], [LIVE, FIRST, true]);
    const branch = await upgrade(BRANCH, { dry_run: true });
    assert.deepEqual(branch.changes, [{ label: "branch", action: "attach", segment: "more" }]);
    const [change] = (await upgrade(CROPPED, { dry_run: true })).changes;
    assert.ok(change?.label === "relaunch" && /videocrop/.test(JSON.stringify(change)), JSON.stringify(change));
    assert.equal((await readProcess()).graph_version, FIRST);
    assert.equal(everyOf(await readGraph()), 1);
  });

  test("sets properties and attaches branches without a new runner, and is rolled back", async () => {
    const pid = runnerPid();
    assert.deepEqual(labels(await upgrade(LIVE)), ["live"]);
    assert.equal(everyOf(await readGraph()), 5);
    assert.deepEqual([(await readProcess()).graph_version, (await stage.row(uuid))?.graphText], [LIVE, TEXTS[1]]);
    assert.deepEqual(labels(await upgrade(BRANCH)), ["branch", "live"]);
    assert.ok(nodesOf(await readGraph()).includes("other"));
    const back = await upgrade(FIRST);
    assert.deepEqual([labels(back), back.previous_version], [["branch"], BRANCH]);
    assert.ok(!nodesOf(await readGraph()).includes("other"));
    assert.deepEqual([runnerPid(), (await upgrade(FIRST)).changes], [pid, []]);
  });

  test("keeps params that were given, and takes the defaults of the version for others", async () => {
    const { params, changes } = await upgrade(DEFAULT);
    assert.deepEqual(params, { every: 7, word: "b" });
    assert.deepEqual(changes, [{ label: "live", node: "print", property: "every", from: 1, to: 7 }]);
    assert.deepEqual((await readProcess()).params, { every: 7, word: "b" });
    await call("PATCH", `/process/${uuid}/graph`, { params: { every: 4 } });
    assert.deepEqual((await upgrade(FIRST)).params, { every: 4, word: "b" });
    await call("PATCH", `/process/${uuid}/graph`, { print: { every: 3 } });
    assert.deepEqual((await upgrade(DEFAULT)).changes, []);
    assert.equal(everyOf(await readGraph()), 3);
    assert.deepEqual((await stage.row(uuid))?.live, { print: { every: 3 } });
  });

  test("launches another runner where it must, which keeps what clients have set", async () => {
    const pid = runnerPid();
    assert.deepEqual(labels(await upgrade(CROPPED)), ["relaunch"]);
    assert.notEqual(runnerPid(), pid);
    const graph = await readGraph();
    assert.ok(nodesOf(graph).includes("videocrop"));
    assert.equal(everyOf(graph), 3);
    const shown = await readProcess();
    assert.deepEqual(
      [shown.state, shown.graph_version, shown.stats.restarts, shown.last_error],
      ["running", CROPPED, 0, null],
    );
  });

  test("that fails leaves the process on its version, and says why", async () => {
    const expectOld = async (version: number, label: string) => {
      assert.deepEqual([...new Set(labels(await upgrade(BROKEN, { dry_run: true })))], [label]);
      const pid = runnerPid();
      const problem = await refuse(BROKEN, 503);
      assert.equal(problem.code, "pipeline_failed");
      assert.match(
        problem.detail,
        new RegExp(`^version 5 does not run: .+; the process continues with version ${version}$`),
      );
      await nextRunner(pid);
      assert.equal(everyOf(await readGraph()), 3);
      const [shown, row] = [await readProcess(), await stage.row(uuid)];
      assert.deepEqual([shown.graph_version, row?.graphText], [version, TEXTS[version - 1]]);
    };
    // A property that ends the pipeline with the next frame.
    await expectOld(CROPPED, "live");
    assert.ok(nodesOf(await readGraph()).includes("videocrop"));
    await upgrade(DEFAULT);
    await expectOld(DEFAULT, "relaunch");
    assert.ok(!nodesOf(await readGraph()).includes("videocrop"));
  });

  test("is rejected for unknown versions, other users and other graphs", async () => {
    assert.equal((await refuse(99, 404)).code, "graph_not_found");
    assert.equal((await refuse(FIRST, 404, "other")).code, "process_not_found");
    await refuse(0, 422);
    const path = `/start?source_uuid=${stage.sourceUuid}&graph=preview`;
    const { process_uuid: installed } = await call<{ process_uuid: string }>("POST", path, {}, 201);
    const problem = await call<Problem>("POST", `/process/${installed}/graph`, { version: 1 }, 404);
    assert.match(problem.detail, /has no versions/);
    await call("DELETE", `/process/${installed}`);
  });

  test("is rejected while an attached slot is missing in the version", async () => {
    const branch = await call<BranchRecord>("POST", `/process/${uuid}/branches`, { slot: "copy" }, 201);
    const problem = await refuse(SLOT, 409);
    assert.equal(problem.code, "graph_lacks");
    assert.ok(problem.detail.includes(branch.uuid), problem.detail);
    await upgrade(FIRST);
    assert.ok((await readGraph()).segments.some(({ name }) => name === `copy:${branch.uuid}`));
    await call("DELETE", `/process/${uuid}/branches/${branch.uuid}`);
    await upgrade(SLOT);
    assert.equal((await call<Problem>("POST", `/process/${uuid}/branches`, { slot: "copy" }, 409)).code, "graph_lacks");
    const again = await call<BranchRecord>("POST", `/process/${uuid}/branches`, { slot: "other" }, 201);
    await call("DELETE", `/process/${uuid}/branches/${again.uuid}`);
  });
});

describe("the version of a process", () => {
  test("stays after a crash of its runner, and after a restart of the server", async () => {
    await upgrade(BRANCH);
    const pid = runnerPid();
    process.kill(pid, "SIGKILL");
    await nextRunner(pid);
    assert.ok(nodesOf(await readGraph()).includes("other"));
    // Another version is current meanwhile.
    await call("PUT", "/graphs/yard", { yaml: TEXTS[0] });
    const { user, sourceUuid } = stage;
    await stage.supervisor.close();
    await app.close(0);
    await openService(user, sourceUuid);
    await eventually(isRunning, "resumed");
    assert.ok(nodesOf(await readGraph()).includes("other"));
    assert.equal((await readProcess()).graph_version, BRANCH);
  });
});
