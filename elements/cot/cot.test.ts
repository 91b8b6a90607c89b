/** Real graphs that send to a real socket and to a real broker, which is killed, frozen and restarted. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, test } from "node:test";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import type { Place } from "../../schemas/places.ts";
import { compiledText, start } from "../../test/graph.fixture.ts";
import { openMosquitto } from "../../test/mosquitto.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import type { AnyElement, ElementEvent, Frame, FrameMetadata, Services } from "../element.ts";
import { marker, track, tracks } from "../marks.fixture.ts";
import { CotHandler, type CotProperties } from "./handler.ts";
import { OUTLET_LIMITS } from "./outlet.ts";
import { find, parseEvents } from "./parse-event.fixture.ts";

const START_MS = 1_700_000_000_000;
const UUID = "0b1c9f3e-1111-4222-8333-444455556666";
const BOX = [0.25, 0.5, 0.125, 0.25] as [number, number, number, number];

const place = (latitude: number | null): Place => ({
  ...{ azimuth: 0, elevation: -30, distance: 100, isDistanceEstimated: false },
  spot: latitude === null ? null : { latitude, longitude: 11, altitude: 30, errorM: 2, speedMps: null, heading: null },
});
const places = (...objects: (Place | null)[]) => ({ mode: "full", objects, ageMs: 20 });

/** Receives datagrams as text. */
async function openReceiver() {
  const socket = createSocket("udp4");
  const watch = new Watch();
  const texts: string[] = [];
  socket.on("message", (bytes) => {
    texts.push(bytes.toString());
    watch.check();
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  after(() => socket.close());
  const until = (count: number) => watch.until(`${count} events`, () => texts.length >= count);
  return { url: `udp://127.0.0.1:${socket.address().port}`, texts, until };
}

interface Report extends ElementEvent {
  readonly status: string;
  readonly detail: string | null;
  readonly framesSent: number;
  readonly framesDropped: number;
}

/** On a busy machine an acknowledgement may take longer than the default second for closing. */
const PATIENT = { ...OUTLET_LIMITS, closeMs: 60_000 };
const IMPATIENT = { ...OUTLET_LIMITS, closeMs: 50 };

const PLAIN = {
  ...{ camera: false, callsign: "camera", videoUrl: null },
  ...{ authorities: null, serverName: null, certificate: null, key: null },
} as const;

/** The element alone, with frames from the test. Closed after the test. */
function open(url: string, change: Partial<CotProperties> = {}, job: Partial<Services["job"]> = {}, limits = PATIENT) {
  const reports: Report[] = [];
  const logged: string[] = [];
  const watch = new Watch();
  const log = { debug() {}, info: (text: string) => logged.push(text), warn: (text: string) => logged.push(text) };
  const emit = (event: ElementEvent) => {
    reports.push(event as Report);
    watch.check();
  };
  const services = { node: "cot", job: { uuid: UUID, live: true, ...job }, log, emit } as unknown as Services;
  const properties = {
    address: null,
    intervalMs: 1000,
    staleSeconds: 15,
    affiliation: "u",
    ...PLAIN,
    ...change,
  } as const;
  const handler = new CotHandler({ url, ...properties }, services, limits);
  after(() => handler.close());
  const show = (ms: number, meta: FrameMetadata) =>
    handler.process({ captureNs: BigInt(START_MS + ms) * 1_000_000n + 999_999n, meta });
  const car = (ms: number, id = 1) => show(ms, { tracks: tracks([track(id, BOX)]), places: places(place(48)) });
  const until = (status: string, from = 0) =>
    watch.until(status, () => reports.slice(from).some((report) => report.status === status));
  return { handler, reports, logged, show, car, until, properties: { url, ...properties } };
}

const timesOf = (texts: readonly string[]) =>
  parseEvents(texts).map(({ attributes: { uid = "", time = "", stale = "" } }) => [
    Number(uid.split(".").at(-1)),
    Date.parse(time) - START_MS,
    Date.parse(stale) - START_MS,
  ]);

test("sends at most one event per track and interval, in the time of the frames, and one more when it ends", async () => {
  const receiver = await openReceiver();
  const { handler, show, car, properties } = open(receiver.url);
  for (const ms of [0, 400, 900, 1000, 1900]) car(ms);
  handler.update({ ...properties, intervalMs: 100, staleSeconds: 3 });
  car(2000);
  car(2100);
  show(2500, { tracks: tracks([], { ended: [1, 77] }), places: places() });
  await receiver.until(5);
  assert.deepEqual(timesOf(receiver.texts), [
    [1, 0, 15_000],
    [1, 1000, 16_000],
    [1, 2000, 5000],
    [1, 2100, 5100],
    [1, 2500, 2500],
  ]);
});

test("live runs in the foreground use different track uids; at pace fast the same clip gives the same bytes", async () => {
  const uuid = "00000000-0000-0000-0000-000000000000";
  const uidOf = async (job: Partial<Services["job"]>) => {
    const receiver = await openReceiver();
    const { car, logged } = open(receiver.url, {}, job);
    car(0);
    await receiver.until(1);
    return { uid: parseEvents(receiver.texts)[0]?.attributes.uid ?? "", logged };
  };
  const [first, second] = [await uidOf({ uuid, live: true }), await uidOf({ uuid, live: true })];
  assert.match(first.uid, /^windhover\.[0-9a-f-]{36}\.1$/);
  assert.notEqual(first.uid, second.uid);
  assert.doesNotMatch(first.logged.join(), /1970/);
  const fast = await uidOf({ uuid, live: false });
  assert.equal(fast.uid, `windhover.${uuid}.1`);
  assert.match(fast.logged.join(), /1970/);
  assert.equal((await uidOf({})).uid, `windhover.${UUID}.1`);
});

test("sends no events for tracks without a position, predicted tracks, and frames without inference", async () => {
  const receiver = await openReceiver();
  const { show, car, handler } = open(receiver.url);
  const one = [track(1, BOX)];
  show(0, { tracks: tracks(one) });
  show(10, { tracks: tracks(one), places: places(null) });
  show(20, { tracks: tracks(one), places: places(place(null)) });
  show(30, { tracks: tracks([track(1, BOX, { predicted: true })]), places: places(place(1)) });
  show(40, { tracks: tracks(one, { inferred: false }), places: places(place(1)) });
  show(50, { tracks: tracks([], { ended: [1] }), places: places() });
  car(60, 2);
  await handler.close();
  await receiver.until(2);
  assert.deepEqual(
    timesOf(receiver.texts).map(([id]) => id),
    [2, 2],
  );
});

test("matches positions to tracks by their order", async () => {
  const receiver = await openReceiver();
  const { show } = open(receiver.url);
  show(0, {
    tracks: tracks([track(1, BOX), track(2, BOX), track(3, BOX, { className: "boat" })]),
    places: places(null, place(2), place(-3)),
  });
  await receiver.until(2);
  const parsed = parseEvents(receiver.texts);
  assert.deepEqual(
    parsed.map((event) => [event.attributes.type, find(event, "point")?.attributes.lat]),
    [
      ["a-u-G", "2.0000000"],
      ["a-u-S", "-3.0000000"],
    ],
  );
});

test("marks tracks stale at once after a seek, after a missed end, and at the end of the stream", async () => {
  const receiver = await openReceiver();
  const { car, handler } = open(receiver.url);
  car(0, 1);
  handler.flush();
  car(100, 2);
  car(500_000, 3);
  await handler.close();
  await receiver.until(6);
  assert.deepEqual(
    timesOf(receiver.texts).map(([id, time, stale]) => [id, time === stale]),
    [
      [1, false],
      [1, true],
      [2, false],
      [3, false],
      [2, true],
      [3, true],
    ],
  );
});

test("events reach a multicast group", async (t) => {
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  t.after(() => socket.close());
  socket.bind(0);
  await once(socket, "listening");
  try {
    socket.addMembership("239.2.3.1");
  } catch (error) {
    t.skip(`there is no multicast here: ${(error as Error).message}`);
    return;
  }
  const { car } = open(`udp://239.2.3.1:${socket.address().port}?ttl=2`);
  const arrived = once(socket, "message");
  car(0);
  const [bytes] = await arrived;
  assert.equal(timesOf([String(bytes)])[0]?.[0], 1);
});

test("reports its status like other outputs", async () => {
  const receiver = await openReceiver();
  const { car, reports, until, handler } = open(receiver.url);
  await until("live");
  car(0);
  await receiver.until(1);
  await handler.close();
  const { type, status, detail, framesSent, framesDropped } = reports.at(-1) ?? assert.fail();
  assert.deepEqual([type, status, detail, framesSent, framesDropped], ["output", "live", null, 2, 0]);
  assert.equal(reports[0]?.status, "starting");
});

for (const qos of [0, 1])
  test(`publishes events to a topic with QoS ${qos}, with username and password`, async () => {
    const broker = await openMosquitto({ isGuarded: true });
    const client = await broker.connect();
    await client.subscribeAsync("maps/cot 1", { qos: 1 });
    const arrived = new Promise<[topic: string, payload: Buffer]>((resolve) =>
      client.once("message", (topic, payload) => resolve([topic, payload])),
    );
    const { car, reports, logged, until } = open(
      `mqtt://drone:geheim%3A7@127.0.0.1:${broker.port}/maps/cot%201?qos=${qos}`,
    );
    car(0);
    const [topic, payload] = await arrived;
    assert.deepEqual([topic, timesOf([String(payload)])], ["maps/cot 1", [[1, 0, 15_000]]]);
    await until("live");
    assert.doesNotMatch(JSON.stringify([reports, logged]), /geheim/);
  });

test("reports a wrong password without revealing it", async () => {
  const broker = await openMosquitto({ isGuarded: true });
  const { reports, logged, until } = open(`mqtt://drone:hunter4@127.0.0.1:${broker.port}/cot`);
  await until("retrying");
  assert.match(reports.at(-1)?.detail ?? "", /not authorized|wrong username or password/);
  assert.doesNotMatch(JSON.stringify([reports, logged]), /hunter4/);
});

test("a broker that is killed and restarted receives the queued events, oldest first", async () => {
  const broker = await openMosquitto();
  const { car, reports, until, handler } = open(`mqtt://127.0.0.1:${broker.port}/cot?qos=1`);
  await until("live");
  await broker.kill();
  await until("retrying");
  for (const id of [1, 2, 3]) car(0, id);
  await broker.start();
  const client = await broker.connect();
  const ids: number[] = [];
  const watch = new Watch();
  client.on("message", (_topic, payload) => {
    ids.push(timesOf([String(payload)])[0]?.[0] ?? 0);
    watch.check();
  });
  await client.subscribeAsync("cot", { qos: 1 });
  await until(
    "live",
    reports.findIndex(({ status }) => status === "retrying"),
  );
  car(0, 4);
  await watch.until("the last event", () => ids.includes(4));
  // Events sent before the test subscribed are missing.
  assert.deepEqual(ids, [1, 2, 3, 4].slice(-ids.length));
  await handler.close();
  // Four events and four final ones, all acknowledged by the broker.
  const { status, framesSent, framesDropped } = reports.at(-1) ?? assert.fail();
  assert.deepEqual([status, framesSent, framesDropped], ["live", 8, 0]);
});

test("an offline broker costs the events beyond the limit, counted, and blocks no frame", async () => {
  const { show, handler, reports } = open("mqtt://127.0.0.1:1/cot");
  const crowd = Array.from({ length: 300 }, (_, index) => track(index + 1, BOX));
  const meta = { tracks: tracks(crowd), places: places(...crowd.map(() => place(48))) };
  for (let ms = 0; ms < 10_000; ms += 1000) assert.equal(show(ms, meta), undefined);
  await handler.close();
  const { framesSent, framesDropped } = reports.at(-1) ?? assert.fail();
  assert.deepEqual([framesSent, framesDropped], [0, 3300]);
});

test("a frozen broker does not prevent the element from closing", async () => {
  const broker = await openMosquitto();
  const { car, until, handler, reports } = open(`mqtt://127.0.0.1:${broker.port}/cot?qos=1`, {}, {}, IMPATIENT);
  await until("live");
  broker.freeze();
  car(0);
  await handler.close();
  assert.equal(reports.at(-1)?.framesDropped, 2);
});

test("a server that never responds does not prevent the element from closing", async () => {
  const server = createServer((socket) => void socket.on("error", () => {}).resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const { car, handler, reports } = open(`mqtt://127.0.0.1:${address.port}/cot`, {}, {}, IMPATIENT);
  car(0);
  await handler.close();
  assert.deepEqual([reports.at(-1)?.framesSent, reports.at(-1)?.framesDropped], [0, 2]);
});

test("leaves no socket open to a frozen broker that does not close the connection", async () => {
  const CONNACK = Buffer.from([0x20, 2, 0, 0]);
  const watch = new Watch();
  let isClosed = false;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.on("close", () => {
      isClosed = true;
      watch.check();
    });
    // Writing to a closed peer triggers a reset, which closes this socket.
    const poke = setInterval(() => socket.write(Buffer.from([0xd0, 0])), 20);
    socket.on("close", () => clearInterval(poke));
    socket.once("data", () => socket.write(CONNACK));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const { car, handler, until } = open(`mqtt://127.0.0.1:${address.port}/cot`, {}, {}, IMPATIENT);
  await until("live");
  car(0);
  await handler.close();
  await watch.until("the socket to close", () => isClosed);
});

test("disconnects from a server that floods it with data", async () => {
  const CONNACK = Buffer.from([0x20, 2, 0, 0]);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      // A message of 200 MB begins.
      socket.write(Buffer.concat([CONNACK, Buffer.from([0x30, 0x80, 0x80, 0x80, 0x64])]));
      const flood = () => {
        while (socket.write(Buffer.alloc(65_536)));
      };
      socket.on("drain", flood);
      flood();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const { reports, until } = open(`mqtt://127.0.0.1:${address.port}/cot`);
  await until("retrying");
  assert.match(
    reports.findLast(({ status }) => status === "retrying")?.detail ?? "",
    /more data than an MQTT broker would/,
  );
});

test("in a graph, sends events and reports its status until the end", async () => {
  const receiver = await openReceiver();
  const events: GraphEvent[] = [];
  const mark = {
    ...marker((frame: Frame) => ({
      tracks: tracks([track(1, BOX, { ageMs: frame.index })]),
      places: places(place(48)),
    })),
    writes: ["tracks", "places"],
  } as AnyElement;
  const text = `
graph: mapped
about: One object in a picture of three seconds.
chains:
  main:
    - source: { uri: "test:smpte?width=64&height=48&frames=30&fps=10" }
    - decode
    - mark
    - cot: { url: "${receiver.url}" }
`;
  const graph = await start(compiledText(text, mark), [mark], { onEvent: (event) => events.push(event) });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  await receiver.until(4);
  const times = timesOf(receiver.texts).map(([id, time, stale]) => [
    id,
    (time ?? 0) + START_MS,
    (stale ?? 0) + START_MS,
  ]);
  assert.deepEqual(times, [
    [1, 0, 15_000],
    [1, 1000, 16_000],
    [1, 2000, 17_000],
    [1, 2900, 2900],
  ]);
  const reports = events.flatMap((event) => (event.type === "element" ? [event.event as Report] : []));
  assert.equal(reports.findLast(({ type }) => type === "output")?.framesSent, 4);
});
