/** Metadata of a live stream (KLV over RTSP and in MPEG-TS) is the telemetry of its frames. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freeUdpPort, isTaken } from "../../../hub/srt/srt.fixture.ts";
import { addKlv } from "../../../media/mpegts/add-klv.fixture.ts";
import { H264, makeFilm } from "../../../native/film.fixture.ts";
import { pictures, play } from "../../../native/pipeline.fixture.ts";
import type { FrameTelemetry } from "../../../schemas/telemetry.ts";
import { writePacket } from "../../../telemetry/misb-0601.ts";
import { temporaryFolder } from "../../../test/graph.fixture.ts";
import { poll } from "../../../test/watch.fixture.ts";
import { HostedRunner } from "./hosted-runner.fixture.ts";

const CAMERA = fileURLToPath(new URL("../../../build/camera", import.meta.url));
const FPS = 30;
/** Twenty seconds. */
const UNITS = 600;
/** Two minutes: on a busy machine it takes a while until the camera has reported its clock, and no frame is late. */
const CAMERA_UNITS = 3600;
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

/** The camera turns by a degree per frame. */
const writeUnit = (index: number): Buffer =>
  writePacket(
    {
      ...{ timeStamp: BigInt(index) * 66_667n, platformHeading: 0, platformPitchFull: 0, platformRollFull: 0 },
      ...{ sensorLatitude: 41.4, sensorLongitude: 2.17, sensorAltitude: 180, frameElevation: 120 },
      ...{ sensorHfov: 60, sensorVfov: 34, sensorAzimuth: index % 360, sensorElevation: -45 },
    },
    index % 3 === 0 ? { security: Buffer.alloc(1600, 1) } : {},
  );

/** Units of 1600 bytes take two packets. */
function writeUnits(folder: string): string {
  for (let index = 0; index < CAMERA_UNITS; index++)
    writeFileSync(join(folder, `unit-${String(index).padStart(5, "0")}.klv`), writeUnit(index));
  return join(folder, "unit-%05d.klv");
}

/**
 * Frames at the start may have other times: an RTSP camera reports its clock later, and `tsdemux` corrects its own after the
 * burst with which a sender begins.
 */
async function expectJoined(url: string): Promise<void> {
  const runner = new HostedRunner();
  await runner.start({ sourceUri: url, graph: "joined", graphText: GRAPH, sourceMetadata: true });
  const frames = (): readonly FrameTelemetry[] =>
    runner.messages.flatMap(
      ({ message }) => (JSON.parse(String(message.line)) as { telemetry?: FrameTelemetry }).telemetry ?? [],
    );
  // A frame has the time of its unit, however late either arrives, once the clock of the sender is known. The yaw of
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
  const count = () => runner.of("element").filter(({ event }) => event.type === "telemetry").length;
  await runner.watch.until("the server is notified of telemetry", () => count() > 10);
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
}

test("KLV of an RTSP camera is joined to the frames that it was sent with", async (t) => {
  const folder = temporaryFolder();
  // A file: its frames have exactly the times of the units, while those of a live picture begin a moment later.
  await makeFilm(join(folder, "film.mp4"), CAMERA_UNITS, false);
  const args = ["--file", join(folder, "film.mp4"), "--fps", String(FPS), "--klv", writeUnits(folder)];
  const camera = spawn(CAMERA, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => camera.kill("SIGKILL"));
  const [line] = (await once(camera.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  await expectJoined(url);
});

for (const kind of ["synchronous", "asynchronous"] as const)
  test(`${kind} KLV of an SRT stream is joined to the frames that it was sent with`, async (t) => {
    const folder = temporaryFolder();
    const [film, sent] = [join(folder, "film.ts"), join(folder, "sent.ts")];
    await play({ ...pictures(UNITS), ...H264, muxer: ["mpegtsmux"], file: ["filesink", { location: film }] });
    const units = Array.from({ length: UNITS }, (_, index) => ({ seconds: index / FPS, data: writeUnit(index) }));
    writeFileSync(sent, addKlv(readFileSync(film), units, kind));
    const port = await freeUdpPort();
    const sender = spawn(
      "gst-launch-1.0",
      [
        ...["-q", "filesrc", `location=${sent}`, "!", "tsparse", "set-timestamps=true", "alignment=7", "!"],
        ...["srtsink", `uri=srt://127.0.0.1:${port}?mode=listener`, "wait-for-connection=true"],
      ],
      { stdio: "ignore" },
    );
    t.after(() => sender.kill("SIGKILL"));
    await poll("a listening sender", () => isTaken(port));
    await expectJoined(`srt://127.0.0.1:${port}`);
  });
