/** The shadow of a real process: two runners on one file or live stream, and what the service says about their difference. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { ShadowRecord } from "../../schemas/api/shadows.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { spawnPublisher } from "../../server/media/publisher.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { encodeStreet } from "../golden/street.fixture.ts";
import { repeatClip, temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { createKey, uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const noModel = await withoutModel("default");
/** 20 s, which are repeated: both runners are loaded while it plays, also on a busy machine. */
const FRAMES = 100;
const TIMES = 30;
/** 5 fps instead of 25, as other frames would not be compared. */
const SLOWER = 5;
const folder = temporaryFolder();
let street: string;
const START = { json: { params: { every: 1 } } };

const service = await shareService("shadow");
before(async () => {
  if (noModel) return;
  street = join(folder, "slow.mp4");
  const clip = await encodeStreet(folder, FRAMES);
  await promisify(execFile)("ffmpeg", ["-v", "error", "-itsscale", String(SLOWER), "-i", clip, "-c", "copy", street]);
});

/** Starts it, and resolves with its record when it has ended. */
async function compareWith(process: string, json: object): Promise<ShadowRecord> {
  const path = `/process/${process}/shadow`;
  await service.expect<ShadowRecord>(201, "POST", path, { json });
  return poll("the shadow has ended", async () => {
    const shadow = await service.expect<ShadowRecord>(200, "GET", path);
    assert.notEqual(shadow.state, "failed", shadow.error ?? "");
    return shadow.state === "finished" ? shadow : null;
  });
}

test("compares variants of the graph with a running process, which has all outputs to itself", {
  skip: noModel,
  timeout: 300_000,
}, async () => {
  const { uuid: sourceUuid } = await uploadVideo(service, await repeatClip(street, TIMES));
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${sourceUuid}`, START);
  const path = `/process/${started.process_uuid}/shadow`;
  const compare = (json: object) => compareWith(started.process_uuid, json);
  const same = await compare({ frames: 15 });
  assert.ok((same.comparison.agreement ?? 0) > 0.8, JSON.stringify(same.comparison));
  assert.ok(same.comparison.frames.compared >= 15);
  const names = same.comparison.classes.map(({ name }) => name);
  assert.ok(names.includes("stop sign"), names.join());

  const fewer = await compare({ frames: 5, params: { classes: ["car"] } });
  const sign = fewer.comparison.classes.find(({ name }) => name === "stop sign");
  assert.deepEqual([sign?.boxes.shadow, sign?.tracks.shadow], [0, 0]);
  assert.ok((sign?.boxes.live ?? 0) > 0 && (fewer.comparison.recall ?? 1) < 1);

  const process = await service.expect<ProcessRecord>(200, "GET", `/process/${started.process_uuid}`);
  assert.deepEqual([process.state, process.stats.restarts], ["running", 0]);
  const { processes } = await service.expect<{ processes: ProcessRecord[] }>(200, "GET", "/processes");
  assert.deepEqual(
    processes.map(({ uuid }) => uuid),
    [started.process_uuid],
  );
  const foreign = await createKey(service, "foreign");
  for (const method of ["POST", "GET", "DELETE"]) {
    const json = method === "POST" ? { json: {} } : {};
    assert.equal(
      (await service.expect<Problem>(404, method, path, { ...json, key: foreign })).code,
      "process_not_found",
    );
  }
  const refused = await service.expect<Problem>(422, "POST", path, { json: { params: { confidence: 7 } } });
  assert.deepEqual(
    refused.errors?.map((fault) => fault.path),
    ["/params/confidence"],
  );
  const recording = await service.expect<Problem>(422, "POST", path, { json: { graph: "record" } });
  assert.match(JSON.stringify(recording.errors), /record/);
  await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
});

test("compares with a live stream, too, by the capture times that both runners get from the hub", {
  skip: noModel,
  timeout: 300_000,
}, async (t) => {
  const { rtsp = "" } = await service.serving.event("ready");
  const address = `${rtsp}/shadow/street`;
  const json = { alias: "street", input_url: address, stream_type: "rtsp" };
  const { uuid: sourceUuid } = await service.expect<SourceRecord>(201, "POST", "/stream", { json });
  const publisher = spawnPublisher(address.replace("://", `://any:${service.key}@`), 600, street);
  t.after(() => publisher.kill("SIGKILL"));
  const isLive = async () =>
    (await service.expect<SourceRecord>(200, "GET", `/source/${sourceUuid}`)).status === "streaming";
  await poll("the stream is published", isLive);
  const path = `/start?source_uuid=${sourceUuid}`;
  const { process_uuid: uuid } = await service.expect<StartedProcess>(201, "POST", path, START);
  const same = await compareWith(uuid, { frames: 15 });
  assert.ok(same.comparison.frames.compared >= 15);
  assert.ok((same.comparison.agreement ?? 0) > 0.8, JSON.stringify(same.comparison));
  const process = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
  assert.deepEqual([process.state, process.reconnecting, process.stats.restarts], ["running", false, 0]);
  await service.expect(200, "DELETE", `/process/${uuid}`);
});
