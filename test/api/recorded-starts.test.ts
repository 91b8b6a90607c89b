/** Processes on recorded video: a recording of a stream, the recording of a process, and a rendered clip. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { AccountEvent } from "../../schemas/api/account-events.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceDetails, SourceRecord } from "../../schemas/api/sources.ts";
import { keepPublishing } from "../../server/media/publisher.fixture.ts";
import { newUuid } from "../../server/uuid.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { createKey } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

/** Messages of all frames, almost without inference. */
const json = { params: { every: 1000, include_predicted: true } };
const service = await shareService("recorded");
const folder = temporaryFolder();
let camera: SourceRecord;

interface Recording {
  readonly uuid: string;
  readonly stopped_at: string | null;
  readonly duration_seconds: number;
}
const start = (query: string, key = service.key) => service.call<Problem>("POST", `/start?${query}`, { json, key });
const expectProblem = async (query: string, status: number, code: string, key = service.key): Promise<string> => {
  const { status: found, body } = await start(query, key);
  assert.deepEqual([found, body.code], [status, code], body.detail);
  return body.detail;
};
/** `preview` needs no model: for runs whose messages are not read. */
const PREVIEW = { graph: "preview", json: {} } as const;
const run = async (
  query: string,
  key = service.key,
  { graph, json: body }: { readonly graph: string; readonly json: object } = { graph: "detect", json },
): Promise<ProcessRecord> => {
  const path = `/start?${query}&graph=${graph}`;
  const { process_uuid: uuid } = await service.expect<StartedProcess>(201, "POST", path, { json: body, key });
  return service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`, { key });
};
const untilFinished = ({ uuid }: ProcessRecord, key = service.key) =>
  poll("the process has finished", async () => {
    const record = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`, { key });
    assert.equal(record.error, null);
    return record.state === "finished" ? record : null;
  });
/** Messages, and frames that were dropped: a file is processed in real time, on a busy machine too. */
const countProcessed = async ({ uuid, stats }: ProcessRecord): Promise<number> => {
  const { text } = await service.call("GET", `/process/${uuid}/detections`);
  return text.split("\n").filter((line) => line !== "").length + stats.frames_dropped;
};
/** Of the file of a source. */
const countFrames = async ({ source_uuid: uuid }: ProcessRecord): Promise<number> => {
  const video = await fetch(`${service.url}/source/${uuid}/file`, { headers: { api_key: service.key } });
  const path = join(folder, `${uuid}.mp4`);
  await writeFile(path, new Uint8Array(await video.arrayBuffer()));
  const { stdout } = await promisify(execFile)("ffprobe", [
    ...["-v", "error", "-count_packets", "-select_streams", "v:0"],
    ...["-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", path],
  ]);
  return Number.parseInt(stdout, 10);
};

