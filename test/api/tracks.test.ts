/** Reports and exported files of the tracks of a real process, from the runner through the database to map formats. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Static } from "typebox";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { TrackCollection, TrackedListing, TrackReportRecord } from "../../schemas/api/track-reports.ts";
import { checkBy } from "../../server/validation.ts";
import { type Feature, readGeoJson } from "../../tracks/rfc7946.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { CAMERA, encodeStreet } from "../golden/street.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { createKey, uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const NOWHERE = "01890000-0000-7000-8000-000000000000";
const FRAMES = 75;

const noModel = await withoutModel("default");
const folder = temporaryFolder();
const service = await shareService("tracks", "--track-logger");
/** A key without the track logger. */
const plainKey = await createKey(service, "plain");

const read = (uuid: string, format: string, key?: string) =>
  service.call<Problem & string>("GET", `/process/${uuid}/tracks?format=${format}`, key === undefined ? {} : { key });

type Report = Static<typeof TrackReportRecord>;

/** Reads the report and checks it against its schema. */
async function readReport(uuid: string, query = "", method: "GET" | "POST" = "GET"): Promise<Report> {
  const report = await service.expect<Report>(200, method, `/process/${uuid}/tracks${query}`);
  assert.deepEqual(checkBy(TrackReportRecord)(report), []);
  return report;
}

async function listTracked(query = ""): Promise<Static<typeof TrackedListing>> {
  const listed = await service.expect<Static<typeof TrackedListing>>(200, "GET", `/tracked_processes${query}`);
  assert.deepEqual(checkBy(TrackedListing)(listed), []);
  return listed;
}

function readByPython(text: string): { readonly placemarks: readonly { readonly data: Record<string, string> }[] } {
  const script = fileURLToPath(new URL("../../tracks/read-kml.fixture.py", import.meta.url));
  const { stdout, stderr, status } = spawnSync("python3", [script], { input: text, encoding: "utf8", timeout: 60_000 });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

const classesOf = (features: readonly Feature[]) => features.map(({ properties }) => properties.class_name);

/** The process of the first test, for the tests after it. */
let endedUuid = "";

test("exports tracks with their positions while a process runs and after it has ended", {
  skip: noModel,
  timeout: 300_000,
}, async () => {
  const { uuid: sourceUuid } = await uploadVideo(service, await encodeStreet(folder, FRAMES), { alias: "street" });
  const telemetry_cfg = { type: "static", format: "native", parameters: CAMERA };
  await service.expect<SourceRecord>(200, "PATCH", `/source/${sourceUuid}`, { json: { telemetry_cfg } });
  const json = { params: { every: 4 } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${sourceUuid}`, { json });
  const uuid = started.process_uuid;

  const live = await poll("tracks in the report", async () => {
    const report = await readReport(uuid);
    return report.tracks.length > 0 ? report : null;
  });
  assert.equal(live.process_uuid, uuid);
  assert.ok(Math.abs(live.report_time - Date.now() / 1000) < 60);
  const ofTwo = await readReport(uuid, "?window_minutes=2");
  // On a busy machine the process may have ended already; its report then covers the whole clip.
  if ((await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`)).state === "running")
    assert.deepEqual([live.time_window_minutes, ofTwo.time_window_minutes], [5, 2]);

  const early = await poll("exported tracks", async () => {
    const answer = await read(uuid, "geojson");
    assert.equal(answer.status, 200, answer.text);
    return readGeoJson(answer.text).length > 0 ? answer : null;
  });
  assert.equal(early.headers.get("content-type"), "application/geo+json");
  assert.equal(early.headers.get("content-disposition"), `attachment; filename="tracks-${uuid}.geojson"`);

  await poll("the end of the clip", async () => {
    const { state, error } = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
    assert.equal(error, null);
    return state === "finished" ? state : null;
  });
  const { text } = await read(uuid, "geojson");
  assert.deepEqual(checkBy(TrackCollection)(JSON.parse(text)), []);
  const features = readGeoJson(text);
  assert.ok(classesOf(features).filter((name) => name === "car").length >= 2, String(classesOf(features)));
  assert.ok(features.every(({ properties }) => properties.is_live === false));
  // A moving car has a path on the ground, north of the camera.
  const cars = features.filter(({ properties }) => properties.class_name === "car");
  const [car] = cars.filter(({ geometry }) => geometry?.type === "LineString");
  assert.ok(car?.geometry, text.slice(0, 2000));
  for (const [longitude = 0, latitude = 0, altitude = 0] of car.geometry.coordinates as number[][]) {
    assert.ok(latitude > CAMERA.latitude && latitude < CAMERA.latitude + 0.001, String(latitude));
    assert.ok(Math.abs(longitude - CAMERA.longitude) < 0.001, String(longitude));
    assert.ok(Math.abs(altitude - 519) < 1, String(altitude));
  }

  const kml = await read(uuid, "kml");
  assert.equal(kml.headers.get("content-type"), "application/vnd.google-earth.kml+xml");
  const located = features.filter(({ geometry }) => geometry !== null).map(({ properties }) => properties.track_id);
  assert.deepEqual(
    readByPython(kml.text).placemarks.map(({ data }) => Number(data.track_id)),
    located,
  );

  const csv = await read(uuid, "csv");
  assert.match(csv.headers.get("content-type") ?? "", /^text\/csv; charset=utf-8; header=present$/);
  const [head, ...rows] = csv.text.split("\r\n").slice(0, -1);
  assert.match(head ?? "", /^track_id,class_id,class_name,time,confidence,latitude,longitude,altitude_m,/);
  assert.deepEqual(
    [...new Set(rows.map((row) => Number(row.split(",")[0])))],
    features.map(({ properties }) => properties.track_id),
  );

  const head200 = await fetch(`${service.url}/process/${uuid}/tracks?format=csv`, {
    method: "HEAD",
    headers: { api_key: service.key },
  });
  assert.deepEqual([head200.status, await head200.text()], [200, ""]);
  assert.equal((await read(uuid, "kml", plainKey)).body.code, "process_not_found");
  endedUuid = uuid;
});

