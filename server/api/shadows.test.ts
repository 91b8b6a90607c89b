/** Shadows of processes: the real API, supervisor and database, with scripted runners. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { after, afterEach, before, test } from "node:test";
import type { Problem } from "../../schemas/api/problem.ts";
import { type ShadowRecord, ShadowRecord as ShadowSchema } from "../../schemas/api/shadows.ts";
import { poll } from "../../test/watch.fixture.ts";
import { addUser, openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { FULL } from "../telemetry/telemetry.fixture.ts";
import type { User } from "../user.ts";
import { checkBy } from "../validation.ts";
import { openApp, type TestApp } from "./app.fixture.ts";
import { shadowEndpoints } from "./shadows.ts";

const LIMIT = 2;
const check = checkBy(ShadowSchema);

let database: TestDatabase;
let stage: Stage;
let app: TestApp;
let other: User;

before(async () => {
  database = await testDatabase();
  other = await addUser(database.sql);
  stage = await openStage(database.sql);
  const limited = (user: User): User => ({ ...user, limits: { ...user.limits, processes: LIMIT } });
  app = await openApp(shadowEndpoints(stage.supervisor), {
    authenticate: async (key) => limited(key === "other" ? other : stage.user),
  });
});
after(async () => {
  await app.close(0);
  await stage.supervisor.close();
  await database.close();
});
afterEach(() => stage.supervisor.stopAll(stage.user));

async function call<T = ShadowRecord>(method: string, uuid: string, status: number, body?: unknown, key = "ada") {
  const response = await app.call(`/process/${uuid}/shadow`, {
    method,
    headers: { api_key: key, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as T;
}

/** Resolves when the shadow is as wanted. */
const reach = (uuid: string, fits: (shadow: ShadowRecord) => boolean) =>
  poll("the shadow is as wanted", async () => {
    const shadow = await call("GET", uuid, 200);
    return fits(shadow) ? shadow : null;
  });

/** Runners of shadows: children at a low priority. */
function listShadows(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, parent] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
        return Number(parent) === process.pid && getPriority(pid) > getPriority();
      } catch {
        return false; // it has exited
      }
    });
}

test("compares a variant with the process, which is not touched", async () => {
  const uuid = await stage.start();
  const { pid, job } = await stage.inside(uuid);
  assert.deepEqual((await call<Problem>("GET", uuid, 404)).code, "shadow_not_found");
  const started = await call("POST", uuid, 201, { graph: "detect", params: { script: {} }, seconds: 60 });
  assert.deepEqual([check(started), started.process_uuid, started.graph], [[], uuid, "detect"]);
  const { comparison } = await reach(uuid, (shadow) => shadow.comparison.frames.compared >= 10);
  assert.equal(comparison.agreement, 1);
  assert.deepEqual(
    comparison.classes.map(({ name, boxes }) => [name, boxes.live === boxes.shadow]),
    [["car", true]],
  );
  assert.equal(listShadows().length, 1, "it runs at a low priority");
  assert.equal((await call<Problem>("POST", uuid, 409, {})).code, "wrong_state");
  const ended = await call("DELETE", uuid, 200);
  assert.deepEqual([ended.state, ended.error, check(ended)], ["finished", null, []]);
  assert.deepEqual((await call("GET", uuid, 200)).comparison, ended.comparison);
  const now = await stage.inside(uuid);
  assert.deepEqual([now.pid, now.job, now.attached], [pid, job, {}]);
  assert.equal(stage.supervisor.view(uuid)?.state, "running");
});

test("ends after its frames or its time, with its process, and another may follow", async () => {
  const uuid = await stage.start();
  await call("POST", uuid, 201, { frames: 5 });
  const { comparison } = await reach(uuid, ({ state }) => state === "finished");
  assert.ok(comparison.frames.compared >= 5);
  await call("POST", uuid, 201, { seconds: 1 });
  await reach(uuid, ({ state }) => state === "finished");
  await call("POST", uuid, 201, {});
  await reach(uuid, ({ state }) => state === "running");
  await stage.supervisor.stop(stage.user, uuid);
  await poll("no shadow is left", async () => (listShadows().length === 0 ? true : null));
});

