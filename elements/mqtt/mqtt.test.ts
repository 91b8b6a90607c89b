/** Detection messages to a real broker, which is killed, frozen and restarted. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { compiledText, start } from "../../test/graph.fixture.ts";
import { type Mosquitto, openMosquitto } from "../../test/mosquitto.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import { OUTLET_LIMITS } from "../cot/outlet.ts";
import type { AnyElement, ElementEvent, Frame, OutputEvent, Services } from "../element.ts";
import { marker, track, tracks } from "../marks.fixture.ts";
import { MqttHandler, type MqttOptions } from "./handler.ts";

const START_MS = 1_700_000_000_000;
const UUID = "0b1c9f3e-1111-4222-8333-444455556666";
const SOURCE = "0b1c9f3e-7777-4222-8333-444455556666";
const BOX = [0.25, 0.5, 0.125, 0.25] as [number, number, number, number];
const validate = new Ajv2020({ strict: false, validateSchema: false }).compile(DetectionMessage);
/** On a busy machine an acknowledgement may take longer than the default second for closing. */
const PATIENT = { ...OUTLET_LIMITS, closeMs: 60_000, firstWaitMs: 50, maxWaitMs: 200 };

/** The element alone, with frames from the test. Closed after the test. */
function open(url: string, options: MqttOptions = { limits: PATIENT }) {
  const reports: OutputEvent[] = [];
  const logged: string[] = [];
  const watch = new Watch();
  const log = { debug() {}, info: (text: string) => logged.push(text), warn: (text: string) => logged.push(text) };
  const emit = (event: ElementEvent) => {
    reports.push(event as OutputEvent);
    watch.check();
  };
  const job = { uuid: UUID, sourceUri: "rtsp://camera/1", live: true };
  const services = { node: "mqtt", job, log, emit } as unknown as Services;
  const handler = new MqttHandler({ url, address: null, sourceUuid: SOURCE }, services, options);
  after(() => handler.close());
  const show = (ms: number, ids: readonly number[], more: { ended?: number[]; inferred?: boolean } = {}) =>
    handler.process({
      captureNs: BigInt(START_MS + ms) * 1_000_000n + 999_999n,
      inputSize: { width: 1920, height: 1080 },
      meta: {
        tracks: tracks(
          ids.map((id) => track(id, BOX, { className: id % 2 === 0 ? "car" : "a/b+c" })),
          more,
        ),
      },
    });
  const until = (status: string, from = 0) =>
    watch.until(status, () => reports.slice(from).some((report) => report.status === status));
  const last = () => reports.at(-1) ?? assert.fail();
  return { handler, reports, logged, show, until, last };
}

/** What a subscriber receives: topic, milliseconds since the start and track ids, or `removed`. */
async function listen(broker: Mosquitto, filter = "#") {
  const client = await broker.connect();
  const watch = new Watch();
  const received: string[] = [];
  client.on("message", (topic, payload) => {
    const message = payload.length === 0 ? null : JSON.parse(String(payload));
    if (message !== null) assert.ok(validate(message), JSON.stringify(validate.errors));
    const ids = message?.active_tracks.map(({ track_id }: { track_id: number }) => track_id).join();
    received.push(`${topic} ${message === null ? "removed" : `${Date.parse(message.timestamp) - START_MS}: ${ids}`}`);
    watch.check();
  });
  await client.subscribeAsync(filter, { qos: 2 });
  return { received, until: (count: number) => watch.until(`${count} messages`, () => received.length >= count) };
}

for (const qos of [0, 1, 2])
  test(`publishes every message to one topic with QoS ${qos}, with username and password`, async () => {
    const broker = await openMosquitto({ isGuarded: true });
    const { received, until } = await listen(broker);
    const url = `mqtt://drone:geheim%3A7@127.0.0.1:${broker.port}/wh/{source_uuid}/{process_uuid}?qos=${qos}`;
    const { show, handler, reports, logged, last } = open(url);
    show(0, [1, 2]);
    show(40, [1], { inferred: false });
    show(80, []);
    await handler.close();
    await until(2);
    const topic = `wh/${SOURCE}/${UUID}`;
    assert.deepEqual(received, [`${topic} 0: 1,2`, `${topic} 80: `]);
    assert.deepEqual([last().status, last().framesSent, last().framesDropped], ["live", 2, 0]);
    assert.doesNotMatch(JSON.stringify([reports, logged]), /geheim/);
  });

test("publishes each track to its own topic, at most once per interval", async () => {
  const broker = await openMosquitto();
  const { received, until } = await listen(broker);
  const { show, handler } = open(`mqtt://127.0.0.1:${broker.port}/t/{track_id}?qos=1&interval_ms=100`);
  show(0, [1, 2]);
  show(60, [1, 2, 3]);
  show(120, [1, 2, 3]);
  show(160, [3], { ended: [1] });
  await handler.close();
  await until(6);
  assert.deepEqual(received, ["t/1 0: 1", "t/2 0: 2", "t/3 60: 3", "t/1 120: 1", "t/2 120: 2", "t/3 160: 3"]);
});

test("groups tracks by class, whose name cannot add levels to the topic", async () => {
  const broker = await openMosquitto();
  const { received, until } = await listen(broker);
  const { show, handler } = open(`mqtt://127.0.0.1:${broker.port}/c/{class_name}?qos=1`);
  show(0, [1, 2, 3]);
  await handler.close();
  await until(2);
  assert.deepEqual(received, ["c/a_b_c 0: 1,3", "c/car 0: 2"]);
});

