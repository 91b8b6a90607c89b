/** End to end: a clip of a flight and its telemetry go into the running service, which geolocates the cars. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { shareService } from "../api/shared-service.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { errorsOf, type Finding, quantile, summarize, takeSpans } from "./evaluate.ts";
import { writePlot } from "./plot.ts";
import { keepMp4, SERVICE_SHOT } from "./render.ts";
import { ServiceFlight } from "./service-flight.ts";
import { FLIGHT } from "./world.ts";

/** Required median error. */
const MEDIAN_M = 2;
/** Minimum factor of the error without interpolation. */
const LEAST_RATIO = 2.5;
const MIN_POSITIONS = 30;
/** Half a period of the pan: every such span contains the same pan speeds. */
const SPAN = FLIGHT.panSeconds / 2;

/** Several positions in each of five frames a second: more would prove the same. */
const EVERY = 3;
const PLOTS = join(tmpdir(), "windhover-flight");

const noModel = await withoutModel("default");
const service = await shareService("flight", "--recording");

describe("a flight through the running service", { skip: noModel }, () => {
  let clip: string;
  before(async () => {
    mkdirSync(PLOTS, { recursive: true });
    clip = await keepMp4(SERVICE_SHOT);
  });

  /** Until frames have telemetry before and after them. Earlier frames, still in the pipeline, have none before. */
  const awaitTelemetry = async (flight: ServiceFlight, before = 0): Promise<number> => {
    await flight.waitFor("telemetry", ({ telemetry }) => (telemetry?.messages_received ?? 0) > before + 1);
    await flight.catchUp();
    return flight.received;
  };

  const medianOf = (findings: readonly Finding[]): number => {
    assert.ok(findings.length >= MIN_POSITIONS, `only ${findings.length} positions were received`);
    return quantile(errorsOf(findings), 0.5);
  };

  test("the median error is below 2 m, and several times larger without interpolation", async (t) => {
    const flight = await ServiceFlight.takeOff(service, clip, SERVICE_SHOT, { type: "websocket" }, EVERY);
    const drone = new WebSocket(flight.started.telemetry_url);
    const answers: string[] = [];
    drone.on("message", (data) => answers.push(String(data)));
    await once(drone, "open");
    const flown = flight.sendTelemetry((text) => drone.send(text));
    const began = await awaitTelemetry(flight);
    await flight.gather(MIN_POSITIONS, SPAN, began);
    await flight.waitFor("telemetry", ({ telemetry }) => telemetry?.geolocation === "full");
    const { telemetry } = await flight.info();
    const changedAt = flight.received;
    await flight.set("telemetry", { join: "latest" });
    await flight.catchUp();
    const latestFrom = flight.received;
    await flight.gather(MIN_POSITIONS, SPAN, latestFrom);
    await flight.land();
    await flown;
    assert.deepEqual(answers, []);
    assert.equal(telemetry?.state, "receiving");
    const joined = takeSpans(flight.evaluate(began, changedAt), SPAN);
    const latest = takeSpans(flight.evaluate(latestFrom), SPAN);
    const plot = join(PLOTS, "interpolated-and-latest.svg");
    writePlot(plot, [
      { title: `Interpolated: ${summarize(joined)}`, findings: joined },
      { title: `Latest sample only: ${summarize(latest)}`, findings: latest },
    ]);
    t.diagnostic(`interpolated: ${summarize(joined)}`);
    t.diagnostic(`latest: ${summarize(latest)}`);
    t.diagnostic(`time offset of samples: ${telemetry?.offset_ms} ms; plot: ${plot}`);
    assert.ok(medianOf(joined) < MEDIAN_M, `${medianOf(joined)} m`);
    // Not the medians: the error grows with the age of the sample, so half of the frames hardly suffer.
    const [worse, better] = [latest, joined].map((findings) => quantile(errorsOf(findings), 0.9)) as [number, number];
    assert.ok(worse > LEAST_RATIO * better, `nine of ten within ${worse} m against ${better} m`);
  });

  test("a broker that is killed and restarted during the flight only loses the positions in between", async (t) => {
    const broker = await openMosquitto();
    const topic = "drones/7/telemetry";
    const parameters = { ip: "127.0.0.1", port: broker.port, topic };
    const flight = await ServiceFlight.takeOff(service, clip, SERVICE_SHOT, { type: "mqtt", parameters }, EVERY);
    const drone = await broker.connect();
    // A drone does not queue messages while it is disconnected.
    const flown = flight.sendTelemetry((text) => {
      if (drone.connected) drone.publish(topic, text);
    });
    const began = await awaitTelemetry(flight);
    await flight.gather(MIN_POSITIONS, SPAN / 2, began);
    const killed = flight.received;
    await broker.kill();
    await flight.waitFor("an unreachable broker", ({ telemetry }) => telemetry?.state === "connecting");
    await broker.start();
    const before = (await flight.info()).telemetry?.messages_received ?? 0;
    const back = await awaitTelemetry(flight, before);
    await flight.gather(MIN_POSITIONS, SPAN / 2, back);
    const offsetMs = (await flight.info()).telemetry?.offset_ms;
    await flight.land();
    await flown;
    const [first, last] = [flight.evaluate(began, killed), flight.evaluate(back)];
    const plot = join(PLOTS, "broker-killed.svg");
    writePlot(plot, [
      { title: `Before the broker is killed: ${summarize(first)}`, findings: first },
      { title: `After its restart: ${summarize(last)}`, findings: last },
    ]);
    t.diagnostic(`before: ${summarize(first)}`);
    t.diagnostic(`after: ${summarize(last)}; time offset of samples ${offsetMs} ms; plot: ${plot}`);
    assert.ok(medianOf(first) < MEDIAN_M, `${medianOf(first)} m`);
    assert.ok(medianOf(last) < MEDIAN_M, `${medianOf(last)} m`);
  });
});
