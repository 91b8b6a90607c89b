/** A flight with KLV in its video goes into the running service: the camera is where it was when each frame was taken. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Value } from "typebox/value";
import { WebSocket } from "ws";
import type { Frame } from "../../elements/element.ts";
import geolocate from "../../elements/geolocate/geolocate.ts";
import { GeolocateHandler } from "../../elements/geolocate/handler.ts";
import type { GeolocateProperties } from "../../elements/geolocate/locate.ts";
import { addKlv } from "../../media/mpegts/add-klv.fixture.ts";
import { H264 } from "../../native/film.fixture.ts";
import { pictures, play } from "../../native/pipeline.fixture.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import type { DroneDataMessage } from "../../schemas/api/telemetry.ts";
import type { Places } from "../../schemas/places.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { writePacket } from "../../telemetry/misb-0601.ts";
import { geoidHeightM } from "../../terrain/geoid.ts";
import { uploadVideo } from "../api/service.fixture.ts";
import { shareService } from "../api/shared-service.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll, Watch } from "../watch.fixture.ts";
import { vfovOf } from "./camera.ts";
import { LENS } from "./render.ts";
import { describeTruth, isWhole, type TrueFrame } from "./truth.ts";
import { FLIGHT, ORIGIN, poseAt, toEnu, toPlace } from "./world.ts";

const SECONDS = 8;
const FPS = 30;
/** Metadata with every frame. */
const UNITS = Array.from({ length: SECONDS * FPS }, (_, index) => writeUnit(index / FPS));
const LEAST_MESSAGES = 25;
/** Required. */
const MOST_M = 0.1;

/** The same part of the flight there and back: no jump when it is repeated, which would be extrapolated. */
const SWUNG = Array.from({ length: SECONDS * FPS }, (_, index) => {
  const seconds = index / FPS;
  return writeUnit(seconds, 2 - 2 * Math.cos((2 * Math.PI * seconds) / SECONDS));
});

/** The platform flies level, to the east; the gimbal does the rest. */
function writeUnit(seconds: number, flownSeconds = seconds) {
  const pose = poseAt(FLIGHT, flownSeconds);
  const { latitude, longitude } = toPlace(pose.at);
  // Item 104 is above the ellipsoid, the elevation of the frame centre (item 25) above mean sea level.
  const height = ORIGIN.altitude + pose.at[2] + geoidHeightM(latitude, longitude);
  const data = writePacket({
    ...{ timeStamp: BigInt(Math.round(1.79e15 + seconds * 1e6)), platformDesignation: "simulated", version: 19 },
    ...{ platformHeading: 90, platformPitchFull: 0, platformRollFull: 0 },
    ...{ sensorLatitude: latitude, sensorLongitude: longitude, sensorHeightExtended: height },
    ...{ sensorHfov: LENS.hfov, sensorVfov: vfovOf(LENS) },
    ...{ sensorAzimuth: (pose.yaw + 270) % 360, sensorElevation: pose.pitch, sensorRoll: (pose.roll + 360) % 360 },
    slantRange: pose.at[2] / Math.sin((-pose.pitch * Math.PI) / 180),
    frameElevation: ORIGIN.altitude,
  });
  return { seconds, pose, data };
}

const folder = temporaryFolder();
const service = await shareService("klv");
let film: Buffer;

before(async () => {
  const file = join(folder, "film.ts");
  await play({ ...pictures(SECONDS * FPS), ...H264, muxer: ["mpegtsmux"], file: ["filesink", { location: file }] });
  film = await readFile(file);
});

/** Where the cars would be found with their true boxes and the received telemetry: distances to where they are. */
function findErrors(message: DroneDataMessage, frame: TrueFrame): readonly number[] {
  const handler = new GeolocateHandler(Value.Create(geolocate.properties) as GeolocateProperties, { emit: () => {} });
  const { latitude = 0, longitude = 0, altitude = 0, rel_altitude: relAltitude = 0 } = message;
  const { camera_yaw: yaw = 0, camera_pitch: pitch = 0, camera_roll: roll = 0 } = message;
  const telemetry: FrameTelemetry = {
    ...{ method: "between", ageMs: 0, offsetMs: 0, hfov: message.sensor_hfov ?? 1, vfov: message.sensor_vfov ?? 1 },
    ...{ position: { latitude, longitude, altitude, relAltitude }, attitude: { yaw, pitch, roll } },
    doubt: { angle: 0, position: 0, height: 0 },
  };
  const targets = frame.targets.filter(({ box }) => isWhole(box, LENS));
  const objects = targets.map(({ box: [left, top, width, height] }) => ({
    ...{ classId: 2, className: "car", confidence: 1 },
    box: [left / LENS.width, top / LENS.height, width / LENS.width, height / LENS.height],
  }));
  const written: Places[] = [];
  handler.process({
    captureNs: 1n,
    meta: { telemetry, detections: { inferred: true, model: "true", confidence: 0.5, weak: [], objects } },
    write: (part: object) => written.push((part as { places: Places }).places),
  } as unknown as Frame);
  return targets.flatMap((target, index) => {
    const spot = written[0]?.objects[index]?.spot;
    if (!spot) return [Number.POSITIVE_INFINITY];
    const [found, real] = [toEnu(spot), toEnu(target)];
    return [Math.hypot(found[0] - real[0], found[1] - real[1])];
  });
}

