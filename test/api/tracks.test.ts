/** Tracks of a real process on a real clip, as files: from the runner to the database to maps of other people's. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { TrackCollection } from "../../schemas/api/tracks.ts";
import { checkBy } from "../../server/validation.ts";
import { type Feature, readGeoJson } from "../../tracks/rfc7946.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { paintStreet } from "../golden/street.fixture.ts";
import { compiledLaunch, start, temporaryFolder } from "../graph.fixture.ts";
import { createKey, TestService, uploadVideo } from "./service.fixture.ts";

const NOWHERE = "01890000-0000-7000-8000-000000000000";
const FRAMES = 75;
/** Ten metres above a street in Munich, looking north and a little down. */
const CAMERA = {
  ...{ latitude: 48.1372, longitude: 11.5755, altitude: 529, rel_altitude: 10, speed: 0 },
  ...{ sensor_hfov: 60, sensor_vfov: 36, camera_pitch: -30, camera_yaw: 0, camera_roll: 0 },
};
const noModel = await withoutModel("default");
const folder = temporaryFolder();
let service: TestService;
/** A key without the track logger. */
let plainKey = "";
before(async () => {
  service = await TestService.start();
  plainKey = await createKey(service, "plain");
});
after(() => service?.close());

/** A street with two cars, a stop sign and a clock, for three seconds. */
async function makeStreet(): Promise<string> {
  const [raw, clip] = [join(folder, "street.y4m"), join(folder, "street.mp4")];
  paintStreet(raw, FRAMES);
  const line = `source uri="${raw}" ! decode ! encode bitrate-kbps=8000 ! record path="${clip}"`;
  const graph = await start(compiledLaunch(line), []);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  return clip;
}

const read = (uuid: string, format: string, key?: string) =>
  service.call<Problem & string>("GET", `/process/${uuid}/tracks?format=${format}`, key === undefined ? {} : { key });

async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function readByPython(text: string): { readonly placemarks: readonly { readonly data: Record<string, string> }[] } {
  const script = fileURLToPath(new URL("../../tracks/read-kml.fixture.py", import.meta.url));
  const { stdout, stderr, status } = spawnSync("python3", [script], { input: text, encoding: "utf8", timeout: 60_000 });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

const classesOf = (features: readonly Feature[]) => features.map(({ properties }) => properties.class_name);

test("tracks are exported while a process runs and when it has ended, with where they were", {
  skip: noModel,
  timeout: 300_000,
}, async () => {
  const { uuid: sourceUuid } = await uploadVideo(service, await makeStreet(), { alias: "street" });
  const telemetry_cfg = { type: "static", format: "native", parameters: CAMERA };
  await service.expect<SourceRecord>(200, "PATCH", `/source/${sourceUuid}`, { json: { telemetry_cfg } });
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${sourceUuid}`);
  const uuid = started.process_uuid;

  const early = await until(async () => {
    const answer = await read(uuid, "geojson");
    assert.equal(answer.status, 200, answer.text);
    return readGeoJson(answer.text).length > 0 ? answer : null;
  });
  assert.equal(early.headers.get("content-type"), "application/geo+json");
  assert.equal(early.headers.get("content-disposition"), `attachment; filename="tracks-${uuid}.geojson"`);

  await until(async () => {
    const { state, error } = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
    assert.equal(error, null);
    return state === "finished" ? state : null;
  });
  const { text } = await read(uuid, "geojson");
  assert.deepEqual(checkBy(TrackCollection)(JSON.parse(text)), []);
  const features = readGeoJson(text);
  assert.ok(classesOf(features).filter((name) => name === "car").length >= 2, String(classesOf(features)));
  assert.ok(features.every(({ properties }) => properties.is_live === false));
  // The cars drive: each has a path, north of the camera and on the ground.
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
    headers: { api_key: `wh_0123456789ab_${"A".repeat(43)}` },
  });
  assert.deepEqual([head200.status, await head200.text()], [200, ""]);
  assert.equal((await read(uuid, "kml", plainKey)).body.code, "process_not_found");
});

describe("tracks are refused", () => {
  test("with 404 of a process that is not there", async () => {
    const { status, body } = await read(NOWHERE, "kml");
    assert.deepEqual([status, body.code], [404, "process_not_found"]);
  });

  test("with 422 in a format that there is not, with those there are", async () => {
    for (const path of [`/process/${NOWHERE}/tracks?format=gpx`, `/process/${NOWHERE}/tracks`]) {
      const { status, body } = await service.call<Problem>("GET", path);
      assert.deepEqual([status, body.code, body.errors?.[0]?.path], [422, "invalid_input", "format"]);
    }
  });

  test("with 403 without a key", async () => {
    const { status } = await service.call("GET", `/process/${NOWHERE}/tracks?format=csv`, { key: null });
    assert.equal(status, 403);
  });

  test("with 404 of a process whose key had no track logger, 409 where the graph tracks nothing", async () => {
    const clip = join(folder, "ball.mp4");
    const graph = await start(
      compiledLaunch(
        `source uri="test:ball?width=320&height=180&frames=250" ! decode ! encode ! record path="${clip}"`,
      ),
      [],
    );
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
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
  });
});
