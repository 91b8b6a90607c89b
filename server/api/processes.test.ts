import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { NO_RECORDED, testHub } from "../media/media.fixture.ts";
import { addOutput, openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { newUuid } from "../uuid.ts";
import { openApp, type TestApp } from "./app.fixture.ts";
import { describeStarted, processEndpoints } from "./processes.ts";

let database: TestDatabase;
let stage: Stage;
let app: TestApp;
before(async () => {
  database = await testDatabase();
  stage = await openStage(database.sql);
  const { supervisor: processes, user } = stage;
  const recordings = { list: async () => [] };
  const endpoints = processEndpoints({
    sql: database.sql,
    processes,
    hub: testHub(),
    recordings,
    recorded: NO_RECORDED,
  });
  app = await openApp(endpoints, { authenticate: async () => user });
});
after(async () => {
  await app?.close(1000);
  await stage?.supervisor.close();
  await database?.close();
});

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the app checks answers against their schemas.
  readonly body: any;
}

async function call(method: string, path: string, body?: string, type = "application/json"): Promise<Answer> {
  const headers = { api_key: "a+key", ...(body !== undefined && { "content-type": type }) };
  const answer = await app.call(path, { method, headers, ...(body !== undefined && { body }) });
  return { status: answer.status, body: await answer.json() };
}

const startPath = (more = "") => `/start?source_uuid=${stage.sourceUuid}${more}`;
const start = async (script: object = {}): Promise<string> => {
  const { status, body } = await call("POST", startPath(), JSON.stringify({ params: { script } }));
  assert.equal(status, 201, JSON.stringify(body));
  return body.process_uuid;
};
const outcome = ({ status, body }: Answer) => [status, body.code];

test("a start returns exactly the four fields of the interface", async () => {
  const { status, body } = await call("POST", startPath());
  assert.equal(status, 201);
  const { process_uuid: uuid } = body;
  assert.deepEqual(body, {
    process_uuid: uuid,
    feed_url: `${app.url}/process/${uuid}/feed?api_key=a%2Bkey`,
    detection_data_url: `${app.url.replace("http", "ws")}/process/${uuid}/detection_data?api_key=a%2Bkey`,
    telemetry_url: "Not configured",
  });
  await call("DELETE", "/processes");
});

test("accepts a start with an empty body of any content type", async () => {
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"])
    assert.equal((await call("POST", startPath(), "", type)).status, 201, type);
  await call("DELETE", "/processes");
});

test("invalid starts are rejected with the reason", async () => {
  assert.deepEqual(outcome(await call("POST", "/start")), [422, "invalid_input"]);
  assert.deepEqual(outcome(await call("POST", "/start?source_uuid=7")), [422, "invalid_input"]);
  assert.deepEqual(outcome(await call("POST", `/start?source_uuid=${newUuid()}`)), [404, "source_not_found"]);
  assert.deepEqual(outcome(await call("POST", startPath("&graph=absent"))), [404, "graph_not_found"]);
  assert.deepEqual(outcome(await call("POST", startPath(), "{")), [400, "malformed_json"]);
  assert.deepEqual(outcome(await call("POST", startPath(), '{"params": []}')), [422, "invalid_input"]);
  const dead = JSON.stringify({ params: { script: { refuses: { kind: "source", detail: "refused" } } } });
  assert.deepEqual(outcome(await call("POST", startPath(), dead)), [400, "source_not_live"]);
  const broken = JSON.stringify({ params: { script: { crashesAtStart: true } } });
  assert.deepEqual(outcome(await call("POST", startPath(), broken)), [503, "pipeline_failed"]);
  assert.deepEqual((await call("GET", "/processes?state=all")).body.processes.filter(isActive), []);
});

const isActive = ({ state }: { state: string }) => state !== "finished" && state !== "failed";

test("shows a process with its runner, and lists it until it ends", async () => {
  const uuid = await start();
  await stage.waitFor(uuid, ({ type }) => type === "stats");
  const { body } = await call("GET", `/process/${uuid}`);
  const { started_at, ...rest } = body;
  assert.match(started_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, {
    ...{ uuid, process_uuid: uuid, state: "running", reconnecting: false, restarting: false },
    ...{ source_uuid: stage.sourceUuid, last_error: null },
    ...{ source_url: "rtsp://***@camera/", graph: "detect", graph_version: null, params: { script: {} } },
    ...{ finished_at: null, error: null },
    ...{ outputs: [], output_states: [], recording: null, recordings: [], alerts: [], telemetry: null },
    stats: {
      ...{ fps_in: 25, fps_processed: 20, fps_out: 25, frames_dropped: 0, latency_ms: { p50: 1, p95: 2 } },
      ...{ inference_ms: 3, restarts: 0, frames_lost: null, link: null },
    },
  });
  assert.deepEqual((await call("GET", "/processes")).body.processes.map(uuidOf), [uuid]);
  assert.deepEqual(await call("DELETE", `/process/${uuid}`), { status: 200, body: { deleted: true, uuid } });
  assert.deepEqual((await call("GET", "/processes")).body.processes, []);
  const ended = (await call("GET", `/process/${uuid}`)).body;
  assert.equal(ended.state, "finished");
  assert.match(ended.finished_at, /Z$/);
  assert.deepEqual(await call("DELETE", `/process/${uuid}`), { status: 200, body: { deleted: true, uuid } });
});