test("the report of a process that has ended is complete, with or without pages, by GET and POST, with images and positions", {
  skip: noModel,
}, async () => {
  const whole = await readReport(endedUuid);
  assert.equal(whole.time_window_minutes, 1);
  const cars = whole.tracks.filter(({ category_name }) => category_name === "car");
  assert.ok(cars.length >= 2, JSON.stringify(whole.tracks.map(({ category_name }) => category_name)));
  for (const car of cars) {
    assert.equal(car.is_live, false);
    assert.equal(car.timestamps.length, car.list_confidences.length);
    assert.deepEqual([car.timestamps[0], car.timestamps.at(-1)], [car.first_seen, car.last_seen]);
    assert.ok(car.min_confidence <= car.mean_confidence && car.mean_confidence <= car.max_confidence);
    const [patch, ...more] = car.image_patches;
    assert.ok(patch !== undefined && more.length === 0);
    assert.ok(patch.timestamp >= car.first_seen && patch.timestamp <= car.last_seen);
    assert.match(Buffer.from(patch.image, "base64").toString("hex"), /^ffd8ff.*ffd9$/);
  }
  assert.ok(cars.some(({ last_location: last }) => last !== null && Math.abs(last.latitude - CAMERA.latitude) < 0.001));

  const { report_time: _, ...expected } = whole;
  const { report_time: __, ...posted } = await readReport(endedUuid, "", "POST");
  assert.deepEqual(posted, expected);
  const packed = await fetch(`${service.url}/process/${endedUuid}/tracks?patches=false`, {
    headers: { api_key: service.key, "accept-encoding": "gzip" },
  });
  assert.equal(packed.headers.get("content-encoding"), "gzip");
  assert.deepEqual(
    ((await packed.json()) as Report).tracks,
    whole.tracks.map((track) => ({ ...track, image_patches: [] })),
  );
  const paged: Report["tracks"] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: Report = await readReport(endedUuid, `?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`);
    assert.ok(page.tracks.length <= 1);
    paged.push(...page.tracks);
    cursor = page.next_cursor;
  }
  assert.deepEqual(paged, whole.tracks);
  const { status, body } = await service.call<Problem>("GET", `/process/${endedUuid}/tracks?cursor=x`);
  assert.deepEqual([status, body.code, body.errors?.[0]?.path], [422, "invalid_input", "cursor"]);
});

