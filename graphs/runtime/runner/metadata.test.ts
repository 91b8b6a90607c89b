/** Metadata of a live stream (KLV over RTSP) is the telemetry of its frames. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeFilm } from "../../../native/film.fixture.ts";
import type { FrameTelemetry } from "../../../schemas/telemetry.ts";
import { writePacket } from "../../../telemetry/misb-0601.ts";
import { temporaryFolder } from "../../../test/graph.fixture.ts";
import { ForkedRunner } from "./runner.fixture.ts";

const CAMERA = fileURLToPath(new URL("../../../build/camera", import.meta.url));
const FPS = 30;
/** Twenty seconds. */
const UNITS = 600;
const GRAPH = `
graph: joined
about: Telemetry of every frame.
chains:
  main:
    - source
    - decode
    - telemetry
    - print: { keys: [telemetry] }
`;

/** The camera turns by a degree per frame. Units of 1200 bytes take two packets. */
function writeUnits(folder: string): string {
  for (let index = 0; index < UNITS; index++)
    writeFileSync(
      join(folder, `unit-${String(index).padStart(5, "0")}.klv`),
      writePacket(
        {
          ...{ timeStamp: BigInt(index) * 66_667n, platformHeading: 0, platformPitchFull: 0, platformRollFull: 0 },
          ...{ sensorLatitude: 41.4, sensorLongitude: 2.17, sensorAltitude: 180, frameElevation: 120 },
          ...{ sensorHfov: 60, sensorVfov: 34, sensorAzimuth: index % 360, sensorElevation: -45 },
        },
        index % 3 === 0 ? { security: Buffer.alloc(1600, 1) } : {},
      ),
    );
  return join(folder, "unit-%05d.klv");
}

test("KLV of an RTSP camera is joined to the frames that it was sent with", async (t) => {
  const folder = temporaryFolder();
  // A file: its frames have exactly the times of the units, while those of a live picture begin a moment later.
  await makeFilm(join(folder, "film.mp4"), UNITS, false);
  const args = ["--file", join(folder, "film.mp4"), "--fps", String(FPS), "--klv", writeUnits(folder)];
  const camera = spawn(CAMERA, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => camera.kill("SIGKILL"));
  const [line] = (await once(camera.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  const runner = new ForkedRunner();
  await runner.start({ sourceUri: url, graph: "joined", graphText: GRAPH, sourceMetadata: true });
  const frames = (): readonly FrameTelemetry[] =>
    runner.messages.flatMap(
      ({ message }) => (JSON.parse(String(message.line)) as { telemetry?: FrameTelemetry }).telemetry ?? [],
    );
  // A frame has the time of its unit, however late either arrives, once the camera has reported its clock. The yaw of
  // consecutive frames differs by a degree per frame.
  const isJoined = (joined: readonly FrameTelemetry[]): boolean => {
    const ages = joined.map(({ ageMs }) => ageMs).sort((a, b) => a - b);
    const yaws = joined.map(({ attitude }) => attitude?.yaw ?? Number.NaN);
    const turns = yaws.slice(1).map((yaw, index) => ((yaw - (yaws[index] ?? 0) + 540) % 360) - 180);
    return joined.length === 30 && (ages[15] ?? Number.NaN) < 5 && turns.every((turn) => turn > 0 && turn < 10);
  };
  await runner.watch.until("30 frames in a row have the telemetry of their time", () => isJoined(frames().slice(-30)));
  const joined = frames().slice(-30);
  assert.ok(joined.every(({ position, hfov }) => position?.latitude !== undefined && Math.abs(hfov - 60) < 0.01));
  const events = runner.of("element").filter(({ event }) => event.type === "telemetry");
  assert.ok(events.length > 10, "the server is not notified of telemetry");
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
});
