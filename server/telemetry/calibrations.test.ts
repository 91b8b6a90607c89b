/** Heading and terrain: from the API and the configuration to the frames of a real, confined runner. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ENTRY } from "../../graphs/runtime/runner/runner.fixture.ts";
import type { Calibration } from "../../schemas/api/calibration.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { writeHgt } from "../../terrain/terrain.fixture.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { makeUser, openApp, type TestApp } from "../api/app.fixture.ts";
import { calibrationEndpoints } from "../api/calibration.ts";
import { openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { Calibrations } from "./calibrations.ts";

const SOURCE = "test:ball?width=64&height=48";
/** Without a model. */
const GRAPH = `
graph: placed
about: Telemetry of every frame.
chains:
  main:
    - source
    - decode
    - stored
    - telemetry: { offset-ms: 0 }
    - geolocate
    - print: { keys: [telemetry] }
`;
const GROUND_M = 500;
const CAMERA = {
  ...{ latitude: 48.5, longitude: 11.5, altitude: GROUND_M + 50, rel_altitude: 20 },
  ...{ sensor_hfov: 60, sensor_vfov: 45, camera_pitch: -30, camera_yaw: 20, camera_roll: 0 },
};
/** What the camera sees in the middle of its picture if it looks 5 degrees further to the right than it says. */
const LANDMARK = { x: 0.5, y: 0.5, ...placeAt(25, 50 / Math.tan(Math.PI / 6)) };

function placeAt(bearing: number, awayM: number) {
  const radians = (bearing * Math.PI) / 180;
  const east = 111_320 * Math.cos((CAMERA.latitude * Math.PI) / 180);
  return {
    latitude: CAMERA.latitude + (awayM * Math.cos(radians)) / 111_210,
    longitude: CAMERA.longitude + (awayM * Math.sin(radians)) / east,
  };
}

const folder = temporaryFolder();
let database: TestDatabase;
let stage: Stage;
let calibrations: Calibrations;
let app: TestApp;
let parameters: JsonRecord = CAMERA;

before(async () => {
  writeHgt(folder, [48, 11], 121, () => GROUND_M);
  database = await testDatabase();
  const { sql } = database;
  calibrations = new Calibrations({ sql, log: silentLog });
  stage = await openStage(sql, {
    settings: { RUNNERS_START_SECONDS: "60", TERRAIN_FOLDER: folder },
    limits: { loadMs: 60_000 },
    needs: {
      runnerEntry: pathToFileURL(ENTRY),
      listeners: [calibrations],
      prepare: async ({ params }) => ({ params, offers: new Set(["print"]), slots: {} }),
      resolveInput: async () => ({
        ...{ uri: SOURCE, isFile: false, label: "test:ball", locate: async () => SOURCE },
        telemetry: { type: "static", format: "native", parameters },
      }),
    },
  });
  const { limits } = makeUser("ada");
  app = await openApp(calibrationEndpoints({ sql, processes: stage.supervisor, calibrations }), {
    authenticate: async () => ({ ...stage.user, limits }),
  });
});
after(async () => {
  await calibrations.close();
  await stage.supervisor.close();
  await app.close(0);
  await database.close();
});

const start = async (): Promise<string> => {
  const { supervisor, user, sourceUuid } = stage;
  return (await supervisor.start({ user, sourceUuid, graph: "placed", graphText: GRAPH, params: {} })).uuid;
};
const telemetryOf = (uuid: string) => stage.supervisor.view(uuid)?.telemetry ?? assert.fail("it has no telemetry");

