/** Starts on recorded video of another node, without a bucket: the node that has the file runs the process. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeFilm } from "../../../native/film.fixture.ts";
import type { ClipRecord } from "../../../schemas/api/clips.ts";
import type { Problem } from "../../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../../schemas/api/processes.ts";
import type { SourceDetails, SourceRecord } from "../../../schemas/api/sources.ts";
import { keepPublishing } from "../../../server/media/publisher.fixture.ts";
import { MASTER_KEY, type TestService, uploadVideo } from "../../api/service.fixture.ts";
import { temporaryFolder } from "../../graph.fixture.ts";
import { poll } from "../../watch.fixture.ts";
import { addAccount, PARAMS, read, start } from "../cluster.fixture.ts";
import { databaseUrl, first, second } from "./two-nodes.fixture.ts";

const ON_FIRST = { node_labels: { site: "a" } };
const film = join(temporaryFolder(), "film.mp4");
// Not while the module is loaded: the tests of the next file would begin before these.
before(() => makeFilm(film, 60, false));

interface Recording {
  readonly uuid: string;
  readonly duration_seconds: number;
  readonly stopped_at: string | null;
}

/** Resolves with its record when it has finished. */
async function run(service: TestService, query: string, key = MASTER_KEY, more = {}): Promise<ProcessRecord> {
  const started = await service.expect<StartedProcess>(201, "POST", `/start?${query}`, {
    ...{ key, json: { params: PARAMS, ...more } },
  });
  return poll("the process has finished", async () => {
    const record = await read(service, started.process_uuid, key);
    assert.equal(record.error, null);
    return record.state === "finished" ? record : null;
  });
}

async function expectProblem(query: string, status: number, code: string, key = MASTER_KEY, more = {}): Promise<void> {
  const json = { params: PARAMS, ...more };
  const { status: found, body } = await second.call<Problem>("POST", `/start?${query}`, { key, json });
  assert.deepEqual([found, body.code], [status, code], body.detail);
}

/** Of a stream that was published to the first node. */
async function record(): Promise<string> {
  const { rtmp = "" } = await first.serving.event("ready");
  const input_url = `${rtmp}/master/porch`;
  const { uuid } = await first.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: "porch", input_url, stream_type: "rtmp" },
  });
  const publisher = keepPublishing(`${input_url}?api_key=${MASTER_KEY}`);
  after(() => publisher.end());
  const find = (isFound: (recording: Recording) => boolean) =>
    poll("the recording", async () => {
      const path = `/sources/recordings?source_uuid=${uuid}`;
      const { recordings } = await second.expect<{ recordings: Recording[] }>(200, "GET", path);
      return recordings.find(isFound) ?? null;
    });
  const { uuid: recording } = await find(({ duration_seconds }) => duration_seconds > 2);
  await expectProblem(`recording_uuid=${recording}`, 409, "recording_unavailable");
  publisher.end();
  await find(({ stopped_at }) => stopped_at !== null);
  return recording;
}

let recording = "";
/** What it became. */
let video: string | null = null;

test("a recording of one node is the input of a process that is started on the other", async () => {
  recording = await record();
  const started = await run(second, `recording_uuid=${recording}`);
  video = started.source_uuid;
  const source = await second.expect<SourceDetails>(200, "GET", `/source/${video}`);
  assert.deepEqual([source.type, source.width, source.height], ["file", 160, 120]);
  const { text } = await second.send("GET", `/process/${started.uuid}/detections`, {});
  assert.ok(text.split("\n").length > 25, "messages of every frame");
});

test("a start that the node of the recording cannot run is rejected, and leaves no process", async () => {
  const labels = { node_labels: { site: "b" } };
  await expectProblem(`recording_uuid=${recording}`, 503, "capacity_exhausted", MASTER_KEY, labels);
  const { uuid } = await uploadVideo(first, film, { alias: "busy", loop: true });
  const busy = await start(first, uuid, ON_FIRST);
  await expectProblem(`recording_uuid=${recording}`, 503, "capacity_exhausted");
  const { processes } = await second.expect<{ processes: ProcessRecord[] }>(200, "GET", "/processes");
  assert.deepEqual(
    processes.map((found) => found.uuid),
    [busy.process_uuid],
  );
  await second.expect(200, "DELETE", `/process/${busy.process_uuid}`);
  const again = await run(first, `recording_uuid=${recording}`, MASTER_KEY, ON_FIRST);
  assert.equal(again.source_uuid, video, "the same bytes are registered once");
});

test("another account does not find the recording", async () => {
  const eve = await addAccount(databaseUrl, "eve");
  await expectProblem(`recording_uuid=${recording}`, 404, "recording_not_found", eve);
});

test("the recording of a process, and a clip, are inputs on either node", async () => {
  const key = await addAccount(databaseUrl, "recorder", "--recording");
  const { uuid } = await uploadVideo(first, film, { alias: "film", key });
  const recorded = await run(first, `source_uuid=${uuid}`, key, ON_FIRST);
  const { source_uuid: sourceUuid } = await run(second, `recording_uuid=${recorded.uuid}`, key);
  assert.notEqual(sourceUuid, uuid);
  const clip = await first.expect<ClipRecord>(202, "POST", "/clips", {
    key,
    json: { source_uuid: uuid, from: 0, to: 1 },
  });
  await poll("the clip is rendered", async () => {
    const { state, error } = await second.expect<ClipRecord>(200, "GET", `/clip/${clip.uuid}`, { key });
    assert.equal(error, null);
    return state === "ready";
  });
  const ofClip = await run(second, `recording_uuid=${clip.uuid}`, key);
  assert.equal((await run(first, `recording_uuid=${clip.uuid}`, key)).source_uuid, ofClip.source_uuid);
});
