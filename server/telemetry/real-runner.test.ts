/** From a real broker through the supervisor to the frames of a real runner. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { ENTRY } from "../../graphs/runtime/runner/runner.fixture.ts";
import { DroneDataMessage } from "../../schemas/api/telemetry.ts";
import { type Mosquitto, openMosquitto } from "../../test/mosquitto.fixture.ts";
import { makeConfig, makeUser, openApp, type TestApp } from "../api/app.fixture.ts";
import { streamEndpoints } from "../api/streams.ts";
import { openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually, Listener } from "../streams/streams.fixture.ts";
import { Streams } from "../streams/streams.ts";
import { checkBy } from "../validation.ts";
import { FULL, mqttSetting } from "./telemetry.fixture.ts";

const checkDrone = checkBy(DroneDataMessage);
const SOURCE = "test:ball?width=64&height=48";
const JOINED = `
graph: joined
about: Telemetry of every frame.
chains:
  main:
    - source
    - decode
    - telemetry: { offset-ms: 0 }
    - print: { keys: [telemetry] }
`;

let database: TestDatabase;
let broker: Mosquitto;
let stage: Stage;
let streams: Streams;
let app: TestApp;

before(async () => {
  database = await testDatabase();
  stage = await openStage(database.sql, {
    settings: { RUNNERS_START_SECONDS: "60" },
    limits: { loadMs: 60_000 },
    needs: {
      runnerEntry: pathToFileURL(ENTRY),
      prepare: async ({ params }) => ({ params, offers: new Set(["print"]), slots: {} }),
      resolveInput: async () => ({
        ...{ uri: SOURCE, isFile: false, label: "test:ball", locate: async () => SOURCE },
        telemetry: mqttSetting(broker.port),
      }),
    },
  });
  const { limits } = makeUser("ada");
  const authenticate = async () => ({ ...stage.user, limits });
  streams = new Streams({
    config: makeConfig().streams,
    processes: stage.supervisor,
    authenticate,
    expectSource: async () => {},
    findOwner: async () => null,
    isSigned: () => false,
  });
  app = await openApp(
    streamEndpoints(streams, makeConfig().streams.viewers, { signer: { sign: () => "" }, seconds: 1 }),
    {
      authenticate,
      onUpgrade: streams.upgrade,
    },
  );
});
after(async () => {
  await streams.close();
  await stage.supervisor.close();
  await app.close(0);
  await database.close();
});

test("frames carry the telemetry of their time, also after the broker and the runner were killed", async () => {
  // Opened here: the broker ends with the test that opened it.
  broker = await openMosquitto();
  const { supervisor, user, sourceUuid } = stage;
  const { uuid } = await supervisor.start({ user, sourceUuid, graph: "joined", graphText: JOINED, params: {} });
  const latitudes = new Set<number>();
  await supervisor.follow(user, uuid, (notice) => {
    if (notice.type !== "message" || notice.channel !== "print") return;
    const found = /"latitude":\s?(-?[\d.]+)/.exec(String(notice.message.line));
    if (found !== null) latitudes.add(Math.round(Number(found[1])));
  });
  const drone = await Listener.open(app, { uuid }, "drone_data");
  const client = await broker.connect();
  const infoOf = () => supervisor.view(uuid)?.telemetry ?? assert.fail("it has no telemetry");
  /** Repeats until frames carry it: which frame a sample reaches depends on timing. */
  const send = async (latitude: number) => {
    const message = () => JSON.stringify({ ...FULL, latitude, timestamp: Date.now() / 1000 });
    await eventually(async () => {
      await client.publishAsync("drone/7", message(), { qos: 1 });
      await wait(50);
      return latitudes.has(latitude);
    }, `frames are at ${latitude} degrees north`);
  };
  await eventually(() => infoOf().state === "waiting", "the broker is connected");
  await send(10);
  const [message] = await drone.expect(1);
  assert.deepEqual(checkDrone(message), []);
  assert.equal(message?.latitude, 10);
  await broker.kill();
  await eventually(() => infoOf().state === "connecting", "the loss is detected");
  assert.equal(supervisor.view(uuid)?.state, "running");
  await broker.start();
  await eventually(() => infoOf().state !== "connecting", "it is connected again");
  await send(20);
  const pid = supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner");
  process.kill(pid, "SIGKILL");
  await eventually(() => ![pid, undefined].includes(supervisor.held(uuid)?.runnerPid), "there is another runner");
  await eventually(() => supervisor.held(uuid)?.state === "running", "it runs");
  await send(30);
  assert.equal(infoOf().state, "receiving");
  assert.equal(supervisor.view(uuid)?.restarts, 1);
  await supervisor.stop(user, uuid);
  assert.equal((await drone.closed).code, 1000);
});
