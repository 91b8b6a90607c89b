/** Rows of the interface's tables that only the whole service can show. `interface-rows.ts` has all of them. */
import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { ENDPOINTS } from "./interface-rows.ts";
import { createKey, MASTER_KEY, TestService, uploadVideo } from "./service.fixture.ts";

const NOWHERE = "01890000-0000-7000-8000-000000000000";
const SMALL = "width=64&height=48";
const folder = temporaryFolder();
let service: TestService;
let clip: SourceRecord;
/** A key that nothing here belongs to. */
let strangerKey = "";
before(async () => {
  service = await TestService.start({ env: { WINDHOVER_RUNNERS_SPARE: "1" } });
  strangerKey = await createKey(service, "stranger");
  clip = await uploadVideo(service, await makeClip(folder, 500, SMALL));
});
after(() => service?.close());

/** Looks for nothing, which is cheap. */
const start = (uuid: string, key = MASTER_KEY) =>
  service.call<StartedProcess & Problem>("POST", `/start?source_uuid=${uuid}`, {
    key,
    json: { params: { every: 1000 } },
  });
const codeOf = async (answer: Promise<{ status: number; body: unknown }>): Promise<string> => {
  const { status, body } = await answer;
  return `${status} ${(body as Problem).code}`;
};

/** Of an upload, where the service keeps it. */
function storedFiles(): readonly string[] {
  const data = join(service.folder.path, "data");
  const isVideo = (path: string) => !path.includes("postgres") && /\.(mp4|mov|avi)$|[0-9a-f-]{36}$/.test(path);
  return readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(isVideo);
}

test("every endpoint of the interface is in the document", () => {
  const known = new Set(service.answers.operations.map(({ method, path }) => `${method} ${path}`));
  // One path in the document, whosever uuid it takes.
  const rows = Object.keys(ENDPOINTS).map((row) => row.replace(/^(\w+ \/alert)\/\{\w+\}$/, "$1/{uuid}"));
  const missing = rows.flatMap((row) => (row === "/login" ? ["GET /login", "POST /login"] : [row]));
  assert.deepEqual(
    missing.filter((row) => !known.has(row)),
    [],
  );
});

describe("POST /start is refused", () => {
  test("with 400 when the source is not live", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => listener.once("listening", resolve));
    const { port } = listener.address() as { port: number };
    await new Promise((resolve) => listener.close(resolve));
    const { uuid } = await service.expect<SourceRecord>(201, "POST", "/stream", {
      json: { alias: "gone", input_url: `rtsp://127.0.0.1:${port}/none`, stream_type: "rtsp" },
    });
    assert.equal(await codeOf(start(uuid)), "400 source_not_live");
    const { processes } = await service.expect<{ processes: unknown[] }>(200, "GET", "/processes");
    assert.deepEqual(processes, []);
  });

  test("with 403 for a wrong key", async () =>
    assert.equal(await codeOf(start(clip.uuid, `${MASTER_KEY.slice(0, -1)}B`)), "403 api_key_invalid"));

  test("with 403 when as many processes run as may", async () => {
    const key = await createKey(service, "single", "--limit", "processes=1");
    const source = await uploadVideo(service, await makeClip(folder, 501, SMALL), { key });
    const both = await Promise.all([start(source.uuid, key), start(source.uuid, key)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [201, 403]);
    assert.equal(both.find(({ status }) => status === 403)?.body.code, "processes_limit_reached");
    await service.expect(200, "DELETE", "/processes", { key });
  });

  test("with 403 when the minutes are used up", async () => {
    const key = await createKey(service, "spent", "--minutes", "0");
    const source = await uploadVideo(service, await makeClip(folder, 20), { key });
    assert.equal(await codeOf(start(source.uuid, key)), "403 usage_limit_reached");
  });

  test("with 404 for a source that is not there, or is another's", async () => {
    assert.equal(await codeOf(start(NOWHERE)), "404 source_not_found");
    assert.equal(await codeOf(start(clip.uuid, strangerKey)), "404 source_not_found");
  });

  test("with 404 when the file of the source is gone", async () => {
    const before = new Set(storedFiles());
    const { uuid } = await uploadVideo(service, await makeClip(folder, 21));
    const [file = assert.fail("it is kept nowhere")] = storedFiles().filter((path) => !before.has(path));
    rmSync(file);
    assert.equal(await codeOf(start(uuid)), "404 source_file_missing");
  });

  test("with 503 when the pipeline cannot be started", async () => {
    const before = new Set(storedFiles());
    const { uuid } = await uploadVideo(service, await makeClip(folder, 22));
    const [file = assert.fail("it is kept nowhere")] = storedFiles().filter((path) => !before.has(path));
    writeFileSync(file, "no video any more");
    assert.equal(await codeOf(start(uuid)), "503 pipeline_failed");
  });

  test("with 422 for what a client may not say, and 404 for a graph that is not there", async () => {
    const path = `/start?source_uuid=${clip.uuid}`;
    for (const params of [
      { source: "/etc/passwd" },
      { uri: "/etc/passwd" },
      { model: "/etc/passwd" },
      { confidnce: 1 },
    ])
      assert.equal(await codeOf(service.call("POST", path, { json: { params } })), "422 invalid_input");
    assert.equal(await codeOf(service.call("POST", `${path}&graph=nothing`)), "404 graph_not_found");
    assert.equal(await codeOf(service.call("POST", `${path}&graph=..%2fdetect`)), "404 graph_not_found");
  });
});

