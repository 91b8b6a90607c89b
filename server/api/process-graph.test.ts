/** Params and slots of a running graph: the real API, database, compiler and runner. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import jpeg from "jpeg-js";
import { ENTRY } from "../../graphs/runtime/runner/runner.fixture.ts";
import type { ProcessGraph } from "../../schemas/api/graphs.ts";
import type { BranchRecord } from "../../schemas/api/outputs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { SeenEdge } from "../../schemas/runner.ts";
import { loadTestKnowledge } from "../graphs/knowledge.fixture.ts";
import { GraphLibrary } from "../graphs/library.ts";
import { addUser, openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import type { User } from "../user.ts";
import { makeConfig, openApp, type TestApp } from "./app.fixture.ts";
import { branchEndpoints, processGraphEndpoints } from "./graphs.ts";

const SOURCE = "test:ball?width=64&height=48";
const YARD = `
graph: yard
about: Prints frames, and more of them while asked to.
params:
  every: { type: integer, minimum: 1, default: 1, live: true }
  height: { enum: [360p, 720p, null], default: null }
chains:
  main:
    - source
    - decode
    - resize: { to: $height }
    - tee: { name: frames }
  data:
    - from: frames
    - stage
    - print: { every: $every }
slots:
  copy:
    params: { step: { type: integer, minimum: 1, default: 1 }, keys: { type: array, items: { type: string }, default: [] } }
    chain: [{ from: frames }, stage, { print: { every: $step, keys: $keys } }]
  file:
    params: { path: { type: string } }
    chain: [{ from: frames }, stage, encode, { record: { path: $path } }]
  feed:
    chain: [{ from: frames }, stage, jpegenc, feed]
  coded:
    chain: [{ from: frames }, stage, jpegenc, fakesink]
`;

let database: TestDatabase;
let library: GraphLibrary;
let stage: Stage;
let app: TestApp;
let other: User;
let uuid: string;

const folder = mkdtempSync(join(tmpdir(), "windhover-graphs-"));
const config = makeConfig({ GRAPHS_COMPILE_SECONDS: "60" });
const limits = (user: User): User => ({ ...user, limits: { ...user.limits, outputsActive: 2 } });

before(async () => {
  database = await testDatabase();
  writeFileSync(join(folder, "yard.yaml"), YARD);
  library = await GraphLibrary.open(await loadTestKnowledge(), config, pathToFileURL(`${folder}/`));
  other = await addUser(database.sql);
  stage = await openStage(database.sql, {
    settings: { RUNNERS_START_SECONDS: "60" },
    limits: { loadMs: 60_000 },
    needs: {
      runnerEntry: pathToFileURL(ENTRY),
      // Installed here and passed to the runner, which has another graphs folder.
      prepare: (order) => library.prepare({ ...order, graphText: null }),
      resolveInput: async () => ({
        ...{ uri: SOURCE, isFile: false, label: "test:ball", locate: async () => SOURCE, telemetry: null },
      }),
    },
  });
  const { supervisor: processes } = stage;
  app = await openApp([...branchEndpoints(processes), ...processGraphEndpoints({ library, processes })], {
    authenticate: async (key) => limits(key === "other" ? other : stage.user),
  });
  const { user, sourceUuid } = stage;
  ({ uuid } = await processes.start({ user, sourceUuid, graph: "yard", graphText: YARD, params: {} }));
});
after(async () => {
  await stage.supervisor.close();
  await app.close(0);
  await library.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

async function call<T>(method: string, path: string, body?: unknown, status = 200, key = "ada"): Promise<T> {
  const response = await app.call(`/process/${uuid}/${path}`, {
    method,
    headers: { api_key: key, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
}

const readGraph = () => call<ProcessGraph>("GET", "graph");
const everyOf = ({ segments }: ProcessGraph) =>
  segments.flatMap(({ nodes }) => nodes).find(({ name }) => name === "print")?.properties.every;
const pathsOf = ({ errors }: Problem) => errors?.map(({ path }) => path);

async function killRunner(): Promise<void> {
  const pid = stage.supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner");
  process.kill(pid, "SIGKILL");
  await eventually(() => ![pid, undefined].includes(stage.supervisor.held(uuid)?.runnerPid), "a new runner");
  await eventually(() => stage.supervisor.held(uuid)?.state === "running", "running");
}

describe("GET of an edge", () => {
  const see = (from: string, to: string, status = 200, key = "ada") =>
    call<SeenEdge>("GET", `graph/edge?${new URLSearchParams({ from, to })}`, undefined, status, key);
  const pictureOf = ({ frame }: SeenEdge) => jpeg.decode(Buffer.from(frame?.picture ?? assert.fail(), "base64"));

  test("shows the frame between two steps, or two nodes of them", async () => {
    const seen = await see("resize", "frames");
    const { width, height } = pictureOf(seen);
    assert.deepEqual([width, height, seen.detail], [64, 48, null]);
    assert.match(seen.frame?.caps ?? "", /^video\/x-raw/);
    const { segments } = await readGraph();
    const links = segments.flatMap((segment) => segment.links);
    const last = links.find(({ to }) => to === "frames") ?? assert.fail();
    assert.deepEqual((await see(last.from, last.to)).from, last.from);
    assert.equal(pictureOf(await see("frames", "stage")).width, 64);
  });

  test("shows the caps of encoded video, and no picture", async () => {
    const branch = await call<BranchRecord>("POST", "branches", { slot: "coded" }, 201);
    const prefix = `coded:${branch.uuid}/`;
    const { frame, detail } = await see(`${prefix}jpegenc`, `${prefix}fakesink`);
    assert.deepEqual([frame?.picture, frame?.metadata], [null, {}]);
    assert.match(frame?.caps ?? "", /^image\/jpeg/);
    assert.equal(detail, "there are only pictures of raw video, and this is image/jpeg");
    await call("DELETE", `branches/${branch.uuid}`);
  });

  test("gives clients that ask at once the same frame, and loses none", async () => {
    const [one, two] = await Promise.all([see("resize", "frames"), see("resize", "frames")]);
    assert.equal(one.frame?.pts_ms, two.frame?.pts_ms);
    const dropped = (await readGraph()).segments.flatMap(({ steps }) => steps.map((step) => step.dropped ?? 0));
    assert.ok(dropped.every((count) => count === 0));
  });

  test("rejects what is not an edge, and other keys; waits for no frame of a paused process", async () => {
    const unknown = (await see("frames", "resize", 409)) as unknown as Problem;
    assert.equal(unknown.code, "graph_lacks");
    assert.match(unknown.detail, /no edge from "frames" to "resize"; it has .*resize.* → frames/);
    await call("GET", "graph/edge?from=frames", undefined, 422);
    assert.equal(((await see("resize", "frames", 404, "other")) as unknown as Problem).code, "process_not_found");
    await stage.supervisor.pause(stage.user, uuid);
    // Not the edge that was just seen, whose frame is kept.
    const { frame, detail } = await see("stage", "print");
    assert.deepEqual([frame, detail], [null, "nothing has passed within 2 s"]);
    await stage.supervisor.resume(stage.user, uuid);
    assert.notEqual((await see("stage", "print")).frame, null);
  });
});

describe("PATCH of params", () => {
  test("changes every property that uses the param; the change is shown and stored", async () => {
    assert.deepEqual((await readGraph()).live_params, ["every"]);
    const { set } = await call<{ set: JsonRecord }>("PATCH", "graph", { params: { every: 5 } });
    assert.deepEqual(set, { params: { every: 5 } });
    const graph = await readGraph();
    assert.deepEqual([graph.params.every, everyOf(graph)], [5, 5]);
    assert.deepEqual((await stage.row(uuid))?.params, { every: 5, height: null });
  });

  test("the latest change of a property or its param wins", async () => {
    await call("PATCH", "graph", { print: { every: 3 } });
    assert.equal(everyOf(await readGraph()), 3);
    assert.deepEqual((await stage.row(uuid))?.live, { print: { every: 3 } });
    await call("PATCH", "graph", { params: { every: 7 } });
    assert.equal(everyOf(await readGraph()), 7);
    assert.deepEqual((await stage.row(uuid))?.live, {});
    await call("PATCH", "graph", { params: { every: 8 }, print: { every: 4 } });
    const graph = await readGraph();
    assert.deepEqual([graph.params.every, everyOf(graph)], [8, 4]);
    await call("PATCH", "graph", { params: { every: 7 } });
    assert.deepEqual([everyOf(await readGraph()), (await stage.row(uuid))?.live], [7, {}]);
  });

  test("rejects invalid values and properties that are not mutable while PLAYING, with their location, and changes nothing", async () => {
    const patch = (params: JsonRecord) => call<Problem>("PATCH", "graph", { params, print: { every: 2 } }, 422);
    assert.deepEqual(pathsOf(await patch({ every: 0 })), ["/params/every"]);
    assert.match(
      (await patch({ evry: 2 })).detail,
      /\/params\/evry is not a param of this graph; expected .*; did you mean "every"/,
    );
    const fixed = await patch({ height: "360p" });
    assert.deepEqual(pathsOf(fixed), ["/params/height"]);
    assert.match(fixed.detail, /^\/params\/height can only be set at the start of a process: "resize"/);
    const graph = await readGraph();
    assert.deepEqual([graph.params, everyOf(graph)], [{ every: 7, height: null }, 7]);
  });
});

describe("a slot of the graph's own", () => {
  const attach = (body: unknown) => call<BranchRecord>("POST", "branches", body, 201);
  const reject = (body: unknown, status: number) => call<Problem>("POST", "branches", body, status);
  const list = () => call<{ branches: BranchRecord[]; slots: JsonRecord }>("GET", "branches");
  const attached = async () =>
    (await readGraph()).segments.filter(({ name }) => name.startsWith("copy:")).map(({ name }) => name.slice(5));

  test("is attached, listed with its schema, and detached", async () => {
    assert.deepEqual(Object.keys((await list()).slots), ["copy", "file", "coded"]);
    const branch = await attach({ slot: "copy", params: { step: 2 } });
    assert.deepEqual([branch.slot, branch.params, branch.process_uuid], ["copy", { step: 2 }, uuid]);
    assert.deepEqual(await attached(), [branch.uuid]);
    await eventually(async () => (await list()).branches[0]?.status === "live", "live");
    await call("DELETE", `branches/${branch.uuid}`);
    assert.deepEqual([await attached(), (await list()).branches], [[], []]);
    assert.equal((await call<Problem>("DELETE", `branches/${branch.uuid}`, undefined, 404)).code, "branch_not_found");
  });

  test("rejects invalid params, unknown slots and slots of the service, with their location", async () => {
    assert.deepEqual(pathsOf(await reject({ slot: "copy", params: { step: 0, stp: 1 } }, 422)), [
      "/params/step",
      "/params/stp",
    ]);
    assert.equal((await reject({ slot: "copi" }, 409)).code, "graph_lacks");
    assert.deepEqual(pathsOf(await reject({ slot: "feed" }, 422)), ["/slot"]);
    const reaching = await reject({ slot: "file", params: { path: "/etc/passwd" } }, 422);
    assert.deepEqual(pathsOf(reaching), ["/params/path"]);
    assert.match(reaching.detail, /record\.path, which names something on the server/);
    assert.deepEqual(pathsOf(await reject({ params: {} }, 422)), ["/slot"]);
    assert.deepEqual(await attached(), []);
  });

  test("belongs to its user only, and counts as an active output", async () => {
    const first = await attach({ slot: "copy" });
    const second = await attach({ slot: "copy" });
    assert.equal((await reject({ slot: "copy" }, 403)).code, "outputs_limit_reached");
    await call("GET", "branches", undefined, 404, "other");
    await call("POST", "branches", { slot: "copy" }, 404, "other");
    await call("DELETE", `branches/${first.uuid}`, undefined, 404, "other");
    assert.deepEqual(await attached(), [first.uuid, second.uuid]);
    await call("DELETE", `branches/${second.uuid}`);
  });

  test("is attached again after its runner was killed, and the params are set again", async () => {
    const [before] = (await list()).branches;
    await killRunner();
    const graph = await readGraph();
    assert.deepEqual([graph.params.every, everyOf(graph)], [7, 7]);
    assert.deepEqual(await attached(), [before?.uuid]);
    await eventually(async () => (await list()).branches[0]?.status === "live", "live again");
  });
});
