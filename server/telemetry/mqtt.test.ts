/** Telemetry from a real broker: mosquitto. */
import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import type { MqttClient } from "mqtt";
import { openMosquitto } from "../../test/mosquitto.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { FULL, mqttSetting, REDUCED, type RecordedTelemetry, recordTelemetry } from "./telemetry.fixture.ts";

const stateOf = ({ telemetry }: RecordedTelemetry) => telemetry.info.state;
const isOpen = (recorded: RecordedTelemetry) =>
  eventually(() => stateOf(recorded) !== "connecting", "the broker is connected");
const text = (message: object) => JSON.stringify(message);
const timesOf = ({ delivered }: RecordedTelemetry) => delivered.map(({ timeMs }) => timeMs);

/** Publishes, one after the other, and waits for the broker's confirmation. */
async function publish(client: MqttClient, payloads: readonly (string | Buffer)[], topic = "drone/7"): Promise<void> {
  for (const payload of payloads) await client.publishAsync(topic, payload, { qos: 1 });
}

test("passes messages from the topic to drone_data and to the runner", async () => {
  const broker = await openMosquitto();
  const recorded = recordTelemetry(mqttSetting(broker.port));
  await isOpen(recorded);
  assert.equal(stateOf(recorded), "waiting");
  assert.match(recorded.telemetry.info.detail ?? "", /no message on the topic drone\/7/);
  const client = await broker.connect();
  await publish(client, [text(FULL), text({ ...FULL, timestamp: 1_760_000_000_500 })]);
  await eventually(() => recorded.delivered.length === 2, "both arrive");
  assert.deepEqual(timesOf(recorded), [1_760_000_000_000, 1_760_000_000_500]);
  assert.deepEqual(recorded.delivered[0]?.position, {
    latitude: 41.4,
    longitude: 2.17,
    altitude: 180,
    relAltitude: 60,
  });
  assert.deepEqual(recorded.published[0], FULL);
  assert.equal(recorded.published[1]?.timestamp, 1_760_000_000.5);
  const { state, age_ms, detail, messages_received, messages_refused } = recorded.telemetry.info;
  assert.deepEqual([state, detail, messages_received, messages_refused], ["receiving", null, 2, 0]);
  assert.ok(age_ms !== null && age_ms < 20_000);
});

test("subscribes to wildcards; publishes a retained message without geolocating by it", async () => {
  const broker = await openMosquitto();
  const client = await broker.connect();
  await client.publishAsync("site/3/drone/7", text(FULL), { qos: 1, retain: true });
  const recorded = recordTelemetry(mqttSetting(broker.port, { topic: "site/+/drone/#" }));
  await eventually(() => recorded.published.length === 1, "the retained one arrives");
  assert.deepEqual([stateOf(recorded), recorded.telemetry.info.messages_received], ["waiting", 1]);
  await publish(client, [text(REDUCED)], "site/4/drone/1/osd");
  await publish(client, [text(REDUCED)], "site/4/ship/1");
  await publish(client, [text({ ...REDUCED, timestamp: 5 })], "site/5/drone");
  await eventually(() => timesOf(recorded).includes(5000), "the last arrives");
  assert.deepEqual([recorded.delivered.length, recorded.published.length], [2, 3]);
});

test("retries while the broker is offline, and reports the reason", async () => {
  const broker = await openMosquitto({ isStarted: false });
  const recorded = recordTelemetry(mqttSetting(broker.port));
  await eventually(() => /nothing listens there/.test(recorded.telemetry.info.detail ?? ""), "the reason is reported");
  assert.equal(stateOf(recorded), "connecting");
  await broker.start();
  await isOpen(recorded);
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => stateOf(recorded) === "receiving", "it arrives");
  await eventually(() => recorded.announced.some(({ state }) => state === "receiving"), "it is announced");
  assert.equal(recorded.announced[0]?.state, "connecting", "the reason is announced first");
});

test("resumes after the broker was killed and restarted", async () => {
  const broker = await openMosquitto();
  const recorded = recordTelemetry(mqttSetting(broker.port));
  await isOpen(recorded);
  const client = await broker.connect();
  await publish(client, [text({ ...FULL, timestamp: 1 })]);
  await eventually(() => recorded.delivered.length === 1, "the first arrives");
  for (const second of [2, 3]) {
    await broker.kill();
    await eventually(() => stateOf(recorded) === "connecting", "the loss is detected");
    await broker.start();
    await isOpen(recorded);
    await publish(client, [text({ ...FULL, timestamp: second })]);
    await eventually(() => recorded.delivered.length === second, "what follows arrives");
  }
  assert.deepEqual(timesOf(recorded), [1000, 2000, 3000]);
});

