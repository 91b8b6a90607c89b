/** Telemetry along the life of a process: runners come and go, pause and end. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import { openMosquitto } from "../../test/mosquitto.fixture.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { FULL, mqttSetting } from "../telemetry/telemetry.fixture.ts";
import type { ProcessNotice } from "./processes.ts";
import { openStage, refusedWith, type Stage, type StageOptions } from "./supervisor.fixture.ts";

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

/** Everything that is told of a process from now on; what its runner was brought is echoed. */
async function follow({ supervisor, user }: Stage, uuid: string) {
  const notices: ProcessNotice[] = [];
  await supervisor.follow(user, uuid, (notice) => notices.push(notice));
  const on = (wanted: string) =>
    notices.flatMap((notice) => (notice.type === "message" && notice.channel === wanted ? [notice.message] : []));
  return {
    /** Times of the samples that a runner was brought. */
    brought: () => on("echo").map(({ timeMs }) => timeMs),
    drone: () => on("drone_data"),
    standings: (): TelemetryInfo[] =>
      notices.flatMap((notice) => (notice.type === "telemetry" ? [notice.telemetry] : [])),
  };
}

const infoOf = ({ supervisor }: Stage, uuid: string): TelemetryInfo =>
  supervisor.view(uuid)?.telemetry ?? assert.fail("it has no telemetry");

test("a process without telemetry tells of none and takes none", () =>
  withStage({}, async (stage) => {
    const uuid = await stage.start();
    assert.equal(stage.supervisor.view(uuid)?.telemetry, null);
    await assert.rejects(stage.supervisor.openTelemetry(stage.user, uuid), refusedWith("telemetry_not_taken"));
  }));

test("what a client sends reaches the runner and drone_data; paused nothing does, but the newest on resume", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const { supervisor, user } = stage;
    const uuid = await stage.start();
    const heard = await follow(stage, uuid);
    const receive = await supervisor.openTelemetry(user, uuid);
    const send = (timestamp: number) => receive({ payload: JSON.stringify({ ...FULL, timestamp }) });
    send(1);
    await eventually(() => heard.brought().length === 1, "the runner is brought it");
    await supervisor.pause(user, uuid);
    for (const second of [2, 3, 4]) send(second);
    await eventually(() => heard.drone().length === 4, "drone_data goes on");
    assert.deepEqual(heard.brought(), [1000]);
    await supervisor.resume(user, uuid);
    await eventually(() => heard.brought().length > 1, "it goes on");
    send(5);
    await eventually(() => heard.brought().includes(5000), "it goes on");
    assert.deepEqual(heard.brought(), [1000, 4000, 5000]);
    await supervisor.stop(user, uuid);
    send(6);
    assert.equal(heard.drone().length, 5);
  }));

test("a new runner is brought the last samples again", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const { supervisor, user } = stage;
    const uuid = await stage.start();
    const heard = await follow(stage, uuid);
    const receive = await supervisor.openTelemetry(user, uuid);
    for (const timestamp of [1, 2]) receive({ payload: JSON.stringify({ ...FULL, timestamp }) });
    await eventually(() => heard.brought().length === 2, "the runner is brought both");
    process.kill(supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner"), "SIGKILL");
    await eventually(() => heard.brought().length === 4, "the next one is brought both again");
    assert.deepEqual(heard.brought(), [1000, 2000, 1000, 2000]);
    assert.equal(heard.drone().length, 2);
  }));

