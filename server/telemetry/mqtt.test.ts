/** Telemetry from a real broker: mosquitto. */
import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import type { MqttClient } from "mqtt";
import { openMosquitto } from "../../test/mosquitto.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { FULL, type KeptTelemetry, keepTelemetry, mqttSetting, REDUCED } from "./telemetry.fixture.ts";

const stateOf = ({ telemetry }: KeptTelemetry) => telemetry.info.state;
const isOpen = (kept: KeptTelemetry) => eventually(() => stateOf(kept) !== "connecting", "the broker is connected to");
const text = (message: object) => JSON.stringify(message);
const timesOf = ({ delivered }: KeptTelemetry) => delivered.map(({ timeMs }) => timeMs);

/** Publishes, one after the other, and waits for the broker's word. */
async function publish(client: MqttClient, payloads: readonly (string | Buffer)[], topic = "drone/7"): Promise<void> {
  for (const payload of payloads) await client.publishAsync(topic, payload, { qos: 1 });
}

test("messages flow from the topic to drone_data and to the runner, as it is told", async () => {
  const broker = await openMosquitto();
  const kept = keepTelemetry(mqttSetting(broker.port));
  await isOpen(kept);
  assert.equal(stateOf(kept), "waiting");
  assert.match(kept.telemetry.info.detail ?? "", /nothing has come on the topic drone\/7/);
  const client = await broker.connect();
  await publish(client, [text(FULL), text({ ...FULL, timestamp: 1_760_000_000_500 })]);
  await eventually(() => kept.delivered.length === 2, "both arrive");
  assert.deepEqual(timesOf(kept), [1_760_000_000_000, 1_760_000_000_500]);
  assert.deepEqual(kept.delivered[0]?.position, { latitude: 41.4, longitude: 2.17, altitude: 180, relAltitude: 60 });
  assert.deepEqual(kept.published[0], FULL);
  assert.equal(kept.published[1]?.timestamp, 1_760_000_000.5);
  const { state, age_ms, detail, messages_received, messages_refused } = kept.telemetry.info;
  assert.deepEqual([state, detail, messages_received, messages_refused], ["receiving", null, 2, 0]);
  assert.ok(age_ms !== null && age_ms < 20_000);
});

test("a topic may have wildcards; a retained message is told, and places nothing", async () => {
  const broker = await openMosquitto();
  const client = await broker.connect();
  await client.publishAsync("site/3/drone/7", text(FULL), { qos: 1, retain: true });
  const kept = keepTelemetry(mqttSetting(broker.port, { topic: "site/+/drone/#" }));
  await eventually(() => kept.published.length === 1, "the retained one arrives");
  assert.deepEqual([stateOf(kept), kept.telemetry.info.messages_received], ["waiting", 1]);
  await publish(client, [text(REDUCED)], "site/4/drone/1/osd");
  await publish(client, [text(REDUCED)], "site/4/ship/1");
  await publish(client, [text({ ...REDUCED, timestamp: 5 })], "site/5/drone");
  await eventually(() => timesOf(kept).includes(5000), "the last arrives");
  assert.deepEqual([kept.delivered.length, kept.published.length], [2, 3]);
});

test("a broker that is not there yet is waited for, and why is told", async () => {
  const broker = await openMosquitto({ isStarted: false });
  const kept = keepTelemetry(mqttSetting(broker.port));
  await eventually(() => /nothing listens there/.test(kept.telemetry.info.detail ?? ""), "the reason is told");
  assert.equal(stateOf(kept), "connecting");
  await broker.start();
  await isOpen(kept);
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => stateOf(kept) === "receiving", "it arrives");
  await eventually(() => kept.announced.some(({ state }) => state === "receiving"), "it is announced");
  assert.equal(kept.announced[0]?.state, "connecting", "it is told why before");
});

test("a broker that is killed and started again goes on where it was", async () => {
  const broker = await openMosquitto();
  const kept = keepTelemetry(mqttSetting(broker.port));
  await isOpen(kept);
  const client = await broker.connect();
  await publish(client, [text({ ...FULL, timestamp: 1 })]);
  await eventually(() => kept.delivered.length === 1, "the first arrives");
  for (const second of [2, 3]) {
    await broker.kill();
    await eventually(() => stateOf(kept) === "connecting", "its death is noticed");
    await broker.start();
    await isOpen(kept);
    await publish(client, [text({ ...FULL, timestamp: second })]);
    await eventually(() => kept.delivered.length === second, "what follows arrives");
  }
  assert.deepEqual(timesOf(kept), [1000, 2000, 3000]);
});