async function readMessages({ detection_data_url }: StartedProcess): Promise<readonly DroneDataMessage[]> {
  const socket = new WebSocket(detection_data_url.replace("/detection_data", "/drone_data"));
  const messages: DroneDataMessage[] = [];
  const watch = new Watch();
  socket.on("message", (data) => {
    messages.push(JSON.parse(String(data)));
    watch.check();
  });
  await once(socket, "open");
  await watch.until("telemetry of the camera", () => messages.length >= LEAST_MESSAGES, 60_000);
  return messages;
}

test("KLV of a stream that is published by SRT is the telemetry of its processes", async () => {
  const { srt = "" } = await service.serving.event("ready");
  const file = join(folder, "published.ts");
  await writeFile(file, addKlv(film, SWUNG, "synchronous"));
  const source = await service.expect<SourceRecord>(201, "POST", "/stream", {
    json: {
      ...{ alias: "drone", stream_type: "srt", input_url: `${srt}/klv/drone` },
      telemetry_cfg: { type: "embedded" },
    },
  });
  // Again and again, until the test ends: the process is started while it is live.
  const publisher = spawn(
    "gst-launch-1.0",
    [
      ...["-q", "multifilesrc", `location=${file}`, "loop=true", "!", "tsparse", "set-timestamps=true", "alignment=7"],
      ...["!", "srtsink", `uri=${srt}`, `streamid=#!::r=klv/drone,u=${service.key},m=publish`],
    ],
    { stdio: "ignore" },
  );
  after(() => publisher.kill("SIGKILL"));
  await poll("the source is streaming", async () => {
    const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`);
    return status === "streaming";
  });
  const json = { params: { every: 1000 } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json });
  const messages = await readMessages(started);
  await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
  // On the flight: where the camera was, and looked, at one of its times.
  const flown = SWUNG.map(({ pose }) => ({ ...toPlace(pose.at), yaw: pose.yaw }));
  for (const { latitude = 0, longitude = 0, camera_yaw = 0 } of messages) {
    const apart = flown.map((pose) => {
      const [east, north] = toEnu({ latitude, longitude });
      const [poseEast, poseNorth] = toEnu(pose);
      const turn = Math.abs(((camera_yaw - pose.yaw + 540) % 360) - 180);
      return Math.max(Math.hypot(east - poseEast, north - poseNorth), turn);
    });
    assert.ok(Math.min(...apart) < 1, `${latitude}, ${longitude} at ${camera_yaw}° is not on the flight`);
  }
});

for (const kind of ["synchronous", "asynchronous"] as const)
  test(`places are within 0.1 m of the truth with ${kind} KLV of an uploaded .ts`, async (t) => {
    const file = join(folder, `${kind}.ts`);
    await writeFile(file, addKlv(film, UNITS, kind));
    const source = await uploadVideo(service, file);
    const kept = await fetch(`${service.url}/source/${source.uuid}/file?api_key=${service.key}`);
    assert.equal(kept.headers.get("content-type"), "video/mp2t");
    assert.ok(Buffer.from(await kept.arrayBuffer()).equals(await readFile(file)), "the file has its metadata");
    const params = { every: 1000 };
    const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, {
      json: { params },
    });
    const messages = await readMessages(started);
    const record = await service.expect<ProcessRecord>(200, "GET", `/process/${started.process_uuid}`);
    await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
    assert.deepEqual([record.telemetry?.state, record.telemetry?.detail], ["receiving", null]);
    const startMs = Date.parse(record.started_at ?? "");
    const truth = describeTruth({ ...FLIGHT, seconds: SECONDS }, LENS, FPS);
    const errors = messages.flatMap((message) => {
      const seconds = message.timestamp - startMs / 1000;
      const frame = truth.frames[Math.round(seconds * FPS)] ?? assert.fail(`no frame at ${seconds} s`);
      // Frames are at their times: a frame that is elsewhere would be compared with another truth.
      assert.ok(Math.abs(frame.seconds - seconds) < 0.002, `${frame.seconds} s is not ${seconds} s`);
      return findErrors(message, frame);
    });
    const worst = Math.max(...errors);
    t.diagnostic(`${errors.length} places of ${messages.length} frames, worst error ${worst.toFixed(4)} m`);
    assert.ok(errors.length > 50, `only ${errors.length} places`);
    assert.ok(worst < MOST_M, `${worst} m`);
  });
