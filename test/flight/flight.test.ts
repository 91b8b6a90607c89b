/** End to end: a clip of a flight and its telemetry go into the running service, and the places that come out are true. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { TestService } from "../api/service.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { errorsOf, type Finding, quantile, sumUp, takeSpans } from "./judge.ts";
import { writePlot } from "./plot.ts";
import { ServiceFlight } from "./service-flight.ts";
import { FLIGHT } from "./trajectory.ts";
import { FPS, LENS, type Shot, writeMp4 } from "./write-clip.ts";

/** Metres. What was asked for. */
const MEDIAN_M = 2;
/** How much worse it is without interpolation: several times. */
const LEAST_RATIO = 2.5;
const LEAST_PLACES = 30;
/** Seconds of the flight: half a pan there and back. In any such span the camera turns equally fast and slow. */
const SPAN = FLIGHT.panSeconds / 2;

/** Longer than is needed but by slow machines: it is ended when enough has been told. */
const SHOT: Shot = { flight: { ...FLIGHT, seconds: 30 }, lens: { ...LENS, width: 640, height: 360 }, fps: FPS };
const PLOTS = join(tmpdir(), "windhover-flight");

const noModel = await withoutModel("default");

describe("a flight through the running service", { skip: noModel }, () => {
  const clip = join(temporaryFolder(), "flight.mp4");
  let service: TestService;
  before(async () => {
    mkdirSync(PLOTS, { recursive: true });
    await writeMp4(clip, SHOT);
    service = await TestService.start();
  });
  after(() => service?.close());

  /** Until frames have telemetry before and after them: those taken earlier, still in the pipeline, have none before. */
  const awaitTelemetry = async (flight: ServiceFlight, before = 0): Promise<number> => {
    await flight.waitFor("telemetry", ({ telemetry }) => (telemetry?.messages_received ?? 0) > before + 1);
    await flight.catchUp();
    return flight.heard;
  };

  const medianOf = (findings: readonly Finding[]): number => {
    assert.ok(findings.length >= LEAST_PLACES, `only ${findings.length} places were told`);
    return quantile(errorsOf(findings), 0.5);
  };

  test("places are true to less than 2 m in the median, and several times worse without interpolation", async (t) => {
    const flight = await ServiceFlight.takeOff(service, clip, SHOT, { type: "websocket" });
    const drone = new WebSocket(flight.started.telemetry_url);
    const answers: string[] = [];
    drone.on("message", (data) => answers.push(String(data)));
    await once(drone, "open");
    const flown = flight.sendTelemetry((text) => drone.send(text));
    const began = await awaitTelemetry(flight);
    await flight.gather(LEAST_PLACES, SPAN, began);
    await flight.waitFor("telemetry", ({ telemetry }) => telemetry?.geolocation === "full");
    const { telemetry } = await flight.info();
    const turn = flight.heard;
    await flight.set("telemetry", { join: "latest" });
    await flight.catchUp();
    const turned = flight.heard;
    await flight.gather(LEAST_PLACES, SPAN, turned);
    await flight.land();
    await flown;
    assert.deepEqual(answers, []);
    assert.equal(telemetry?.state, "receiving");
    const joined = takeSpans(flight.judge(began, turn), SPAN);
    const latest = takeSpans(flight.judge(turned), SPAN);
    const plot = join(PLOTS, "interpolated-and-latest.svg");
    writePlot(plot, [
      { title: `Interpolated: ${sumUp(joined)}`, findings: joined },
      { title: `Latest sample as it is: ${sumUp(latest)}`, findings: latest },
    ]);
    t.diagnostic(`interpolated: ${sumUp(joined)}`);
    t.diagnostic(`latest: ${sumUp(latest)}`);
    t.diagnostic(`offset by which samples were moved: ${telemetry?.offset_ms} ms; plot: ${plot}`);
    assert.ok(medianOf(joined) < MEDIAN_M, `${medianOf(joined)} m`);
    assert.ok(medianOf(latest) > LEAST_RATIO * medianOf(joined), `${medianOf(latest)} m against ${medianOf(joined)} m`);
  });

  test("a broker that is killed in mid-flight and comes back costs the places in between, and no more", async (t) => {
    const broker = await openMosquitto();
    const topic = "drones/7/telemetry";
    const parameters = { ip: "127.0.0.1", port: broker.port, topic };
    const flight = await ServiceFlight.takeOff(service, clip, SHOT, { type: "mqtt", parameters });
    const drone = await broker.connect();
    // A drone does not keep what it could not send.
    const flown = flight.sendTelemetry((text) => {
      if (drone.connected) drone.publish(topic, text);
    });
    const began = await awaitTelemetry(flight);
    await flight.gather(LEAST_PLACES, SPAN / 2, began);
    const killed = flight.heard;
    await broker.kill();
    await flight.waitFor("a broker that is away", ({ telemetry }) => telemetry?.state === "connecting");
    await broker.start();
    const before = (await flight.info()).telemetry?.messages_received ?? 0;
    const back = await awaitTelemetry(flight, before);
    await flight.gather(LEAST_PLACES, SPAN / 2, back);
    const offsetMs = (await flight.info()).telemetry?.offset_ms;
    await flight.land();
    await flown;
    const [first, last] = [flight.judge(began, killed), flight.judge(back)];
    const plot = join(PLOTS, "broker-killed.svg");
    writePlot(plot, [
      { title: `Until the broker is killed: ${sumUp(first)}`, findings: first },
      { title: `Since it is back: ${sumUp(last)}`, findings: last },
    ]);
    t.diagnostic(`before: ${sumUp(first)}`);
    t.diagnostic(`after: ${sumUp(last)}; samples moved by ${offsetMs} ms; plot: ${plot}`);
    assert.ok(medianOf(first) < MEDIAN_M, `${medianOf(first)} m`);
    assert.ok(medianOf(last) < MEDIAN_M, `${medianOf(last)} m`);
  });
});