async function call<T>(method: string, status: number, body?: unknown, sourceUuid = stage.sourceUuid): Promise<T> {
  const answer = await app.call(`/source/${sourceUuid}/calibration`, {
    method,
    headers: { api_key: "any", ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  return JSON.parse(text) as T;
}

test("a landmark corrects the heading of running and restarted processes, until the calibration is deleted", async () => {
  const { supervisor, user } = stage;
  await call("POST", 409, { landmarks: [LANDMARK] });
  const uuid = await start();
  let yaw = Number.NaN;
  await supervisor.follow(user, uuid, (notice) => {
    if (notice.type !== "message" || notice.channel !== "print") return;
    yaw = Number(/"yaw":\s?(-?[\d.]+)/.exec(String(notice.message.line))?.[1] ?? yaw);
  });
  const untilYaw = (degrees: number) =>
    eventually(() => Math.abs(yaw - degrees) < 0.3, `frames have a heading of ${degrees} degrees`);
  await untilYaw(20);
  const { code } = await call<{ code: string }>("GET", 404);
  assert.equal(code, "calibration_not_found");

  const made = await call<Calibration>("POST", 200, { landmarks: [LANDMARK] });
  assert.ok(Math.abs(made.heading_offset_deg - 5) < 0.3, `${made.heading_offset_deg}`);
  assert.ok(made.heading_error_deg > 0.5 && made.heading_error_deg < 3, `${made.heading_error_deg}`);
  await untilYaw(25);
  assert.deepEqual(await call("GET", 200), made);
  // Of the reported heading, not of the corrected one.
  const again = await call<Calibration>("POST", 200, { landmarks: [LANDMARK, LANDMARK] });
  assert.ok(Math.abs(again.heading_offset_deg - made.heading_offset_deg) < 0.01);
  assert.equal(again.landmarks, 2);

  const pid = supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner");
  process.kill(pid, "SIGKILL");
  await eventually(() => ![pid, undefined].includes(supervisor.held(uuid)?.runnerPid), "there is another runner");
  yaw = Number.NaN;
  await untilYaw(25);

  await call("DELETE", 200);
  await untilYaw(20);
  await call("DELETE", 404);
  await supervisor.stop(user, uuid);
});

test("landmarks that cannot be right are rejected with the reason", async () => {
  const uuid = await start();
  await eventually(() => telemetryOf(uuid).geolocation === "full", "frames have a position");
  const fault = async (landmark: object) =>
    (await call<{ detail: string }>("POST", 409, { landmarks: [landmark] })).detail;
  assert.match(await fault({ ...LANDMARK, altitude: 3000 }), /landmark 1 is \d+ degrees above the chosen point/);
  assert.match(await fault({ ...LANDMARK, timestamp: "2020-01-01T00:00:00Z" }), /choose a frame between/);
  for (const body of [{}, { landmarks: [] }, { landmarks: [{ ...LANDMARK, x: 2 }] }, { landmarks: [{ x: 0, y: 0 }] }])
    await call("POST", 422, body);
  await call("POST", 404, { landmarks: [LANDMARK] }, "01890000-0000-7000-8000-000000000000");
  await call("GET", 404);
  await stage.supervisor.stop(stage.user, uuid);
});

test("the status says where the terrain is not known, and nothing where it is", async () => {
  const known = await start();
  await eventually(() => telemetryOf(known).geolocation === "full", "frames have a position");
  assert.equal(telemetryOf(known).detail, null);
  parameters = { ...CAMERA, latitude: 10.04 };
  const unknown = await start();
  await eventually(() => telemetryOf(unknown).detail !== null, "the status has a reason");
  assert.equal(telemetryOf(unknown).geolocation, "full");
  assert.match(
    telemetryOf(unknown).detail ?? "",
    /no terrain data at latitude 10\.0, longitude 11\.5: level ground is assumed/,
  );
  parameters = { ...CAMERA, altitude: 480 };
  const below = await start();
  await eventually(() => telemetryOf(below).detail !== null, "the status has a reason");
  assert.match(telemetryOf(below).detail ?? "", /would be up to 20 m below the terrain/);
  for (const uuid of [known, unknown, below]) await stage.supervisor.stop(stage.user, uuid);
});