test("retained messages of tracks are removed from the broker when the track ends", async () => {
  const broker = await openMosquitto();
  const { show, handler } = open(`mqtt://127.0.0.1:${broker.port}/t/{track_id}?qos=1&retain=true`);
  const live = await listen(broker);
  show(0, [1, 2]);
  show(40, [2], { ended: [1] });
  await live.until(4);
  assert.deepEqual(live.received, ["t/1 0: 1", "t/2 0: 2", "t/2 40: 2", "t/1 removed"]);
  const late = await listen(broker);
  await late.until(1);
  assert.deepEqual(late.received, ["t/2 40: 2"]);
  await handler.close();
  await late.until(2);
  assert.deepEqual(late.received.at(-1), "t/2 removed");
});

test("a broker that is killed and restarted receives the queued messages, oldest first", async () => {
  const broker = await openMosquitto();
  const { show, handler, reports, until, last } = open(`mqtt://127.0.0.1:${broker.port}/a?qos=1`);
  await until("live");
  await broker.kill();
  await until("retrying");
  for (const ms of [0, 40, 80]) show(ms, [1]);
  const failedAt = reports.findIndex(({ status }) => status === "retrying");
  await broker.start();
  await until("live", failedAt);
  await handler.close();
  assert.deepEqual([last().status, last().framesSent, last().framesDropped], ["live", 3, 0]);
});

test("a slow broker costs the oldest messages beyond the limit, counted, and blocks no frame", async () => {
  const broker = await openMosquitto();
  const limits = { ...PATIENT, maxQueued: 10, maxPending: 4 };
  const { show, handler, until, last } = open(`mqtt://127.0.0.1:${broker.port}/a?qos=1`, { limits });
  const { received, until: arrived } = await listen(broker, "a");
  await until("live");
  broker.freeze();
  for (let ms = 0; ms < 1000; ms += 10) assert.equal(show(ms, [1]), undefined);
  broker.thaw();
  await arrived(14);
  await handler.close();
  assert.deepEqual([last().framesSent, last().framesDropped], [14, 86]);
  assert.deepEqual(received.map((text) => Number(text.split(" ")[1]?.slice(0, -1))).slice(4), [
    ...[900, 910, 920, 930, 940, 950, 960, 970, 980, 990],
  ]);
});

test("reports a wrong password without revealing it, and retries", async () => {
  const broker = await openMosquitto({ isGuarded: true });
  const { reports, logged, until, last } = open(`mqtt://drone:hunter4@127.0.0.1:${broker.port}/a`);
  await until("retrying");
  assert.match(last().detail ?? "", /not authorized|wrong username or password/);
  assert.doesNotMatch(JSON.stringify([reports, logged]), /hunter4/);
});

test("connects by TLS only to a broker with a valid certificate", async () => {
  const folder = mkdtempSync(join(tmpdir(), "windhover-mqtts-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=broker", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync("openssl", [...how, ...name, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const broker = await openMosquitto();
  const pems = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  const proxy = createTlsServer(pems, (socket) => {
    const beyond = connect(broker.port, "127.0.0.1");
    socket.on("error", () => {}).on("close", () => beyond.destroy());
    beyond.on("error", () => {}).on("close", () => socket.destroy());
    socket.pipe(beyond).pipe(socket);
  });
  proxy.listen(0, "localhost");
  await once(proxy, "listening");
  after(() => proxy.close());
  const url = `mqtts://localhost:${(proxy.address() as AddressInfo).port}/secure?qos=1`;
  const doubtful = open(url);
  await doubtful.until("retrying");
  assert.match(doubtful.last().detail ?? "", /certificate/);
  await doubtful.handler.close();
  const { received, until } = await listen(broker, "secure");
  const { show, handler } = open(url, { limits: PATIENT, authorities: pems.cert });
  show(0, [1]);
  await until(1);
  assert.deepEqual(received, ["secure 0: 1"]);
  await handler.close();
});

test("in a graph, publishes messages and reports its status until the end", async () => {
  const broker = await openMosquitto();
  const { received, until } = await listen(broker, "graph/#");
  const events: GraphEvent[] = [];
  const mark = {
    ...marker((frame: Frame) => ({ tracks: tracks([track(1, BOX, { ageMs: frame.index })]) })),
    writes: ["tracks"],
  } as AnyElement;
  const text = `
graph: published
about: One object in a picture of a second.
chains:
  main:
    - source: { uri: "test:smpte?width=64&height=48&frames=10&fps=10" }
    - decode
    - mark
    - mqtt: { url: "mqtt://127.0.0.1:${broker.port}/graph/{process_uuid}/{track_id}?qos=1&interval_ms=500" }
`;
  const graph = await start(compiledText(text, mark), [mark], { onEvent: (event) => events.push(event) });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  await until(2);
  const zeros = "00000000-0000-0000-0000-000000000000";
  assert.deepEqual(received, [`graph/${zeros}/1 ${-START_MS}: 1`, `graph/${zeros}/1 ${500 - START_MS}: 1`]);
  const reports = events.flatMap((event) => (event.type === "element" ? [event.event as OutputEvent] : []));
  assert.equal(reports.findLast(({ type }) => type === "output")?.framesSent, 2);
});