test("static telemetry holds at every time, for every runner and for everybody who listens later", () =>
  withStage({ telemetry: () => STATIC }, async (stage) => {
    const { supervisor, user } = stage;
    const uuid = await stage.start();
    const { state, age_ms, messages_refused } = infoOf(stage, uuid);
    assert.deepEqual([state, age_ms, messages_refused], ["static", null, 0]);
    const heard = await follow(stage, uuid);
    assert.equal(heard.drone().length, 1);
    assert.equal(heard.drone()[0]?.sensor_hfov, 60);
    assert.equal(typeof heard.drone()[0]?.timestamp, "number");
    process.kill(supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner"), "SIGKILL");
    await eventually(() => heard.brought().length === 1, "the next runner is brought it");
    assert.deepEqual(heard.brought(), [null]);
    await assert.rejects(supervisor.openTelemetry(user, uuid), refusedWith("telemetry_not_taken"));
  }));

test("what elements find out is in the info and told, until their runner is gone", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const event = { type: "geolocation", mode: "reduced", reason: "no attitude", offsetMs: 40 };
    const uuid = await stage.start({ elementAt: 2, elementEvent: event, crashAt: 20 });
    const heard = await follow(stage, uuid);
    await eventually(() => infoOf(stage, uuid).geolocation === "reduced", "it is known");
    assert.equal(infoOf(stage, uuid).offset_ms, 40);
    await eventually(() => heard.standings().some(({ geolocation }) => geolocation === "reduced"), "it is told");
    const geolocations = () => heard.standings().map(({ geolocation }) => geolocation);
    await eventually(() => geolocations().at(-1) === "none", "a runner that is gone knows nothing");
  }));

test("words of elements that nobody understands do no harm", () =>
  withStage({ telemetry: () => SOCKET }, async (stage) => {
    const event = { type: "geolocation", mode: "sideways", reason: 7 };
    const uuid = await stage.start({ elementAt: 1, elementEvent: event });
    await stage.hear(uuid, ({ type }) => type === "stats");
    assert.equal(infoOf(stage, uuid).geolocation, "none");
  }));

test("a process runs without its broker, says so, and has its telemetry when the broker comes", async () => {
  const broker = await openMosquitto({ isStarted: false });
  await withStage({ telemetry: () => mqttSetting(broker.port) }, async (stage) => {
    const uuid = await stage.start();
    const heard = await follow(stage, uuid);
    assert.equal(infoOf(stage, uuid).state, "connecting");
    await eventually(() => /nothing listens there/.test(infoOf(stage, uuid).detail ?? ""), "the reason is told");
    assert.equal(stage.supervisor.view(uuid)?.state, "running");
    await broker.start();
    const client = await broker.connect();
    await eventually(() => infoOf(stage, uuid).state === "waiting", "the broker is found");
    await client.publishAsync("drone/7", JSON.stringify(FULL), { qos: 1 });
    await eventually(() => heard.brought().length === 1, "the runner is brought it");
    assert.equal(infoOf(stage, uuid).state, "receiving");
    assert.ok(heard.standings().some(({ state }) => state === "connecting"));
  });
});

test("the setting of the start holds, for a server that takes the process up as well; its end forgets it", async () => {
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
    const heard = await follow(stage, uuid);
    const receive = await stage.supervisor.openTelemetry(user, uuid);
    receive({ payload: JSON.stringify(FULL) });
    await eventually(() => heard.brought().length === 1, "the runner is brought it");
    await stage.supervisor.stop(user, uuid);
    assert.equal((await stage.row(uuid))?.telemetryCfg, null);
    const next = await stage.start();
    assert.equal(infoOf(stage, next).state, "static");
    await stage.supervisor.stop(user, next);
  });
});

test("metrics tell how much came and how old it is, as long as the process is there", async () => {
  const told: unknown[] = [];
  const metrics = {
    observeProcess() {},
    observeTelemetry: (_: string, numbers: unknown) => told.push(numbers),
    forgetProcess() {},
    countEnd() {},
  };
  await withStage({ telemetry: () => SOCKET, needs: { metrics } }, async (stage) => {
    const uuid = await stage.start();
    const receive = await stage.supervisor.openTelemetry(stage.user, uuid);
    for (const payload of [JSON.stringify(FULL), "nonsense"]) receive({ payload });
    const isTold = () =>
      told.some((numbers) => JSON.stringify(numbers).startsWith('{"received":2,"refused":1,"thinned":0,'));
    await eventually(isTold, "they are told");
  });
});
