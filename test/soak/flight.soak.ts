/** A long flight through the running service, with interpolated telemetry and with the latest sample only. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { WebSocket } from "ws";
import { writeHgt } from "../../terrain/terrain.fixture.ts";
import { TestService } from "../api/service.fixture.ts";
import { errorsOf, type Finding, quantile, summarize } from "../flight/evaluate.ts";
import { writePlot } from "../flight/plot.ts";
import { FPS, LENS, type Shot, writeMp4 } from "../flight/render.ts";
import { ServiceFlight } from "../flight/service-flight.ts";
import { USUAL } from "../flight/telemetry.ts";
import { FLIGHT, ORIGIN } from "../flight/world.ts";
import { temporaryFolder } from "../graph.fixture.ts";

const SHOT: Shot = { flight: FLIGHT, lens: LENS, fps: FPS };
/** Most of the flight, without its end. */
const SPAN = FLIGHT.seconds * 0.75;
const MIN_POSITIONS = 100;
const PLOTS = join(tmpdir(), "windhover-flight");

test("on a long flight the median error is below 2 m, and several times larger without interpolation", async (t) => {
  const clip = join(temporaryFolder(), "flight.mp4");
  await writeMp4(clip, SHOT);
  const service = await TestService.start();
  t.after(() => service.close());
  const fly = async (how: "interpolate" | "latest"): Promise<readonly Finding[]> => {
    const flight = await ServiceFlight.takeOff(service, clip, SHOT, { type: "websocket" });
    await flight.set("telemetry", { join: how });
    const drone = new WebSocket(flight.started.telemetry_url);
    await once(drone, "open");
    const flown = flight.sendTelemetry((text) => drone.send(text));
    await flight.gather(MIN_POSITIONS, SPAN);
    await flight.land();
    await flown;
    t.diagnostic(`${how}: ${summarize(flight.evaluate())}`);
    return flight.evaluate();
  };
  const [joined, latest] = [await fly("interpolate"), await fly("latest")];
  mkdirSync(PLOTS, { recursive: true });
  const plot = join(PLOTS, "long-flight.svg");
  writePlot(plot, [
    { title: `Interpolated: ${summarize(joined)}`, findings: joined },
    { title: `Latest sample only: ${summarize(latest)}`, findings: latest },
  ]);
  t.diagnostic(`plot: ${plot}`);
  const [median, worse] = [quantile(errorsOf(joined), 0.5), quantile(errorsOf(latest), 0.5)];
  assert.ok(median < 2 && worse > 2.5 * median, `${median} m interpolated, ${worse} m with the latest sample`);
});

test("in the running service, landmarks remove a heading bias, with the ground from SRTM", async (t) => {
  const [clip, terrain] = [join(temporaryFolder(), "flight.mp4"), temporaryFolder()];
  const corner = [Math.floor(ORIGIN.latitude), Math.floor(ORIGIN.longitude)] as const;
  // Whole metres: the height of the ground is 12.5 m.
  writeHgt(terrain, corner, 1201, () => Math.round(ORIGIN.altitude));
  await writeMp4(clip, SHOT);
  const service = await TestService.start({ env: { WINDHOVER_TERRAIN_FOLDER: terrain } });
  t.after(() => service.close());
  const flight = await ServiceFlight.takeOff(service, clip, SHOT, { type: "websocket" });
  const drone = new WebSocket(flight.started.telemetry_url);
  await once(drone, "open");
  const flown = flight.sendTelemetry((text) => drone.send(text), { ...USUAL, headingBias: 5 });
  await flight.waitFor("positions", ({ telemetry }) => telemetry?.geolocation === "full");
  assert.equal((await flight.info()).telemetry?.detail, null);
  const began = flight.received;
  await flight.gather(30, FLIGHT.panSeconds, began);
  const changed = flight.received;
  // Over a whole pan, to both sides: the clocks of camera and drone differ.
  const times = Array.from({ length: 12 }, (_, i) => 1 + ((i + 0.5) * FLIGHT.panSeconds) / 12);
  const landmarks = times.map((secondsAgo) => flight.landmark(secondsAgo));
  const { heading_offset_deg: offset, heading_error_deg: error } = await flight.calibrate(landmarks);
  await flight.catchUp();
  const corrected = flight.received;
  await flight.gather(30, 3, corrected);
  await flight.land();
  await flown;
  const [before, after] = [flight.evaluate(began, changed), flight.evaluate(corrected)];
  t.diagnostic(`biased: ${summarize(before)}`);
  t.diagnostic(`calibrated by ${offset} degrees, error ${error}: ${summarize(after)}`);
  assert.ok(Math.abs(offset + 5) <= 0.5, `${offset} degrees`);
  const [worse, median] = [quantile(errorsOf(before), 0.5), quantile(errorsOf(after), 0.5)];
  assert.ok(median < 3 && worse > 2 * median, `${worse} m before, ${median} m after`);
});