test("a recording is the input of a process when it has ended, once as a source, and only for its owner", {
  timeout: 300_000,
}, async (t) => {
  const { rtmp = "" } = await service.serving.event("ready");
  const address = `${rtmp}/recorded/yard`;
  camera = await service.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: "yard", input_url: address, stream_type: "rtmp" },
  });
  const publisher = keepPublishing(`${address}?api_key=${service.key}`);
  t.after(() => publisher.end());
  const find = (isFound: (recording: Recording) => boolean) =>
    poll("the recording", async () => {
      const path = `/sources/recordings?source_uuid=${camera.uuid}`;
      const { recordings } = await service.expect<{ recordings: Recording[] }>(200, "GET", path);
      return recordings.find(isFound) ?? null;
    });
  const { uuid } = await find(({ duration_seconds: seconds }) => seconds > 2);
  assert.match(await expectProblem(`recording_uuid=${uuid}`, 409, "recording_unavailable"), /still being written/);
  publisher.end();
  const { duration_seconds: seconds } = await find(({ stopped_at }) => stopped_at !== null);
  const first = await run(`recording_uuid=${uuid}`);
  assert.notEqual(first.source_uuid, camera.uuid);
  const source = await service.expect<SourceDetails>(200, "GET", `/source/${first.source_uuid}`);
  assert.deepEqual([source.type, source.width, source.height, source.codec], ["file", 160, 120, "h264"]);
  assert.match(source.alias, /^yard 2\d{3}-/);
  assert.ok(Math.abs((source.duration_seconds ?? 0) - seconds) < 0.5);
  const ended = await untilFinished(first);
  const frames = await countFrames(first);
  assert.ok(Math.abs(frames - seconds * 25) < 10, `${frames} frames of ${seconds} s`);
  assert.equal(await countProcessed(ended), frames);
  const second = await run(`recording_uuid=${uuid.toUpperCase()}&index=0`, service.key, PREVIEW);
  assert.equal(second.source_uuid, first.source_uuid, "the same bytes are one source");
  await service.expect(200, "DELETE", `/process/${second.uuid}`);

  await expectProblem(`recording_uuid=${uuid}&index=7`, 404, "recording_not_found");
  await expectProblem(`recording_uuid=${newUuid()}`, 404, "recording_not_found");
  await expectProblem(`recording_uuid=${uuid}`, 404, "recording_not_found", await createKey(service, "eve"));
  const broke = await createKey(service, "broke", "--minutes", "0");
  await expectProblem(`recording_uuid=${uuid}`, 403, "usage_limit_reached", broke);
  assert.match(await expectProblem("", 422, "invalid_input"), /source_uuid is missing/);
  await expectProblem(`source_uuid=${camera.uuid}&recording_uuid=${uuid}`, 422, "invalid_input");
  await expectProblem(`source_uuid=${camera.uuid}&index=0`, 422, "invalid_input");
  await service.expect(200, "DELETE", `/recording/${uuid}`);
  await expectProblem(`recording_uuid=${uuid}`, 404, "recording_not_found");
  await untilFinished(await run(`source_uuid=${first.source_uuid}`, service.key, PREVIEW));
});

test("a rendered clip is the input of a process", { timeout: 300_000 }, async () => {
  const { sources } = await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources?type=file");
  const [{ uuid: sourceUuid } = assert.fail()] = sources;
  const clip = await service.expect<{ uuid: string }>(202, "POST", "/clips", {
    json: { source_uuid: sourceUuid, from: 0, to: 1 },
  });
  const { type, data } = await poll("the event of the clip", async () => {
    const { events } = await service.expect<{ events: AccountEvent[] }>(200, "GET", `/events?source=${sourceUuid}`);
    return events.find(({ type: found }) => found.startsWith("clip-"));
  });
  assert.deepEqual([type, data], ["clip-ready", { clip_uuid: clip.uuid }]);
  const process = await untilFinished(await run(`recording_uuid=${clip.uuid}`));
  assert.notEqual(process.source_uuid, sourceUuid);
  const frames = await countFrames(process);
  assert.ok(frames >= 20 && frames <= 30, `${frames} frames`);
  assert.equal(await countProcessed(process), frames);
});

test("the recording of a process is listed with its start and length, and is the input of another process", {
  timeout: 300_000,
}, async () => {
  const key = await createKey(service, "recorder", "--recording");
  const form = new FormData();
  const { sources } = await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources?type=file");
  const [{ uuid } = assert.fail()] = sources;
  const video = await fetch(`${service.url}/source/${uuid}/file`, { headers: { api_key: service.key } });
  form.set("file", await video.blob(), "yard.mp4");
  const { uuid: sourceUuid } = await service.expect<SourceRecord>(201, "POST", "/video", { body: form, key });
  const recorded = await untilFinished(await run(`source_uuid=${sourceUuid}`, key), key);
  const [part = assert.fail("it is not recorded")] = recorded.recordings;
  assert.ok(Math.abs(Date.parse(part.started_at ?? "") - Date.parse(recorded.started_at ?? "")) < 60_000);
  const { duration_seconds: seconds } = await service.expect<SourceDetails>(200, "GET", `/source/${sourceUuid}`, {
    key,
  });
  assert.ok((part.duration_seconds ?? 0) > 0.5 && (part.duration_seconds ?? 0) <= (seconds ?? 0) + 0.5);
  await expectProblem(`recording_uuid=${recorded.uuid}`, 404, "recording_not_found");
  const again = await untilFinished(await run(`recording_uuid=${recorded.uuid}`, key, PREVIEW), key);
  assert.notEqual(again.source_uuid, sourceUuid);
});
