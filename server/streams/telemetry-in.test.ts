import assert from "node:assert/strict";
import { test } from "node:test";
import { DroneDataMessage, TelemetryRefusal } from "../../schemas/api/telemetry.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { checkBy } from "../validation.ts";
import { eventually, Listener, openStage, refusalOf } from "./streams.fixture.ts";

const checkRefusal = checkBy(TelemetryRefusal);
const checkDrone = checkBy(DroneDataMessage);
const codeOf = (answer: JsonRecord | undefined) => (answer as TelemetryRefusal | undefined)?.error.code;

const REDUCED = { timestamp: 1_760_000_000, sensor_hfov: 60, sensor_vfov: 34 };
const FULL = {
  ...REDUCED,
  latitude: 41.4,
  longitude: 2.17,
  speed: 3.5,
  camera_pitch: -45,
  camera_yaw: 120,
  camera_roll: 0,
  altitude: 180,
  rel_altitude: 60,
  drone_pitch: 1,
  drone_yaw: 118,
  drone_roll: -2,
};

test("passes valid messages to the process in order, and answers the others", async () => {
  const stage = await openStage();
  try {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "telemetry");
    listener.socket.send(JSON.stringify(FULL));
    listener.socket.send("nonsense");
    listener.socket.send(JSON.stringify({ ...FULL, latitude: 100 }));
    listener.socket.send(Buffer.from(JSON.stringify(FULL)));
    listener.socket.send(JSON.stringify(REDUCED));
    const answers = await listener.expect(3);
    for (const answer of answers) assert.deepEqual(checkRefusal(answer), []);
    assert.deepEqual(answers.map(codeOf), ["malformed_json", "invalid_input", "malformed_json"]);
    listener.socket.send("last");
    await listener.expect(4);
    assert.deepEqual(
      process.delivered.map(({ timeMs, position }) => [timeMs, position?.latitude]),
      [
        [REDUCED.timestamp * 1000, FULL.latitude],
        [REDUCED.timestamp * 1000, undefined],
      ],
    );
    await listener.close();
  } finally {
    await stage.close();
  }
});

test("limits a flood, and reports it once per second", async () => {
  const stage = await openStage({ receivedPerSecond: 5 });
  try {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "telemetry");
    const text = JSON.stringify(REDUCED);
    for (let i = 0; i < 2000; i++) listener.socket.send(text);
    const [first] = await listener.expect(1);
    assert.equal(codeOf(first), "rate_limited");
    await listener.close();
    // Reading stops for the rest of each second: most of it was still on its way when the client went.
    assert.ok(process.delivered.length < 200, `${process.delivered.length} of 2000 came through`);
  } finally {
    await stage.close();
  }
});

test("uses the newest of messages above the rate, and reports it to the client", async () => {
  const stage = await openStage({ receivedPerSecond: 1000 }, {}, { messagesPerSecond: 4 });
  try {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "telemetry");
    for (let i = 1; i <= 100; i++) listener.socket.send(JSON.stringify({ ...REDUCED, timestamp: i }));
    const newest = () => process.delivered.at(-1)?.timeMs;
    await eventually(() => newest() === 100_000, "the newest comes through");
    const answers = await listener.expect(1);
    assert.deepEqual(new Set(answers.map(codeOf)), new Set(["rate_limited"]));
    assert.ok(process.delivered.length < 20, `${process.delivered.length} of 100 came through`);
    assert.deepEqual(
      process.delivered.slice(0, 4).map(({ timeMs }) => timeMs),
      [1000, 2000, 3000, 4000],
    );
    await listener.close();
  } finally {
    await stage.close();
  }
});

test("queues a limited number for a stuck process, which gets the newest afterwards", async () => {
  const stage = await openStage();
  try {
    const process = stage.start();
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    process.gate = () => opened;
    const listener = await Listener.open(stage, process, "telemetry");
    for (let i = 1; i <= 30; i++) listener.socket.send(JSON.stringify({ ...REDUCED, timestamp: i }));
    listener.socket.send("last");
    await listener.expect(1);
    const gathered = process.delivered.length;
    assert.ok(gathered <= 8, `${gathered} are under way`);
    open();
    await eventually(() => process.delivered.at(-1)?.timeMs === 30_000, "the newest comes");
    assert.ok(process.delivered.length <= 2 * gathered, `${process.delivered.length} of 30 came`);
    await listener.close();
  } finally {
    await stage.close();
  }
});

test("accepts messages in the format of a vendor, and answers faults in them", async () => {
  const stage = await openStage();
  try {
    const parameters = { sensor_hfov: 60, sensor_vfov: 34 };
    const process = stage.start(undefined, { type: "websocket", format: "vendor_a", parameters });
    const drone = await Listener.open(stage, process, "drone_data");
    const listener = await Listener.open(stage, process, "telemetry");
    const data = { latitude: 41.4, longitude: 2.17, height: 180, elevation: 60, attitude_head: 118 };
    listener.socket.send(JSON.stringify({ timestamp: 1_760_000_000_000, data }));
    listener.socket.send(JSON.stringify({ timestamp: 1_760_000_000_000 }));
    const [answer] = await listener.expect(1);
    assert.equal(codeOf(answer), "invalid_input");
    const [message] = await drone.expect(1);
    assert.deepEqual(checkDrone(message), []);
    assert.equal(message?.latitude, 41.4);
    assert.equal(message?.timestamp, 1_760_000_000);
    assert.equal(Math.round(process.delivered[0]?.hfov ?? 0), 60);
    for (const each of [drone, listener]) await each.close();
  } finally {
    await stage.close();
  }
});

const elsewhere: readonly (readonly [string, TelemetrySetting | null, RegExp])[] = [
  ["has no telemetry", null, /has no telemetry_cfg/],
  [
    "has static telemetry",
    { type: "static", format: "native", parameters: { sensor_hfov: 60, sensor_vfov: 34 } },
    /uses the channel "static"/,
  ],
];
for (const [what, setting, detail] of elsewhere) {
  test(`rejects the socket of a process whose source ${what}, and says what to do`, async () => {
    const stage = await openStage();
    try {
      const { uuid } = stage.start(undefined, setting);
      const refusal = await refusalOf(stage, `/process/${uuid}/telemetry?api_key=ada`);
      assert.deepEqual([refusal.status, refusal.code], [409, "telemetry_not_taken"]);
      assert.match(refusal.detail, detail);
      assert.match(refusal.detail, /PATCH \/source/);
    } finally {
      await stage.close();
    }
  });
}