test("connects only with the right password, and never reports the password", async () => {
  const broker = await openMosquitto({ isGuarded: true });
  const { username = "", password = "" } = broker.user ?? {};
  const stranger = recordTelemetry(mqttSetting(broker.port, { username, password: `${password}!` }));
  const anonymous = recordTelemetry(mqttSetting(broker.port));
  const recorded = recordTelemetry(mqttSetting(broker.port, { username, password }));
  await isOpen(recorded);
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => stateOf(recorded) === "receiving", "it arrives");
  for (const refused of [stranger, anonymous]) {
    await eventually(
      () => /username and password|this user/.test(refused.telemetry.info.detail ?? ""),
      "it is refused",
    );
    assert.equal(stateOf(refused), "connecting");
    assert.ok(!JSON.stringify([refused.telemetry.info, refused.announced]).includes(password));
  }
});

test("never connects to an address that the network guard blocks", async () => {
  const broker = await openMosquitto();
  const denied = recordTelemetry(mqttSetting(broker.port), { NETWORK_DENY: "127.0.0.0/8" });
  const named = recordTelemetry(mqttSetting(broker.port, { ip: "localhost" }), { NETWORK_DENY: "127.0.0.0/8,::1" });
  const always = recordTelemetry(mqttSetting(80, { ip: "169.254.169.254" }));
  for (const recorded of [denied, named, always]) {
    await eventually(() => /not connect to that network/.test(recorded.telemetry.info.detail ?? ""), "it is refused");
    assert.equal(stateOf(recorded), "connecting");
  }
  assert.equal(denied.telemetry.info.messages_received, 0);
});

test("resolves host names", async () => {
  const broker = await openMosquitto();
  await isOpen(recordTelemetry(mqttSetting(broker.port, { ip: "localhost" })));
  const lost = recordTelemetry(mqttSetting(broker.port, { ip: "no-such-host.invalid" }));
  await eventually(() => /cannot be resolved/.test(lost.telemetry.info.detail ?? ""), "it is not resolved");
});

const bad: readonly (readonly [string, string | Buffer, RegExp])[] = [
  ["NaN", '{"timestamp": NaN, "sensor_hfov": 60, "sensor_vfov": 34}', /not valid JSON/],
  ["a string for a number", text({ ...FULL, latitude: "41.4" }), /\/latitude/],
  ["null for a number", text({ ...FULL, altitude: null }), /\/altitude/],
  ["the latitude 91", text({ ...FULL, latitude: 91 }), /\/latitude/],
  ["yaw 720", text({ ...FULL, camera_yaw: 720 }), /\/camera_yaw/],
  ["no field of view", text({ ...FULL, sensor_hfov: undefined }), /sensor_hfov/],
  ["an endless number", text(FULL).replace("3.5", "1e999"), /\/speed/],
  ["bytes that are not text", Buffer.from([0x00, 0xff, 0xfe, 0x80]), /not valid JSON/],
  ["nothing at all", "", /not valid JSON/],
  ["a list", "[]", /object/],
];
test("counts and reports invalid messages, and uses none of them", async () => {
  const broker = await openMosquitto();
  const recorded = recordTelemetry(mqttSetting(broker.port));
  await isOpen(recorded);
  const client = await broker.connect();
  let refused = 0;
  for (const [what, payload, detail] of bad) {
    await publish(client, [payload]);
    refused += 1;
    await eventually(() => recorded.telemetry.info.messages_refused === refused, `${what} is refused`);
    assert.match(recorded.telemetry.info.detail ?? "", detail, what);
  }
  assert.equal(recorded.delivered.length + recorded.published.length, 0);
  assert.equal(stateOf(recorded), "waiting");
  // Below sea level, on land. The previous error is cleared.
  await publish(client, [text({ ...FULL, altitude: -400, rel_altitude: 20 })]);
  await eventually(() => recorded.delivered.length === 1, "a good one arrives");
  assert.equal(recorded.telemetry.info.detail, null);
  assert.equal(recorded.delivered[0]?.position?.altitude, -400);
});

test("uses a message without a position, and reports what it lacks", async () => {
  const broker = await openMosquitto();
  const recorded = recordTelemetry(mqttSetting(broker.port));
  await isOpen(recorded);
  await publish(await broker.connect(), [text({ ...FULL, latitude: undefined })]);
  await eventually(() => stateOf(recorded) === "receiving", "it arrives");
  assert.match(recorded.telemetry.info.detail ?? "", /latitude/);
});

test("drops oversized messages, retained ones included, and keeps the connection", async () => {
  const broker = await openMosquitto();
  const client = await broker.connect();
  const huge = Buffer.alloc(20 * 2 ** 20, 0x20);
  await client.publishAsync("drone/7", huge, { qos: 1, retain: true });
  const recorded = recordTelemetry(mqttSetting(broker.port), {}, { messageBytes: 1024 });
  await eventually(() => recorded.telemetry.info.messages_refused === 1, "the huge one is dropped");
  assert.match(recorded.telemetry.info.detail ?? "", /the limit is 1024/);
  await publish(client, [`${text(FULL)}${" ".repeat(2048)}`, text(FULL)]);
  await eventually(() => recorded.delivered.length === 1, "the small one arrives");
  assert.equal(recorded.telemetry.info.messages_refused, 2);
  assert.equal(stateOf(recorded), "receiving");
  assert.ok(!recorded.announced.some(({ state }) => state === "connecting"), "the connection was never lost");
});