test("a process with a report is listed until the report is deleted", {
  skip: noModel,
}, async () => {
  const { tracks } = await readReport(endedUuid, "?patches=false");
  const [listed] = (await listTracked("?limit=1")).tracked_processes;
  const { started_at, finished_at, source_uuid, ...others } = listed ?? assert.fail("the list is empty");
  assert.ok(started_at !== null && finished_at !== null && started_at < finished_at);
  const info = await service.expect<ProcessRecord>(200, "GET", `/process/${endedUuid}`);
  assert.equal(source_uuid, info.source_uuid);
  const { video_url, ...rest } = others;
  assert.deepEqual(rest, {
    ...{ uuid: endedUuid, process_uuid: endedUuid, alias: "street", track_count: tracks.length, enhancement: null },
  });
  if (info.recordings?.[0] === undefined) assert.equal(video_url, null);
  else assert.equal((await fetch(video_url ?? "", { method: "HEAD" })).status, 200);

  const path = `/process/${endedUuid}/tracks`;
  assert.equal((await service.call<Problem>("DELETE", path, { key: plainKey })).body.code, "process_not_found");
  assert.deepEqual(await service.expect(200, "DELETE", path), { process_uuid: endedUuid, deleted: true });
  for (const method of ["GET", "POST", "DELETE"] as const) {
    const { status, body } = await service.call<Problem>(method, path);
    assert.deepEqual([status, body.code], [404, "report_not_found"]);
  }
  assert.deepEqual((await listTracked()).tracked_processes, []);
});

describe("a request for tracks is rejected", () => {
  test("with 404 for an unknown process", async () => {
    const { status, body } = await read(NOWHERE, "kml");
    assert.deepEqual([status, body.code], [404, "process_not_found"]);
  });

  test("with 422 for an unknown format", async () => {
    const { status, body } = await service.call<Problem>("GET", `/process/${NOWHERE}/tracks?format=gpx`);
    assert.deepEqual([status, body.code, body.errors?.[0]?.path], [422, "invalid_input", "format"]);
  });

  test("with 422 for an invalid window, limit or option", async () => {
    for (const [name, value] of [
      ["window_minutes", "0"],
      ["window_minutes", "1.5"],
      ["window_minutes", "all"],
      ["limit", "0"],
      ["limit", "1001"],
      ["patches", "some"],
    ]) {
      const { status, body } = await service.call<Problem>("GET", `/process/${NOWHERE}/tracks?${name}=${value}`);
      assert.deepEqual([status, body.code, body.errors?.[0]?.path], [422, "invalid_input", name]);
    }
  });

  test("with 403 without a key", async () => {
    const { status } = await service.call("GET", `/process/${NOWHERE}/tracks?format=csv`, { key: null });
    assert.equal(status, 403);
  });

  test("with 404 when the key has no track logger, and 409 when the graph has no tracker", async () => {
    const clip = await makeClip(folder, 250, "width=64&height=48");
    const run = async (key?: string) => {
      const keyed = key === undefined ? {} : { key };
      const { uuid } = await uploadVideo(service, clip, keyed);
      const path = `/start?source_uuid=${uuid}&graph=demo`;
      return (await service.expect<StartedProcess>(201, "POST", path, keyed)).process_uuid;
    };
    const [unlogged, untracked] = [await run(plainKey), await run()];
    const answers = [await read(unlogged, "csv", plainKey), await read(untracked, "csv")];
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [404, "report_not_found"],
        [409, "graph_lacks"],
      ],
    );
    const { status, body } = await service.call<Problem>("GET", `/process/${unlogged}/tracks`, { key: plainKey });
    assert.deepEqual([status, body.code], [404, "report_not_found"]);
  });
});