test("a user comes in with the right password only, and the password is never told", async () => {
  const broker = await openMosquitto({ isGuarded: true });
  const { username = "", password = "" } = broker.user ?? {};
  const stranger = keepTelemetry(mqttSetting(broker.port, { username, password: `${password}!` }));
  const nobody = keepTelemetry(mqttSetting(broker.port));
  const kept = keepTelemetry(mqttSetting(broker.port, { username, password }));
  await isOpen(kept);
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => stateOf(kept) === "receiving", "it arrives");
  for (const refused of [stranger, nobody]) {
    await eventually(
      () => /username and password|this user/.test(refused.telemetry.info.detail ?? ""),
      "it is refused",
    );
    assert.equal(stateOf(refused), "connecting");
    assert.ok(!JSON.stringify([refused.telemetry.info, refused.announced]).includes(password));
  }
});

test("an address that may not be connected to is never connected to", async () => {
  const broker = await openMosquitto();
  const denied = keepTelemetry(mqttSetting(broker.port), { NETWORK_DENY: "127.0.0.0/8" });
  const named = keepTelemetry(mqttSetting(broker.port, { ip: "localhost" }), { NETWORK_DENY: "127.0.0.0/8,::1" });
  const always = keepTelemetry(mqttSetting(80, { ip: "169.254.169.254" }));
  for (const kept of [denied, named, always]) {
    await eventually(() => /not connect to that network/.test(kept.telemetry.info.detail ?? ""), "it is refused");
    assert.equal(stateOf(kept), "connecting");
  }
  assert.equal(denied.telemetry.info.messages_received, 0);
});

test("a host is found by its name", async () => {
  const broker = await openMosquitto();
  await isOpen(keepTelemetry(mqttSetting(broker.port, { ip: "localhost" })));
  const lost = keepTelemetry(mqttSetting(broker.port, { ip: "no-such-host.invalid" }));
  await eventually(() => /no host of the name/.test(lost.telemetry.info.detail ?? ""), "it is not found");
});

const bad: readonly (readonly [string, string | Buffer, RegExp])[] = [
  ["NaN", '{"timestamp": NaN, "sensor_hfov": 60, "sensor_vfov": 34}', /not valid JSON/],
  ["a string for a number", text({ ...FULL, latitude: "41.4" }), /\/latitude/],
  ["null for a number", text({ ...FULL, altitude: null }), /\/altitude/],
  ["the latitude 91", text({ ...FULL, latitude: 91 }), /\/latitude/],
  ["yaw 720", text({ ...FULL, camera_yaw: 720 }), /\/camera_yaw/],
  ["no field of view", text({ ...FULL, sensor_hfov: undefined }), /sensor_hfov/],
  ["an endless number", text(FULL).replace("3.5", "1e999"), /\/speed/],
  ["bytes that are no text", Buffer.from([0x00, 0xff, 0xfe, 0x80]), /not valid JSON/],
  ["nothing at all", "", /not valid JSON/],
  ["a list", "[]", /object/],
];
test("what is no message is counted and told, and changes nothing", async () => {
  const broker = await openMosquitto();
  const kept = keepTelemetry(mqttSetting(broker.port));
  await isOpen(kept);
  const client = await broker.connect();
  let refused = 0;
  for (const [what, payload, detail] of bad) {
    await publish(client, [payload]);
    refused += 1;
    await eventually(() => kept.telemetry.info.messages_refused === refused, `${what} is refused`);
    assert.match(kept.telemetry.info.detail ?? "", detail, what);
  }
  assert.equal(kept.delivered.length + kept.published.length, 0);
  assert.equal(stateOf(kept), "waiting");
  // Below the sea, where land is; and the fault before it is forgotten.
  await publish(client, [text({ ...FULL, altitude: -400, rel_altitude: 20 })]);
  await eventually(() => kept.delivered.length === 1, "a good one arrives");
  assert.equal(kept.telemetry.info.detail, null);
  assert.equal(kept.delivered[0]?.position?.altitude, -400);
});

test("a message without a place is used, and what it lacks is told", async () => {
  const broker = await openMosquitto();
  const kept = keepTelemetry(mqttSetting(broker.port));
  await isOpen(kept);
  await publish(await broker.connect(), [text({ ...FULL, latitude: undefined })]);
  await eventually(() => stateOf(kept) === "receiving", "it arrives");
  assert.match(kept.telemetry.info.detail ?? "", /latitude/);
});