test("throttles a flood to the newest messages within the limit, and counts the rest", async () => {
  const broker = await openMosquitto();
  const recorded = recordTelemetry(mqttSetting(broker.port), {}, { messagesPerSecond: 20 });
  await isOpen(recorded);
  const client = await broker.connect();
  const count = 10_000;
  const startedMs = performance.now();
  for (let i = 1; i < count; i++) client.publish("drone/7", text({ ...FULL, timestamp: i }));
  await publish(client, [text({ ...FULL, timestamp: count })]);
  await eventually(() => timesOf(recorded).at(-1) === count * 1000, "the newest arrives");
  const seconds = (performance.now() - startedMs) / 1000;
  const { received, thinned, refused } = recorded.telemetry.numbers;
  assert.equal(refused, 0);
  assert.equal(received - thinned, recorded.delivered.length);
  // One burst, then the rate limit.
  assert.ok(recorded.delivered.length <= 20 + 20 * seconds + 1, `${recorded.delivered.length} in ${seconds} s`);
  assert.deepEqual(
    timesOf(recorded),
    [...timesOf(recorded)].sort((a, b) => (a ?? 0) - (b ?? 0)),
    "in order",
  );
});

test("uses MQTT 5 with a broker that supports only that", async () => {
  const broker = await openMosquitto();
  const spoken: number[] = [];
  const open = new Set<Socket>();
  const picky = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.once("data", (hello) => {
      // After the name of the protocol, MQTT.
      const version = hello[8] ?? 0;
      spoken.push(version);
      if (version !== 5) return void socket.end(Buffer.from([0x20, 2, 0, 1]));
      const through = connect(broker.port, "127.0.0.1");
      through.on("error", () => socket.destroy());
      through.write(hello);
      socket.pipe(through).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => picky.listen(0, "127.0.0.1", resolve));
  after(() => {
    for (const socket of open) socket.destroy();
    picky.close();
  });
  const address = picky.address();
  assert.ok(typeof address === "object" && address !== null);
  const recorded = recordTelemetry(mqttSetting(address.port));
  await isOpen(recorded);
  assert.deepEqual(spoken, [4, 5]);
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => recorded.delivered.length === 1, "it arrives");
});

test("reports a server that does not speak MQTT, and retries", async () => {
  const rude = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(Buffer.alloc(100_000, 0xff));
  });
  await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve));
  after(() => rude.close());
  const address = rude.address();
  assert.ok(typeof address === "object" && address !== null);
  const recorded = recordTelemetry(mqttSetting(address.port));
  await eventually(() => /not MQTT/.test(recorded.telemetry.info.detail ?? ""), "that is reported");
  assert.equal(stateOf(recorded), "connecting");
});

test("times out and retries when the broker accepts the connection and never answers", async () => {
  let calls = 0;
  const open = new Set<Socket>();
  const mute = createServer((socket) => {
    calls += 1;
    open.add(socket);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  after(() => {
    for (const socket of open) socket.destroy();
    mute.close();
  });
  const address = mute.address();
  assert.ok(typeof address === "object" && address !== null);
  const recorded = recordTelemetry(mqttSetting(address.port), {}, { connectSeconds: 0.1 });
  await eventually(() => calls >= 2, "it retries");
  assert.match(recorded.telemetry.info.detail ?? "", /does not answer/);
});

test("detects a frozen broker, and reconnects when it responds again", async () => {
  const broker = await openMosquitto();
  const recorded = recordTelemetry(mqttSetting(broker.port), {}, { keepaliveSeconds: 1, connectSeconds: 0.5 });
  await isOpen(recorded);
  broker.freeze();
  await eventually(() => stateOf(recorded) === "connecting", "that is detected");
  broker.thaw();
  await isOpen(recorded);
});

test("receives nothing after it is closed", async () => {
  const broker = await openMosquitto();
  const recorded = recordTelemetry(mqttSetting(broker.port));
  const witness = recordTelemetry(mqttSetting(broker.port));
  await Promise.all([isOpen(recorded), isOpen(witness)]);
  recorded.telemetry.close();
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => witness.delivered.length === 1, "the other one receives it");
  assert.equal(recorded.delivered.length, 0);
});

test("does not report a rejected topic when the broker disconnects before it answers", async () => {
  const CONNACK = Buffer.from([0x20, 2, 0, 0]);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => ((chunk[0] ?? 0) >> 4 === 1 ? socket.write(CONNACK) : socket.destroy()));
  });
  after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const recorded = recordTelemetry(mqttSetting((server.address() as { port: number }).port));
  await eventually(() => /retrying/.test(recorded.telemetry.info.detail ?? ""), "it is lost");
  assert.match(recorded.telemetry.info.detail ?? "", /closed the connection/);
});