test("a variant that crashes fails alone", async () => {
  const uuid = await stage.start();
  const { pid } = await stage.inside(uuid);
  await call("POST", uuid, 201, { params: { script: { crashesAtStart: true } } });
  const failed = await reach(uuid, ({ state }) => state === "failed");
  assert.match(failed.error ?? "", /runner/);
  await call("POST", uuid, 201, { params: { script: { crashAt: 5 } } });
  await reach(uuid, ({ state }) => state === "failed");
  const now = await stage.inside(uuid);
  assert.deepEqual([now.pid, stage.supervisor.view(uuid)?.restarts], [pid, 0]);
});

test("counts as a process of the key while it runs, and uses its minutes", async () => {
  const uuid = await stage.start({ runningFactor: 0 });
  const used = () => stage.supervisor.held(uuid)?.record.runningMs;
  assert.equal(used(), 0);
  await call("POST", uuid, 201, { params: { script: {} } });
  await reach(uuid, ({ comparison }) => comparison.frames.compared > 0);
  assert.ok((used() ?? 0) > 0);
  const limited = { ...stage.user, limits: { ...stage.user.limits, processes: LIMIT } };
  const order = { user: limited, sourceUuid: stage.sourceUuid, graph: "detect", params: {} };
  await assert.rejects(stage.supervisor.start(order), { code: "processes_limit_reached" });
  await call("DELETE", uuid, 200);
  const second = await stage.supervisor.start(order);
  assert.equal((await call<Problem>("POST", uuid, 403, {})).code, "processes_limit_reached");
  await stage.supervisor.stop(stage.user, second.uuid);
});

test("rejects what it cannot run, and keys of others", async () => {
  const uuid = await stage.start();
  assert.equal((await call<Problem>("POST", uuid, 404, { graph: "absent" })).code, "graph_not_found");
  assert.equal((await call<Problem>("POST", uuid, 404, { graph: "detect@3" })).code, "graph_not_found");
  for (const body of [{ seconds: 0 }, { seconds: 100_000 }, { frames: 0 }, { graph: "a b" }, { params: 3 }])
    assert.equal((await call<Problem>("POST", uuid, 422, body)).code, "invalid_input", JSON.stringify(body));
  for (const method of ["POST", "GET", "DELETE"])
    assert.equal(
      (await call<Problem>(method, uuid, 404, method === "POST" ? {} : undefined, "other")).code,
      "process_not_found",
    );
  await stage.supervisor.pause(stage.user, uuid);
  assert.equal((await call<Problem>("POST", uuid, 409, {})).code, "wrong_state");
});

test("rejects a file that loops", async () => {
  const looping = await openStage(database.sql, { loops: true });
  try {
    const uuid = await looping.start();
    const order = { graph: null, params: {}, seconds: 1, frames: null };
    await assert.rejects(looping.supervisor.startShadow(looping.user, uuid, order), { code: "source_not_live" });
  } finally {
    await looping.supervisor.close();
  }
});

test("gets the telemetry of a live source, as the process does", async () => {
  const telemetry = { type: "websocket", format: "native", parameters: {} } as const;
  const flying = await openStage(database.sql, { telemetry: () => telemetry });
  try {
    const { supervisor, user } = flying;
    const uuid = await flying.start();
    const receive = await supervisor.openTelemetry(user, uuid);
    const params = { script: { crashesOnDelivery: true } };
    await supervisor.startShadow(user, uuid, { graph: null, params, seconds: 60, frames: null });
    const state = async () => (await supervisor.readShadow(user, uuid)).state;
    await poll("the shadow runs", async () => (await state()) === "running");
    let timestamp = 0;
    await poll("it has received a sample", async () => {
      timestamp += 1;
      receive({ payload: JSON.stringify({ ...FULL, timestamp }) });
      return (await state()) === "failed";
    });
    assert.deepEqual([supervisor.view(uuid)?.state, supervisor.view(uuid)?.restarts], ["running", 0]);
  } finally {
    await flying.supervisor.close();
  }
});