test("messages that are too large are left out, retained ones at every connection, and the connection stays", async () => {
  const broker = await openMosquitto();
  const client = await broker.connect();
  const huge = Buffer.alloc(20 * 2 ** 20, 0x20);
  await client.publishAsync("drone/7", huge, { qos: 1, retain: true });
  const kept = keepTelemetry(mqttSetting(broker.port), { TELEMETRY_MESSAGE_BYTES: "1024" });
  await eventually(() => kept.telemetry.info.messages_refused === 1, "the huge one is left out");
  assert.match(kept.telemetry.info.detail ?? "", /at most 1024 are read/);
  await publish(client, [`${text(FULL)}${" ".repeat(2048)}`, text(FULL)]);
  await eventually(() => kept.delivered.length === 1, "the small one arrives");
  assert.equal(kept.telemetry.info.messages_refused, 2);
  assert.equal(stateOf(kept), "receiving");
  assert.ok(!kept.announced.some(({ state }) => state === "connecting"), "the connection was never lost");
});

test("a flood is thinned to what may be used, the newest of it, and counted", async () => {
  const broker = await openMosquitto();
  const kept = keepTelemetry(mqttSetting(broker.port), { TELEMETRY_MESSAGES_PER_SECOND: "20" });
  await isOpen(kept);
  const client = await broker.connect();
  const count = 10_000;
  const startedMs = performance.now();
  for (let i = 1; i < count; i++) client.publish("drone/7", text({ ...FULL, timestamp: i }));
  await publish(client, [text({ ...FULL, timestamp: count })]);
  await eventually(() => timesOf(kept).at(-1) === count * 1000, "the newest arrives");
  const seconds = (performance.now() - startedMs) / 1000;
  const { received, thinned, refused } = kept.telemetry.numbers;
  assert.equal(refused, 0);
  assert.equal(received - thinned, kept.delivered.length);
  // What may come at once, and then as many as time allows.
  assert.ok(kept.delivered.length <= 20 + 20 * seconds + 1, `${kept.delivered.length} in ${seconds} s`);
  assert.deepEqual(
    timesOf(kept),
    [...timesOf(kept)].sort((a, b) => (a ?? 0) - (b ?? 0)),
    "in order",
  );
});

test("a broker that knows only version 5 is spoken to in version 5", async () => {
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
  const kept = keepTelemetry(mqttSetting(address.port));
  await isOpen(kept);
  assert.deepEqual(spoken, [4, 5]);
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => kept.delivered.length === 1, "it arrives");
});

test("one that speaks no MQTT is left alone again, without end and without harm", async () => {
  const rude = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(Buffer.alloc(100_000, 0xff));
  });
  await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve));
  after(() => rude.close());
  const address = rude.address();
  assert.ok(typeof address === "object" && address !== null);
  const kept = keepTelemetry(mqttSetting(address.port));
  await eventually(() => /not MQTT/.test(kept.telemetry.info.detail ?? ""), "that is told");
  assert.equal(stateOf(kept), "connecting");
});

test("one that takes the connection and says nothing is given up, and tried again", async () => {
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
  const kept = keepTelemetry(mqttSetting(address.port), { TELEMETRY_CONNECT_SECONDS: "0.1" });
  await eventually(() => calls >= 2, "it is tried again");
  assert.match(kept.telemetry.info.detail ?? "", /does not answer/);
});

test("a broker that freezes is noticed, and used again when it goes on", async () => {
  const broker = await openMosquitto();
  const kept = keepTelemetry(mqttSetting(broker.port), {
    TELEMETRY_KEEPALIVE_SECONDS: "1",
    TELEMETRY_CONNECT_SECONDS: "0.5",
  });
  await isOpen(kept);
  broker.freeze();
  await eventually(() => stateOf(kept) === "connecting", "that is noticed");
  broker.thaw();
  await isOpen(kept);
});

test("after its end nothing comes, and the broker is left", async () => {
  const broker = await openMosquitto();
  const kept = keepTelemetry(mqttSetting(broker.port));
  const witness = keepTelemetry(mqttSetting(broker.port));
  await Promise.all([isOpen(kept), isOpen(witness)]);
  kept.telemetry.close();
  await publish(await broker.connect(), [text(FULL)]);
  await eventually(() => witness.delivered.length === 1, "others still hear");
  assert.equal(kept.delivered.length, 0);
});

test("a broker that goes away before it answers is not said to refuse the topic", async () => {
  const CONNACK = Buffer.from([0x20, 2, 0, 0]);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => ((chunk[0] ?? 0) >> 4 === 1 ? socket.write(CONNACK) : socket.destroy()));
  });
  after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const kept = keepTelemetry(mqttSetting((server.address() as { port: number }).port));
  await eventually(() => /tried again/.test(kept.telemetry.info.detail ?? ""), "it is lost");
  assert.match(kept.telemetry.info.detail ?? "", /closed the connection/);
});
