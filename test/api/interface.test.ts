/** Rows of the interface specification that only the whole service can prove. `interface-rows.ts` lists all rows. */
import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { makeClip, repeatClip, temporaryFolder } from "../graph.fixture.ts";
import { ENDPOINTS } from "./interface-rows.ts";
import { createKey, MASTER_KEY, uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const NOWHERE = "01890000-0000-7000-8000-000000000000";
const SMALL = "width=64&height=48";
const folder = temporaryFolder();
const service = await shareService("interface", "--graph-author");
/** A key without any resources. */
const strangerKey = await createKey(service, "stranger");
const short = await makeClip(folder, 250, SMALL);
/** Longer than the tests. */
const long = await repeatClip(short, 40);
const clip = await uploadVideo(service, long);

/** Almost no inference. */
const start = (uuid: string, key = service.key) =>
  service.call<StartedProcess & Problem>("POST", `/start?source_uuid=${uuid}`, {
    key,
    json: { params: { every: 1000 } },
  });
const codeOf = async (answer: Promise<{ status: number; body: unknown }>): Promise<string> => {
  const { status, body } = await answer;
  return `${status} ${(body as Problem).code}`;
};

/** Stored files of uploads. */
function storedFiles(): readonly string[] {
  const data = join(service.folder.path, "data");
  const isVideo = (path: string) => !path.includes("postgres") && /\.(mp4|mov|avi)$|[0-9a-f-]{36}$/.test(path);
  return readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(isVideo);
}

test("the OpenAPI document contains every endpoint of the interface", () => {
  const known = new Set(service.contract.operations.map(({ method, path }) => `${method} ${path}`));
  // The document has one path for alerts and processes.
  const rows = Object.keys(ENDPOINTS).map((row) => row.replace(/^(\w+ \/alert)\/\{\w+\}$/, "$1/{uuid}"));
  const missing = rows.flatMap((row) => (row === "/login" ? ["GET /login", "POST /login"] : [row]));
  assert.deepEqual(
    missing.filter((row) => !known.has(row)),
    [],
  );
});

describe("POST /start is rejected", () => {
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

  test("with 403 at the limit of processes", async () => {
    const key = await createKey(service, "single", "--limit", "processes=1");
    const source = await uploadVideo(service, long, { key });
    const both = await Promise.all([start(source.uuid, key), start(source.uuid, key)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [201, 403]);
    assert.equal(both.find(({ status }) => status === 403)?.body.code, "processes_limit_reached");
    const started = both.find(({ status }) => status === 201)?.body.process_uuid ?? "";
    assert.deepEqual(await service.expect(200, "DELETE", "/processes", { key }), { stopped: [started] });
    assert.equal((await service.expect<ProcessRecord>(200, "GET", `/process/${started}`, { key })).state, "finished");
  });

  test("with 403 when the minutes are used up", async () => {
    const key = await createKey(service, "spent", "--minutes", "0");
    const source = await uploadVideo(service, short, { key });
    assert.equal(await codeOf(start(source.uuid, key)), "403 usage_limit_reached");
  });

  test("with 404 for an unknown source and for a source of another key", async () => {
    assert.equal(await codeOf(start(NOWHERE)), "404 source_not_found");
    assert.equal(await codeOf(start(clip.uuid, strangerKey)), "404 source_not_found");
  });

  test("with 404 when the file of the source is missing", async () => {
    const before = new Set(storedFiles());
    const { uuid } = await uploadVideo(service, await repeatClip(short, 2));
    const [file = assert.fail("no file is stored")] = storedFiles().filter((path) => !before.has(path));
    rmSync(file);
    assert.equal(await codeOf(start(uuid)), "404 source_file_missing");
  });

  test("with 503 when the pipeline cannot be started", async () => {
    const before = new Set(storedFiles());
    const { uuid } = await uploadVideo(service, await repeatClip(short, 3));
    const [file = assert.fail("no file is stored")] = storedFiles().filter((path) => !before.has(path));
    writeFileSync(file, "not a video");
    assert.equal(await codeOf(start(uuid)), "503 pipeline_failed");
  });

  test("with 422 for invalid parameters, and 404 for an unknown graph", async () => {
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

  test("shows its times in the format of the interface, and its source", async () => {
    const record = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
    assert.match(record.started_at ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(record.source_uuid, clip.uuid);
    assert.equal(record.source_url, clip.input_url);
  });

  test("accepts data and video outputs, and shows their status", async () => {
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

  test("shows its graph in every format, and accepts changes of live properties", async () => {
    const path = `/process/${uuid}/graph`;
    await service.expect(200, "GET", path);
    assert.match(await service.expect<string>(200, "GET", `${path}?format=dot`), /^digraph/);
    assert.match(await service.expect<string>(200, "GET", `${path}?format=mermaid`), /^(flowchart|graph)/m);
    assert.match(await service.expect<string>(200, "GET", `${path}?format=launch`), /^gst-launch-1.0/);
    await service.expect(200, "PATCH", path, { json: { detect: { confidence: 0.9 } } });
    for (const body of [{ detct: { confidence: 0.5 } }, { detect: { confidnce: 0.5 } }, { detect: { model: "x" } }])
      assert.equal(await codeOf(service.call("PATCH", path, { json: body })), "422 invalid_input");
  });

  test("is not found with another key", async () => {
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

  test("is stopped by the deprecated endpoint", async () => {
    await service.expect(200, "POST", `/process/${uuid}/stop`);
    assert.equal((await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`)).state, "finished");
  });
});

describe("POST /graphs/try", () => {
  const yaml = "graph: mine\nchains:\n  main: [source, decode, stage, detect: { every: 1000 }, detections]\n";

  test("requires a key with the right graph-author", async () => {
    const key = strangerKey;
    const json = { yaml, source_uuid: clip.uuid };
    assert.equal(await codeOf(service.call("POST", "/graphs/try", { json, key })), "403 graph_author_needed");
  });

  test("runs a graph, and rejects elements that access the outside; the deprecated endpoint ends all processes", async () => {
    const attempt = (text: string) =>
      service.call<StartedProcess & Problem>("POST", "/graphs/try", { json: { yaml: text, source_uuid: clip.uuid } });
    const rejected = await attempt(yaml.replace("detections", "filesink: { location: /tmp/x }"));
    assert.equal(rejected.body.code, "invalid_input");
    assert.match(rejected.body.errors?.[0]?.message ?? "", /^graph.yaml:3:\d+: "filesink" is not allowed/);
    const { status, body } = await attempt(yaml);
    assert.equal(status, 201);
    const read = () => service.expect<ProcessRecord>(200, "GET", `/process/${body.process_uuid}`);
    assert.equal((await read()).graph, "try");
    assert.deepEqual(await service.expect(200, "POST", "/process/stop_all"), { stopped: [body.process_uuid] });
    assert.equal((await read()).state, "finished");
  });
});
