/** Events of the camera, and a TAK server that requires client certificates. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Places } from "../../schemas/places.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { geoidHeightM } from "../../terrain/geoid.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import type { ElementEvent, Services } from "../element.ts";
import { track, tracks } from "../marks.fixture.ts";
import { CameraCourse } from "./camera-course.ts";
import { checkEvent } from "./event-schema.fixture.ts";
import { CotHandler, type CotProperties } from "./handler.ts";
import { OUTLET_LIMITS } from "./outlet.ts";
import { find, type ParsedElement, parseEvents } from "./parse-event.fixture.ts";

const START_MS = 1_700_000_000_000;
const UUID = "0b1c9f3e-1111-4222-8333-444455556666";
const PLACE = { latitude: 48.137, longitude: 11.575 };

/** Authority, server and clients, made with OpenSSL. */
function makeCertificates() {
  const folder = temporaryFolder();
  const run = (...words: readonly string[]) => execFileSync("openssl", words, { cwd: folder, stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  for (const name of ["ca", "other-ca"])
    run("req", "-x509", ...key, "-days", "2", "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.pem`);
  const issue = (name: string, ca: string): void => {
    run("req", ...key, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    const by = ["-CA", `${ca}.pem`, "-CAkey", `${ca}.key`, "-CAcreateserial", "-days", "2"];
    run("x509", "-req", "-in", `${name}.csr`, ...by, "-out", `${name}.pem`);
  };
  // TAK servers come with such a name, whatever their host.
  issue("takserver", "ca");
  issue("drone", "ca");
  issue("stranger", "other-ca");
  return (name: string): string => readFileSync(join(folder, name), "utf8");
}
const pem = makeCertificates();

/** Cuts the stream after every event, as TAK servers do. */
class StandIn {
  readonly texts: string[] = [];
  readonly clients: string[] = [];
  readonly watch = new Watch();
  readonly sockets = new Set<Socket>();
  readonly server: Server;

  constructor(isSecure: boolean) {
    const onSocket = (socket: Socket): void => this.#accept(socket);
    const options = { key: pem("takserver.key"), cert: pem("takserver.pem"), ca: pem("ca.pem") };
    this.server = isSecure
      ? createTlsServer({ ...options, requestCert: true, rejectUnauthorized: true }, onSocket)
      : createServer(onSocket);
    after(() => this.stop());
  }

  async start(port = 0): Promise<number> {
    this.server.listen(port, "127.0.0.1");
    await once(this.server, "listening");
    const address = this.server.address();
    assert.ok(typeof address === "object" && address !== null);
    return address.port;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  until(count: number): Promise<void> {
    return this.watch.until(`${count} events`, () => this.texts.length >= count);
  }

  #accept(socket: Socket): void {
    this.sockets.add(socket);
    this.clients.push(String((socket as Partial<TLSSocket>).getPeerCertificate?.().subject?.CN ?? ""));
    // A server greets its clients, and forwards what others send.
    socket.write(`<event version="2.0" uid="x" type="t-x-takp-v">${" ".repeat(100_000)}</event>`);
    let rest = "";
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (text: string) => {
      rest += text;
      const parts = rest.split(/(?<=<\/event>)/);
      rest = parts.at(-1)?.endsWith("</event>") ? "" : (parts.pop() ?? "");
      this.texts.push(...parts);
      this.watch.check();
    });
  }
}

interface Report extends ElementEvent {
  readonly status: string;
  readonly detail: string | null;
}

function open(change: Partial<CotProperties> & Pick<CotProperties, "url">) {
  const reports: Report[] = [];
  const watch = new Watch();
  const log = { debug() {}, info() {}, warn() {} };
  const emit = (event: ElementEvent): void => {
    reports.push(event as Report);
    watch.check();
  };
  const services = { node: "cot", job: { uuid: UUID, live: true }, log, emit } as unknown as Services;
  const properties: CotProperties = {
    ...{ address: null, intervalMs: 1000, staleSeconds: 15, affiliation: "u", camera: true, callsign: "FOX & 1" },
    ...{ videoUrl: null, authorities: null, serverName: null, certificate: null, key: null },
    ...change,
  };
  const handler = new CotHandler(properties, services, { ...OUTLET_LIMITS, firstWaitMs: 50, closeMs: 60_000 });
  after(() => handler.close());
  const until = (status: string, detail = /^/): Promise<void> =>
    watch.until(`${status} ${detail}`, () =>
      reports.some((report) => report.status === status && detail.test(report.detail ?? "")),
    );
  return { handler, until, reports };
}

const telemetryAt = (seconds: number): FrameTelemetry => ({
  ...{ method: "between", ageMs: 0, offsetMs: 0, hfov: 61.4, vfov: 37.2 },
  // 10 m/s to the east.
  position: { ...PLACE, longitude: PLACE.longitude + (10 * seconds) / 74_230, altitude: 620, relAltitude: 100 },
  attitude: { yaw: -160, pitch: -45, roll: 1 },
  doubt: { angle: 0, position: 0, height: 0 },
});
const CENTRE = { latitude: 48.1361, longitude: 11.5745, altitude: 520, errorM: 3.3, distance: 141.4 };
const SPOT = { ...PLACE, altitude: 520, errorM: 4.2, speedMps: 3, heading: 90 };
const ELLIPSE = { majorM: 4, minorM: 1.2, direction: 20 };
const PLACES: Places = {
  ...{ mode: "full", ageMs: 0, centre: CENTRE },
  objects: [{ azimuth: 0, elevation: 0, distance: 140, isDistanceEstimated: false, spot: SPOT, ellipse: ELLIPSE }],
};

const show = (handler: CotHandler, seconds: number, places: Places = PLACES): void =>
  handler.process({
    captureNs: BigInt(START_MS + seconds * 1000) * 1_000_000n,
    meta: { tracks: tracks([track(1, [0.25, 0.5, 0.125, 0.25])]), places, telemetry: telemetryAt(seconds) },
  });

const ofType = (events: readonly ParsedElement[], type: string) =>
  events.filter(({ attributes }) => attributes.type === type);

const SECURE = () => ({
  ...{ authorities: pem("ca.pem"), serverName: "takserver", certificate: pem("drone.pem"), key: pem("drone.key") },
});

test("a TAK server with client certificates receives objects, the camera, its view and its point of interest", async () => {
  const server = new StandIn(true);
  const port = await server.start();
  const videoUrl = "rtsp://10.0.0.5:8554/master/drone-1?x=1&y=2";
  const { handler, until } = open({ url: `tls://127.0.0.1:${port}`, videoUrl, ...SECURE() });
  for (const seconds of [0, 0.5, 1, 1.5, 2]) show(handler, seconds);
  await server.until(9);
  await until("live");
  assert.deepEqual(server.clients, ["drone"]);
  const events = parseEvents(server.texts);
  for (const event of events) checkEvent(event);
  const cameras = ofType(events, "a-f-A-M-H-Q");
  assert.equal(cameras.length, 3);
  const camera = cameras.at(-1);
  const geoidM = geoidHeightM(PLACE.latitude, PLACE.longitude);
  assert.equal(find(camera, "point")?.attributes.hae, (620 + geoidM).toFixed(1));
  assert.deepEqual(find(camera, "sensor")?.attributes, {
    ...{ azimuth: "200.0", elevation: "-45.0", roll: "1.0", fov: "61.4", vfov: "37.2", range: "141", north: "0" },
    ...{ version: "0.6", type: "r-e", model: "video" },
  });
  const { course, speed } = find(camera, "track")?.attributes ?? {};
  assert.ok(Math.abs(Number(course) - 90) < 0.2 && Math.abs(Number(speed) - 10) < 0.05, `${course} ${speed}`);
  assert.equal(find(camera, "contact")?.attributes.callsign, "FOX & 1");
  assert.equal(find(camera, "__video")?.attributes.url, videoUrl);
  const { address, port: videoPort, path, protocol } = find(camera, "ConnectionEntry")?.attributes ?? {};
  assert.deepEqual([protocol, address, videoPort, path], ["rtsp", "10.0.0.5", "8554", "/master/drone-1?x=1&y=2"]);
  const [interest] = ofType(events, "b-m-p-s-p-i");
  assert.equal(find(interest, "link")?.attributes.uid, camera?.attributes.uid);
  assert.deepEqual(find(interest, "point")?.attributes.lat, "48.1361000");
  const [object] = ofType(events, "a-u-G");
  assert.deepEqual(find(object, "ellipse")?.attributes, { major: "4.0", minor: "1.2", angle: "20.0" });
  assert.deepEqual(find(object, "track")?.attributes, { course: "90.0", speed: "3.00" });
});

test("reports why a TAK server is not reached, without revealing the key", async () => {
  const server = new StandIn(true);
  const url = `tls://127.0.0.1:${await server.start()}`;
  const none = { certificate: null, key: null };
  const cases: readonly (readonly [Partial<CotProperties>, RegExp])[] = [
    [none, /requires a client certificate/],
    [
      { certificate: pem("stranger.pem"), key: pem("stranger.key") },
      // Without an alert of TLS.
      /closed the connection|client certificate/,
    ],
    [{ serverName: null }, /for another name; set its name/],
    [{ authorities: pem("other-ca.pem") }, /is not trusted; set its authorities/],
  ];
  for (const [change, detail] of cases) {
    const { until, reports, handler } = open({ url, ...SECURE(), ...change });
    await until("retrying", detail);
    if (change.certificate == null) assert.ok(!reports.some(({ status }) => status === "live"), `${detail}`);
    assert.doesNotMatch(JSON.stringify(reports), /PRIVATE/);
    await handler.close();
  }
  const plain = new StandIn(false);
  const { until } = open({ url: `tls://127.0.0.1:${await plain.start()}`, ...SECURE() });
  await until("retrying", /does not use TLS|closed the connection|not/);
});

test("over TCP, a server that restarts receives events again", async () => {
  const first = new StandIn(false);
  const port = await first.start();
  const { handler, until } = open({ url: `tcp://127.0.0.1:${port}`, camera: false });
  show(handler, 0);
  await first.until(1);
  first.stop();
  await until("retrying");
  const second = new StandIn(false);
  await second.start(port);
  show(handler, 5);
  await second.until(1);
  for (const event of parseEvents([...first.texts, ...second.texts])) checkEvent(event);
  assert.equal(ofType(parseEvents(second.texts), "a-f-A-M-H-Q").length, 0);
});

test("the camera has no point of interest while it looks at the sky, and no events without a position", async () => {
  const server = new StandIn(false);
  const { handler } = open({ url: `tcp://127.0.0.1:${await server.start()}` });
  const { centre: _, ...sky } = PLACES;
  show(handler, 0, sky);
  handler.process({ captureNs: BigInt(START_MS + 5000) * 1_000_000n, meta: { tracks: tracks([]) } });
  await handler.close();
  await server.until(3);
  const events = parseEvents(server.texts);
  for (const event of events) checkEvent(event);
  assert.deepEqual([ofType(events, "a-f-A-M-H-Q").length, ofType(events, "b-m-p-s-p-i").length], [1, 0]);
  assert.equal(find(ofType(events, "a-f-A-M-H-Q")[0], "sensor")?.attributes.range, "1000");
});

test("the course of the camera is known after a second, and kept while it stands", () => {
  const course = new CameraCourse();
  const at = (ms: number, northM: number) =>
    course.add(ms, { latitude: northM / 111_195, longitude: 179.99999, altitude: 0, relAltitude: 0 });
  assert.equal(at(0, 0), null);
  assert.equal(at(500, 2), null);
  assert.ok(Math.abs((at(1000, 4)?.speedMps ?? 0) - 4) < 0.01);
  assert.deepEqual([at(2500, 4)?.course, at(4000, 4)?.speedMps], [0, 0]);
  assert.equal(at(60_000, 4), null);
});
