/** Models that keys upload: the real API, database, check, compiler and runner. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ENTRY } from "../../graphs/runtime/runner/runner.fixture.ts";
import { digestBytes } from "../../models/files.ts";
import { makeScatteredYolox, makeYolox } from "../../models/onnx.fixture.ts";
import type { ProcessGraph } from "../../schemas/api/graphs.ts";
import type { ModelRecord } from "../../schemas/api/models.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { loadTestKnowledge } from "../graphs/knowledge.fixture.ts";
import { GraphLibrary } from "../graphs/library.ts";
import { OwnGraphs } from "../graphs/own-graphs.ts";
import { NO_RECORDED, testHub } from "../media/media.fixture.ts";
import { ModelChecker } from "../models/check-model.ts";
import { OwnModels } from "../models/own-models.ts";
import { RunnerFolders } from "../processes/runner-folders.ts";
import { addUser, openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import type { User } from "../user.ts";
import { makeConfig, openApp, type TestApp } from "./app.fixture.ts";
import { graphEndpoints, processGraphEndpoints } from "./graphs.ts";
import { modelEndpoints } from "./models.ts";
import { processEndpoints } from "./processes.ts";

const SOURCE = "test:ball?width=64&height=48";
const ONNX = makeYolox(3);
const CARD = `model: three-things
about: Finds nothing.
licence: MIT
input: { width: 64, height: 64, colours: bgr, anchor: top-left }
labels: [cat, dog, fox]
decoder: { family: yolox }
`;
const GRAPH = `graph: things
chains:
  main: [source, decode, stage, { detect: { model: three-things } }, detections]
`;

const folder = mkdtempSync(join(tmpdir(), "windhover-models-"));
const config = makeConfig({
  ...{ DATA_DIR: folder, MODELS_PER_KEY: "2", MODELS_BYTES: "200000", MODELS_CHECK_SECONDS: "60" },
  GRAPHS_COMPILE_SECONDS: "60",
});
let database: TestDatabase;
let library: GraphLibrary;
let confinement: Confinement;
let folders: RunnerFolders;
let own: OwnModels;
let stage: Stage;
let app: TestApp;
const users = new Map<string, User>();

before(async () => {
  database = await testDatabase();
  const { sql } = database;
  const knowledge = await loadTestKnowledge();
  library = await GraphLibrary.open(knowledge, config);
  confinement = await testConfinement();
  folders = await RunnerFolders.open(folder, confinement.account, silentLog);
  const entry = new URL("../../elements/detect/check/check.mjs", import.meta.url);
  const checker = new ModelChecker({ entry, confinement, config: config.models, log: silentLog });
  own = await OwnModels.open({
    sql,
    config,
    checker,
    installedNames: async () => (await knowledge.listModels()).map(({ name }) => name),
  });
  const listModels = (userUuid: string) => own.listUsable(userUuid);
  stage = await openStage(sql, {
    settings: { RUNNERS_START_SECONDS: "60" },
    limits: { loadMs: 60_000 },
    needs: {
      ...{ confinement, folders, runnerEntry: pathToFileURL(ENTRY) },
      prepare: async (order) => library.prepare({ ...order, ownModels: await listModels(order.userUuid ?? "") }),
      openModels: (userUuid, names) => own.open(userUuid, names),
      resolveInput: async () => ({
        ...{ uri: SOURCE, isFile: false, label: "test:ball", locate: async () => SOURCE, telemetry: null },
      }),
    },
  });
  users.set("ada", { ...stage.user, isGraphAuthor: true });
  users.set("bob", { ...(await addUser(sql)), isGraphAuthor: true });
  users.set("reader", await addUser(sql));
  const { supervisor: processes } = stage;
  app = await openApp(
    [
      ...modelEndpoints({ own, listInstalled: async () => [{ name: "default", labels: ["person"] }] }),
      ...graphEndpoints({ library, own: new OwnGraphs({ sql, library, config, listModels }), config }),
      ...processGraphEndpoints({ library, processes }),
      ...processEndpoints({
        sql,
        processes,
        hub: testHub(),
        recordings: { list: async () => [] },
        recorded: NO_RECORDED,
      }),
    ],
    { authenticate: async (key) => users.get(key ?? "") ?? assert.fail() },
  );
});
after(async () => {
  await stage.supervisor.close();
  await app.close(0);
  await folders.close();
  await library.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

async function call<T>(method: string, path: string, status: number, body?: unknown, key = "ada"): Promise<T> {
  const isForm = body instanceof FormData;
  const response = await app.call(path, {
    method,
    headers: { api_key: key, ...(body !== undefined && !isForm && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
}

function formOf(card: string | null, file: Uint8Array | null): FormData {
  const form = new FormData();
  if (card !== null) form.set("card", new Blob([card]), "card.yaml");
  if (file !== null) form.set("file", new Blob([Uint8Array.from(file)]), "model.onnx");
  return form;
}
const upload = (card: string, status = 201, key = "ada") =>
  call<ModelRecord>("POST", "/models", status, formOf(card, ONNX), key);
const refuse = (card: string | null, file: Uint8Array | null, status: number, key = "ada") =>
  call<Problem>("POST", "/models", status, formOf(card, file), key);
const named = (name: string) => CARD.replace("three-things", name);

describe("POST /models", () => {
  test("stores a model that fits its card and runs, and the same one once", async () => {
    const { created_at: _, ...model } = await upload(CARD);
    assert.deepEqual(model, {
      ...{ name: "three-things", origin: "own", about: "Finds nothing.", labels: ["cat", "dog", "fox"] },
      ...{ digest: digestBytes(ONNX), size_bytes: ONNX.length, author: users.get("ada")?.username },
    });
    assert.equal((await upload(CARD, 200)).name, "three-things");
    assert.equal((await refuse(CARD.replace("nothing", "little"), ONNX, 409)).code, "model_name_taken");
  });

  test("rejects a wrong card with all its faults, located", async () => {
    const card = CARD.replace("yolox", "yolxo").replace("width: 64", "width: 1");
    const { code, errors = [] } = await refuse(card, ONNX, 422);
    assert.equal(code, "model_invalid");
    assert.equal(errors.length, 2);
    for (const { path, message } of errors) assert.match(`${path} ${message}`, /^card card\.yaml:[46]:\d+: /);
  });

  test("rejects a network that does not fit its card, is not ONNX, or is not complete", async () => {
    const misfit = await refuse(CARD.replace("[cat, dog, fox]", "[cat]"), ONNX, 422);
    assert.equal(misfit.code, "model_invalid");
    const text = await refuse(CARD, Buffer.from("not a model"), 422);
    assert.match(text.detail, /cannot be opened as an ONNX model/);
    const { onnx } = makeScatteredYolox(3, "weights.bin");
    assert.match((await refuse(CARD, onnx, 422)).detail, /is not complete: its weights are in another file/);
    const other = await refuse(`${CARD}sha256: ${"a".repeat(64)}\n`, ONNX, 422);
    assert.match(other.detail, /sha256 is a+; expected that of the file/);
  });

  test("rejects forms without a card or file, large files, names of installed models, and keys without the flag", async () => {
    assert.match((await refuse(null, ONNX, 422)).detail, /card is missing/);
    assert.match((await refuse(CARD, null, 422)).detail, /file is missing/);
    assert.equal((await refuse(CARD, new Uint8Array(200_001), 413)).code, "model_too_large");
    assert.equal((await refuse(named("default"), ONNX, 409)).code, "model_name_taken");
    assert.equal((await refuse(CARD, ONNX, 403, "reader")).code, "graph_author_needed");
  });

  test("is limited in number", async () => {
    await upload(named("second"));
    assert.equal((await refuse(named("third"), ONNX, 403)).code, "models_limit_reached");
    await call("DELETE", "/models/second", 200);
  });

  test("leaves no files of uploads", () => assert.deepEqual(readdirSync(join(folder, "models/partial")), []));
});

describe("uploaded models", () => {
  test("are listed with the installed ones, for their key only", async () => {
    const list = async (key: string) =>
      (await call<{ models: ModelRecord[] }>("GET", "/models", 200, undefined, key)).models.map(({ name }) => name);
    assert.deepEqual([await list("ada"), await list("bob")], [["default", "three-things"], ["default"]]);
    assert.equal(
      (await call<Problem>("DELETE", "/models/three-things", 404, undefined, "bob")).code,
      "model_not_found",
    );
  });

  test("are named by graphs of their key, and by no other", async () => {
    await call("PUT", "/graphs/things", 201, { yaml: GRAPH });
    const foreign = await call<Problem>("PUT", "/graphs/things", 422, { yaml: GRAPH }, "bob");
    assert.match(foreign.detail, /is "three-things", which is not the name of an installed model/);
  });

  test("run in processes, from files of their own, and are not deleted meanwhile", async () => {
    for (const [graph, params] of [
      ["things", {}],
      ["detect", { model: "three-things" }],
    ] as const) {
      const path = `/start?source_uuid=${stage.sourceUuid}&graph=${graph}`;
      const { process_uuid: uuid } = await call<{ process_uuid: string }>("POST", path, 201, { params });
      const { segments } = await call<ProcessGraph>("GET", `/process/${uuid}/graph`, 200);
      const detect = segments.flatMap(({ nodes }) => nodes).find(({ element }) => element === "detect");
      assert.equal(detect?.properties.model, "three-things.yaml");
      const problem = await call<Problem>("DELETE", "/models/three-things", 409);
      assert.equal(problem.code, "model_in_use");
      assert.ok(problem.detail.includes(uuid));
      await call("DELETE", `/process/${uuid}`, 200);
    }
  });

  test("are deleted with their files", async () => {
    const files = await own.open(stage.user.uuid, ["three-things"]);
    assert.ok(existsSync(files["three-things"]?.weights ?? ""));
    assert.deepEqual(await call("DELETE", "/models/three-things", 200), { deleted: true, name: "three-things" });
    assert.ok(!existsSync(files["three-things"]?.weights ?? ""));
    const path = `/start?source_uuid=${stage.sourceUuid}&graph=things`;
    assert.match((await call<Problem>("POST", path, 422, {})).detail, /which is not the name of an installed model/);
  });
});
