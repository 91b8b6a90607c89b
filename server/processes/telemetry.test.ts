/** Telemetry of a process while its runners start, pause, crash and end. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import { openMosquitto } from "../../test/mosquitto.fixture.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { FULL, mqttSetting } from "../telemetry/telemetry.fixture.ts";
import type { ProcessNotice } from "./processes.ts";
import { openStage, rejectsWith, type Stage, type StageOptions } from "./supervisor.fixture.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());

const SOCKET: TelemetrySetting = { type: "websocket", format: "native", parameters: {} };
const STATIC: TelemetrySetting = {
  type: "static",
  format: "native",
  parameters: { sensor_hfov: 60, sensor_vfov: 34 },
};

async function withStage(options: StageOptions, work: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await openStage(database.sql, options);
  try {
    await work(stage);
  } finally {
    await stage.supervisor.close();
  }
}

/** The events of a process from now on; its runner echoes the samples it receives. */
async function follow({ supervisor, user }: Stage, uuid: string) {
  const notices: ProcessNotice[] = [];
  await supervisor.follow(user, uuid, (notice) => notices.push(notice));
  const on = (wanted: string) =>
    notices.flatMap((notice) => (notice.type === "message" && notice.channel === wanted ? [notice.message] : []));
  return {
    /** Times of the samples that a runner received. */
    delivered: () => on("echo").map(({ timeMs }) => timeMs),
    drone: () => on("drone_data"),
    statuses: (): TelemetryInfo[] =>
      notices.flatMap((notice) => (notice.type === "telemetry" ? [notice.telemetry] : [])),
  };
}

const infoOf = ({ supervisor }: Stage, uuid: string): TelemetryInfo =>
  supervisor.view(uuid)?.telemetry ?? assert.fail("it has no telemetry");

test("a process without telemetry shows none and accepts none", () =>
  withStage({}, async (stage) => {
    const uuid = await stage.start();
    assert.equal(stage.supervisor.view(uuid)?.telemetry, null);
    await assert.rejects(stage.supervisor.openTelemetry(stage.user, uuid), rejectsWith("telemetry_not_taken"));
  }));

test("delivers samples of a client to the runner and to drone_data; while paused to drone_data only, and the newest to the runner on resume", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const { supervisor, user } = stage;
    const uuid = await stage.start();
    const events = await follow(stage, uuid);
    const receive = await supervisor.openTelemetry(user, uuid);
    const send = (timestamp: number) => receive({ payload: JSON.stringify({ ...FULL, timestamp }) });
    send(1);
    await eventually(() => events.delivered().length === 1, "the runner receives it");
    await supervisor.pause(user, uuid);
    for (const second of [2, 3, 4]) send(second);
    await eventually(() => events.drone().length === 4, "drone_data continues");
    assert.deepEqual(events.delivered(), [1000]);
    await supervisor.resume(user, uuid);
    await eventually(() => events.delivered().length > 1, "it continues");
    send(5);
    await eventually(() => events.delivered().includes(5000), "it continues");
    assert.deepEqual(events.delivered(), [1000, 4000, 5000]);
    await supervisor.stop(user, uuid);
    send(6);
    assert.equal(events.drone().length, 5);
  }));

test("delivers the last samples again to a new runner", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const { supervisor, user } = stage;
    const uuid = await stage.start();
    const events = await follow(stage, uuid);
    const receive = await supervisor.openTelemetry(user, uuid);
    for (const timestamp of [1, 2]) receive({ payload: JSON.stringify({ ...FULL, timestamp }) });
    await eventually(() => events.delivered().length === 2, "the runner receives both");
    process.kill(supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner"), "SIGKILL");
    await eventually(() => events.delivered().length === 4, "the next one receives both again");
    assert.deepEqual(events.delivered(), [1000, 2000, 1000, 2000]);
    assert.equal(events.drone().length, 2);
  }));

test("static telemetry applies at all times, to every runner and every later subscriber", () =>
  withStage({ telemetry: () => STATIC }, async (stage) => {
    const { supervisor, user } = stage;
    const uuid = await stage.start();
    const { state, age_ms, messages_refused } = infoOf(stage, uuid);
    assert.deepEqual([state, age_ms, messages_refused], ["static", null, 0]);
    const events = await follow(stage, uuid);
    assert.equal(events.drone().length, 1);
    assert.equal(events.drone()[0]?.sensor_hfov, 60);
    assert.equal(typeof events.drone()[0]?.timestamp, "number");
    process.kill(supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner"), "SIGKILL");
    await eventually(() => events.delivered().length === 1, "the next runner receives it");
    assert.deepEqual(events.delivered(), [null]);
    await assert.rejects(supervisor.openTelemetry(user, uuid), rejectsWith("telemetry_not_taken"));
  }));

test("shows and publishes what elements report, until their runner ends", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const event = { type: "geolocation", mode: "reduced", reason: "no attitude", offsetMs: 40 };
    const uuid = await stage.start({ elementAt: 2, elementEvent: event, crashAt: 20 });
    const events = await follow(stage, uuid);
    await eventually(() => infoOf(stage, uuid).geolocation === "reduced", "it is shown");
    assert.equal(infoOf(stage, uuid).offset_ms, 40);
    await eventually(() => events.statuses().some(({ geolocation }) => geolocation === "reduced"), "it is published");
    const geolocations = () => events.statuses().map(({ geolocation }) => geolocation);
    await eventually(() => geolocations().at(-1) === "none", "it is reset when the runner ends");
  }));