const uuidOf = ({ uuid }: { uuid: string }) => uuid;

test("lists processes newest first, in pages", async () => {
  const first = await start();
  const second = await start();
  const page = (await call("GET", "/processes?state=all&limit=1")).body;
  assert.deepEqual(page.processes.map(uuidOf), [second]);
  const next = (await call("GET", `/processes?state=all&limit=1&cursor=${page.next_cursor}`)).body;
  assert.deepEqual(next.processes.map(uuidOf), [first]);
  assert.deepEqual(outcome(await call("GET", "/processes?state=some")), [422, "invalid_input"]);
  assert.deepEqual((await call("DELETE", "/processes")).body.stopped.sort(), [first, second].sort());
});

test("pause and resume return the process, and 409 in the wrong state", async () => {
  const uuid = await start();
  assert.deepEqual(outcome(await call("POST", `/process/${uuid}/resume`)), [409, "wrong_state"]);
  assert.equal((await call("POST", `/process/${uuid}/pause`)).body.state, "paused");
  assert.deepEqual(outcome(await call("POST", `/process/${uuid}/pause`)), [409, "wrong_state"]);
  assert.equal((await call("POST", `/process/${uuid}/resume`)).body.state, "running");
  assert.deepEqual(await call("POST", `/process/${uuid}/stop`), { status: 200, body: { deleted: true, uuid } });
  assert.deepEqual(outcome(await call("POST", `/process/${uuid}/pause`)), [409, "wrong_state"]);
  for (const [method, path] of [
    ...[["GET", ""] as const, ["DELETE", ""] as const],
    ...(["pause", "resume", "stop"] as const).map((word) => ["POST", `/${word}`] as const),
  ])
    assert.deepEqual(outcome(await call(method, `/process/${newUuid()}${path}`)), [404, "process_not_found"]);
});

test("the deprecated endpoint stops all processes", async () => {
  const uuid = await start();
  assert.deepEqual(await call("POST", "/process/stop_all"), { status: 200, body: { stopped: [uuid] } });
  assert.deepEqual(await call("POST", "/process/stop_all"), { status: 200, body: { stopped: [] } });
});

test("attaches and detaches an output by its uuid", async () => {
  const uuid = await start();
  const output = await addOutput(database.sql, stage.user, "rtsp");
  const attached = await call("POST", `/process/${uuid}/${output}`);
  assert.equal(attached.status, 200);
  assert.deepEqual([attached.body.output_uuid, attached.body.attached_to], [output, uuid]);
  assert.deepEqual((await call("GET", `/process/${uuid}`)).body.outputs, [output]);
  const other = await start();
  assert.deepEqual(outcome(await call("POST", `/process/${other}/${output}`)), [409, "output_in_use"]);
  const detached = await call("DELETE", `/process/${uuid}/${output}`);
  assert.deepEqual(detached, { status: 200, body: { deleted: true, uuid: output } });
  assert.deepEqual(outcome(await call("DELETE", `/process/${uuid}/${output}`)), [404, "output_not_found"]);
  assert.deepEqual(outcome(await call("POST", `/process/${uuid}/${newUuid()}`)), [404, "output_not_found"]);
  await call("DELETE", "/processes");
});

test("a client that disconnects during a start leaves no process", async () => {
  const gone = new AbortController();
  const body = JSON.stringify({ params: { script: { flows: false } } });
  const headers = { api_key: "k", "content-type": "application/json" };
  const started = app.call(startPath(), { method: "POST", headers, body, signal: gone.signal });
  started.catch(() => {});
  const active = async () => (await call("GET", "/processes")).body.processes.length;
  while ((await active()) === 0);
  gone.abort();
  await assert.rejects(started);
  while ((await active()) > 0);
});

const UUID = "01890000-0000-7000-8000-000000000000";
const address = { publicUrl: "https://watch.example:8443", apiKey: "wh_a_b+c" };

test("the URLs of a started process carry the key, and websockets their own scheme", () => {
  assert.deepEqual(describeStarted(UUID, null, address), {
    process_uuid: UUID,
    feed_url: `https://watch.example:8443/process/${UUID}/feed?api_key=wh_a_b%2Bc`,
    detection_data_url: `wss://watch.example:8443/process/${UUID}/detection_data?api_key=wh_a_b%2Bc`,
    telemetry_url: "Not configured",
  });
  const plain = describeStarted(UUID, null, { ...address, publicUrl: "http://127.0.0.1:8080" });
  assert.ok(plain.detection_data_url.startsWith("ws://127.0.0.1:8080/process/"));
});

for (const [type, parameters, expected] of [
  ["websocket", {}, `wss://watch.example:8443/process/${UUID}/telemetry?api_key=wh_a_b%2Bc`],
  ["mqtt", { ip: "10.0.0.7", port: 1883, topic: "drone/7" }, "mqtt://10.0.0.7:1883/drone/7"],
  ["mqtt", { ip: "fe00::7", port: 1883, topic: "t", username: "u", password: "p" }, "mqtt://[fe00::7]:1883/t"],
  ["static", { sensor_hfov: 60 }, "static"],
] as const)
  test(`the telemetry URL for type ${type} is ${expected.split("?")[0]}`, () => {
    const telemetry = { type, format: "native", parameters } as const;
    assert.equal(describeStarted(UUID, telemetry, address).telemetry_url, expected);
  });
