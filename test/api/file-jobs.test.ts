/** A file as a job: started paused, with every result from the first frame on, and all of them after its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Static } from "typebox";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { TrackReportRecord } from "../../schemas/api/track-reports.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { encodeStreet } from "../golden/street.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { Detections } from "./process-client.fixture.ts";
import { uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const skip = await withoutModel("default");
const folder = temporaryFolder();
const FRAMES = 50;
const service = await shareService("jobs", "--track-logger");
const { uuid: sourceUuid } = await uploadVideo(service, await encodeStreet(folder, FRAMES), { alias: "street" });

const start = (json: unknown) =>
  service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${sourceUuid}`, { json });
const read = (uuid: string) => service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
const stored = async (uuid: string, query = ""): Promise<readonly DetectionMessage[]> => {
  const { text } = await service.call("GET", `/process/${uuid}/detections${query}`);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as DetectionMessage);
};
const untilFinished = (uuid: string) =>
  poll("the end of the file", async () => {
    const { state, error } = await read(uuid);
    assert.equal(error, null);
    return state === "finished" ? state : null;
  });

let finished = "";

test("a file that is started paused gives nothing until it is resumed, and then everything from its first frame on", {
  skip,
  timeout: 300_000,
}, async () => {
  const { process_uuid: uuid, detection_data_url: url } = await start({
    paused: true,
    params: { every: 2, include_predicted: true },
  });
  const paused = await read(uuid);
  assert.equal(paused.state, "paused");
  assert.deepEqual(await stored(uuid), []);
  const detections = await Detections.open(url);
  assert.equal(detections.messages.length, 0);
  await service.expect(200, "POST", `/process/${uuid}/resume`);
  await untilFinished(uuid);
  await detections.closed;
  const all = await stored(uuid);
  assert.deepEqual(
    detections.messages.map(({ timestamp }) => timestamp),
    all.map(({ timestamp }) => timestamp),
  );
  // Second 0 of the video.
  assert.equal(all[0]?.timestamp, paused.started_at);
  finished = uuid;
});

test("all detections of a finished job can be read, by seconds of the video too", { skip }, async () => {
  const all = await stored(finished);
  // On a busy machine frames are dropped, since a file is processed in real time: which ones have a message differs.
  const [startMs = 0, fromMs = 0] = all.map(({ timestamp }) => Date.parse(timestamp));
  const toMs = Date.parse(all.at(-1)?.timestamp ?? "");
  const part = await stored(finished, `?from=${(fromMs - startMs) / 1000}&to=${(toMs - startMs) / 1000}`);
  assert.ok(all.length > 2, `${all.length} messages`);
  assert.deepEqual(part, all.slice(1, -1));
});

test("the tracks of a job are found by class, time and place", { skip }, async () => {
  const list = async (query: string) => {
    const report = await service.expect<Static<typeof TrackReportRecord>>(
      200,
      "GET",
      `/process/${finished}/tracks?patches=false&${query}`,
    );
    return report.tracks;
  };
  const all = await list("");
  assert.ok(all.length > 1);
  const [first] = all;
  const named = await list(`class=${first?.category_name}`);
  assert.deepEqual(
    named,
    all.filter(({ category_name }) => category_name === first?.category_name),
  );
  assert.deepEqual(await list("class=zebra"), []);
  const everywhere = "zone=-1,-1,9999,-1,9999,9999,-1,9999";
  assert.deepEqual(await list(everywhere), all);
  assert.deepEqual(await list("zone=9000,9000,9999,9000,9999,9999"), []);
  // Around the middle of the lower edge of its last box.
  const [x = 0, y = 0, width = 0, height = 0] = first?.bbox ?? [];
  const [left, right, top, bottom] = [x + width / 2 - 30, x + width / 2 + 30, y + height - 30, y + height + 30];
  const near = await list(`zone=${[left, top, right, top, right, bottom, left, bottom].map((n) => n.toFixed(2))}`);
  assert.ok(near.some(({ track_id }) => track_id === first?.track_id));
  assert.deepEqual(await list("geo_zone=0,0,1,0,1,1,0,1"), []);
  assert.deepEqual(await list("to=2020-01-01"), []);
  assert.deepEqual((await list("sort=-track_id")).reverse(), all);
});

test("a live source is not started paused", async () => {
  const { uuid } = await service.expect<{ uuid: string }>(201, "POST", "/stream", {
    json: { alias: "camera", stream_type: "rtsp", input_url: "rtsp://127.0.0.1:9/live" },
  });
  const answer = await service.call<Problem>("POST", `/start?source_uuid=${uuid}`, { json: { paused: true } });
  assert.deepEqual([answer.status, answer.body.errors?.[0]?.path], [422, "/paused"]);
});