test("ignores invalid events of elements", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const event = { type: "geolocation", mode: "sideways", reason: 7 };
    const uuid = await stage.start({ elementAt: 1, elementEvent: event });
    await stage.waitFor(uuid, ({ type }) => type === "stats");
    assert.equal(infoOf(stage, uuid).geolocation, "none");
  }));

test("publishes where the camera is as an element reports it, if it is valid", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const message = { timestamp: "2026-05-17T08:00:00.000Z", latitude: 48, longitude: 11, altitude: 600 };
    const isCamera = (notice: ProcessNotice) => notice.type === "message" && notice.channel === "camera";
    const uuid = await stage.start({ elementRepeats: true, elementEvent: { type: "camera", message } });
    const found: ProcessNotice[] = [];
    await stage.waitFor(uuid, (notice) => {
      if (isCamera(notice)) found.push(notice);
      return isCamera(notice);
    });
    assert.deepEqual(found[0], { type: "message", channel: "camera", message: { ...message, process_uuid: uuid } });
    const spoilt = { type: "camera", message: { ...message, latitude: 480 } };
    const other = await stage.start({ elementRepeats: true, elementEvent: spoilt });
    await stage.waitFor(other, (notice) => {
      assert.ok(!isCamera(notice));
      return notice.type === "stats";
    });
  }));

test("a process runs without its broker, shows that, and receives telemetry when the broker is available", async () => {
  const broker = await openMosquitto({ isStarted: false });
  await withStage({ telemetry: () => mqttSetting(broker.port) }, async (stage) => {
    const uuid = await stage.start();
    const events = await follow(stage, uuid);
    assert.equal(infoOf(stage, uuid).state, "connecting");
    await eventually(() => /nothing listens there/.test(infoOf(stage, uuid).detail ?? ""), "the reason is shown");
    assert.equal(stage.supervisor.view(uuid)?.state, "running");
    await broker.start();
    const client = await broker.connect();
    await eventually(() => infoOf(stage, uuid).state === "waiting", "the broker is found");
    await client.publishAsync("drone/7", JSON.stringify(FULL), { qos: 1 });
    await eventually(() => events.delivered().length === 1, "the runner receives it");
    assert.equal(infoOf(stage, uuid).state, "receiving");
    assert.ok(events.statuses().some(({ state }) => state === "connecting"));
  });
});

test("keeps the setting of the start, also when another server resumes the process, until its end", async () => {
  let setting: TelemetrySetting = { ...SOCKET, parameters: { sensor_hfov: 60, sensor_vfov: 34 } };
  const telemetry = () => setting;
  const first = await openStage(database.sql, { telemetry });
  const uuid = await first.start();
  setting = STATIC;
  assert.equal(infoOf(first, uuid).state, "waiting");
  await first.supervisor.close();
  const { user, sourceUuid } = first;
  await withStage({ user, sourceUuid, telemetry }, async (stage) => {
    await stage.reach(uuid, "running");
    const events = await follow(stage, uuid);
    const receive = await stage.supervisor.openTelemetry(user, uuid);
    receive({ payload: JSON.stringify(FULL) });
    await eventually(() => events.delivered().length === 1, "the runner receives it");
    await stage.supervisor.stop(user, uuid);
    assert.equal((await stage.row(uuid))?.telemetryCfg, null);
    const next = await stage.start();
    assert.equal(infoOf(stage, next).state, "static");
    await stage.supervisor.stop(user, next);
  });
});

test("reports message counts and ages to metrics while the process is active", async () => {
  const observed: unknown[] = [];
  const metrics = {
    observeProcess() {},
    observeTelemetry: (_: string, numbers: unknown) => observed.push(numbers),
    forgetProcess() {},
    countEnd() {},
  };
  await withStage({ telemetry: () => SOCKET, needs: { metrics } }, async (stage) => {
    const uuid = await stage.start();
    const receive = await stage.supervisor.openTelemetry(stage.user, uuid);
    for (const payload of [JSON.stringify(FULL), "nonsense"]) receive({ payload });
    const isObserved = () =>
      observed.some((numbers) => JSON.stringify(numbers).startsWith('{"received":2,"refused":1,"thinned":0,'));
    await eventually(isObserved, "they are observed");
  });
});