describe("a running process", () => {
  let uuid = "";
  before(async () => {
    uuid = (await start(clip.uuid)).body.process_uuid;
  });

  test("shows its times as the interface writes them, and what it runs on", async () => {
    const record = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
    assert.match(record.started_at ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(record.source_uuid, clip.uuid);
    assert.equal(record.source_url, clip.input_url);
  });

  test("takes outputs of data and of video, and says how they get on", async () => {
    const make = (body: object) => service.call<OutputRecord>("POST", "/output", { json: body });
    const data = (await make({ alias: "data", type: "detection_data" })).body;
    const video = (await make({ alias: "video", type: "rtmp", url: "rtmp://127.0.0.1:1/live/x" })).body;
    for (const output of [data, video]) await service.expect(200, "POST", `/process/${uuid}/${output.uuid}`);
    const { outputs, output_states } = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
    assert.deepEqual(outputs, [data.uuid, video.uuid]);
    assert.deepEqual(
      output_states.map(({ output_uuid }) => output_uuid),
      outputs,
    );
    assert.equal(output_states[0]?.status, "live");
    await service.expect(200, "DELETE", `/process/${uuid}/${video.uuid}`);
    assert.equal(await codeOf(service.call("DELETE", `/output/${data.uuid}`)), "409 output_in_use");
    await service.expect(200, "DELETE", `/process/${uuid}/${data.uuid}`);
  });

  test("shows its graph in every format, and takes live properties", async () => {
    const path = `/process/${uuid}/graph`;
    await service.expect(200, "GET", path);
    assert.match(await service.expect<string>(200, "GET", `${path}?format=dot`), /^digraph/);
    assert.match(await service.expect<string>(200, "GET", `${path}?format=mermaid`), /^(flowchart|graph)/m);
    assert.match(await service.expect<string>(200, "GET", `${path}?format=launch`), /^gst-launch-1.0/);
    await service.expect(200, "PATCH", path, { json: { detect: { confidence: 0.9 } } });
    for (const body of [{ detct: { confidence: 0.5 } }, { detect: { confidnce: 0.5 } }, { detect: { model: "x" } }])
      assert.equal(await codeOf(service.call("PATCH", path, { json: body })), "422 invalid_input");
  });

  test("is not there for another key", async () => {
    const key = strangerKey;
    for (const [method, path] of [
      ["GET", `/process/${uuid}`],
      ["DELETE", `/process/${uuid}`],
      ["POST", `/process/${uuid}/pause`],
      ["GET", `/process/${uuid}/graph`],
      ["GET", `/process/${uuid}/feed`],
      ["GET", `/process/${uuid}/events`],
    ] as const)
      assert.equal(await codeOf(service.call(method, path, { key })), "404 process_not_found", path);
    assert.deepEqual(await service.expect(200, "DELETE", "/processes", { key }), { stopped: [] });
  });

  test("is stopped by the deprecated path", async () => {
    await service.expect(200, "POST", `/process/${uuid}/stop`);
    assert.equal((await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`)).state, "finished");
  });

  test("all are stopped by DELETE /processes, and by its deprecated path", async () => {
    for (const [method, path] of [
      ["DELETE", "/processes"],
      ["POST", "/process/stop_all"],
    ] as const) {
      const started = (await start(clip.uuid)).body.process_uuid;
      assert.deepEqual(await service.expect(200, method, path), { stopped: [started] });
      assert.equal((await service.expect<ProcessRecord>(200, "GET", `/process/${started}`)).state, "finished");
    }
  });
});

describe("a graph that is tried", () => {
  const yaml = "graph: mine\nchains:\n  main: [source, decode, stage, detect, detections]\n";

  test("needs a key of its author's", async () => {
    const key = strangerKey;
    const json = { yaml, source_uuid: clip.uuid };
    assert.equal(await codeOf(service.call("POST", "/graphs/try", { json, key })), "403 graph_author_needed");
  });

  test("runs, and may use nothing that leaves the graph", async () => {
    const key = await createKey(service, "author", "--graph-author");
    const { uuid } = await uploadVideo(service, await makeClip(folder, 502, SMALL), { key });
    const attempt = (text: string) =>
      service.call<StartedProcess & Problem>("POST", "/graphs/try", { json: { yaml: text, source_uuid: uuid }, key });
    const refused = await attempt(yaml.replace("detections", "filesink: { location: /tmp/x }"));
    assert.equal(refused.body.code, "invalid_input");
    assert.match(refused.body.errors?.[0]?.message ?? "", /^graph.yaml:3:\d+: "filesink" is not allowed/);
    const { status, body } = await attempt(yaml);
    assert.equal(status, 201);
    assert.equal(
      (await service.expect<ProcessRecord>(200, "GET", `/process/${body.process_uuid}`, { key })).graph,
      "try",
    );
    await service.expect(200, "DELETE", `/process/${body.process_uuid}`, { key });
  });
});
