/** Links with real peers: a stream is published, processed, recorded and played, and frame counters are read back. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { freeUdpPort, isTaken } from "../../hub/srt/srt.fixture.ts";
import { readTs } from "../../media/mpegts/read-ts.fixture.ts";
import { makeFilm } from "../../native/film.fixture.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord, StreamStats } from "../../schemas/api/sources.ts";
import { findPackets, writePacket } from "../../telemetry/misb-0601.ts";
import { publishTimeCode, readTimeCode, type TimeCodePublisher } from "../../tools/bench/media/time-code.ts";
import { startCamera } from "../camera.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { Detections } from "./process-client.fixture.ts";
import { MASTER_KEY, TestService, withoutRecordings } from "./service.fixture.ts";

const run = promisify(execFile);
const [WIDTH, HEIGHT] = [320, 180];
const PASSPHRASE = "ten-or-more-letters";
const port = await freeUdpPort();
const service = await TestService.start({
  env: { WINDHOVER_MEDIA_SOURCE_PORTS: String(port), WINDHOVER_NETWORK_ALLOW: "127.0.0.0/8" },
});
await withoutRecordings(service);
const publishers: TimeCodePublisher[] = [];
after(async () => {
  for (const publisher of publishers) await publisher.stop();
  await service.close();
});
const { srt = "" } = await service.serving.event("ready");

const register = (json: object) => service.expect<SourceRecord>(201, "POST", "/stream", { json });
const publish = (url: string, codec: "h264" | "h265" = "h264") => {
  const publisher = publishTimeCode({ url, width: WIDTH, height: HEIGHT, framesPerSecond: 25, codec });
  publishers.push(publisher);
  return publisher;
};

/** Time codes of decoded frames: every one must be readable. */
async function readCodes(...input: readonly string[]): Promise<number[]> {
  const { stdout } = await run(
    "ffmpeg",
    [
      "-v",
      "error",
      "-nostdin",
      ...input,
      "-map",
      "0:v",
      "-fps_mode",
      "passthrough",
      "-f",
      "rawvideo",
      "-pix_fmt",
      "gray",
      "-",
    ],
    { encoding: "buffer", maxBuffer: 2 ** 28, timeout: 120_000 },
  );
  const bytes = WIDTH * HEIGHT;
  return Array.from({ length: Math.floor(stdout.length / bytes) }, (_, i) => {
    const data = stdout.subarray(i * bytes, (i + 1) * bytes);
    return readTimeCode({ data, width: WIDTH, height: HEIGHT, step: 1 }) ?? assert.fail(`frame ${i} is not readable`);
  });
}

function assertRising(codes: readonly number[], least: number): void {
  assert.ok(codes.length >= least, `${codes.length} frames`);
  for (let i = 1; i < codes.length; i++)
    assert.ok((codes[i] as number) >= (codes[i - 1] as number), `frame ${i}: ${codes}`);
}

/** Waits for its end, and reads it as MP4 and as MPEG-TS. Returns the codec. */
async function readRecording(sourceUuid: string): Promise<string> {
  const recording = await poll("the recording has ended", async () => {
    const path = `/sources/recordings?source_uuid=${sourceUuid}`;
    const { recordings } = await service.expect<{
      recordings: { stopped_at: string | null; segments: { download_url: string }[] }[];
    }>(200, "GET", path);
    const [first] = recordings;
    return first !== undefined && first.stopped_at !== null && first;
  });
  const { download_url } = recording.segments[0] ?? assert.fail();
  const [video, stream] = ["mp4", "ts"].map((format) => join(service.folder.path, `recording.${format}`));
  await writeFile(video ?? "", Buffer.from(await (await fetch(download_url)).arrayBuffer()));
  await writeFile(stream ?? "", Buffer.from(await (await fetch(`${download_url}&format=ts`)).arrayBuffer()));
  const codes = await readCodes("-i", video ?? "");
  assertRising(codes, 50);
  assert.deepEqual(await readCodes("-i", stream ?? ""), codes);
  const { stdout } = await run("ffprobe", [
    ...["-v", "error", "-select_streams", "v", "-show_entries", "stream=codec_name", "-of", "csv=p=0", stream ?? ""],
  ]);
  return stdout.split(/[,\s]/)[0] ?? "";
}

test("SRT: published, processed, recorded, played, and sent on by an output", { timeout: 300_000 }, async () => {
  const source = await register({ alias: "drone", stream_type: "srt", input_url: `${srt}/master/drone` });
  const id = `#!::r=master/drone,u=${MASTER_KEY}`;
  const publisher = publish(`${srt}?streamid=${id},m=publish`);
  await poll("the source is streaming", async () => {
    const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`);
    return status === "streaming";
  });
  const json = { params: { every: 1000, include_predicted: true } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json });
  const detections = await Detections.open(started.detection_data_url);
  await detections.next(3);

  assertRising(await readCodes("-i", `${srt}?streamid=${id}`, "-frames:v", "25"), 25);

  const stats = await poll("the link is measured", async () => {
    const found = await service.expect<StreamStats>(200, "GET", `/source/${source.uuid}/stream`);
    return found.link !== null && found.frames > 50 && found;
  });
  assert.deepEqual([stats.protocol, stats.width, stats.height], ["srt", WIDTH, HEIGHT]);
  assert.ok((stats.link?.round_trip_ms ?? 0) > 0 && (stats.link?.packets_received ?? 0) > 50, JSON.stringify(stats));
  assert.equal(stats.link?.packets_dropped, 0);
  const metrics = await service.send("GET", "/metrics", {});
  assert.match(metrics.text, /windhover_stream_round_trip_seconds\{path="master\/drone"\} 0\.\d+/);

  const [listener, file] = [await freeUdpPort(), join(service.folder.path, "out.ts")];
  const receiver = spawn(
    "srt-live-transmit",
    ["-q", `srt://:${listener}?mode=listener&passphrase=${PASSPHRASE}`, "file://con"],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const received: Buffer[] = [];
  receiver.stdout.on("data", (bytes: Buffer) => received.push(bytes));
  const url = `srt://127.0.0.1:${listener}?passphrase=${PASSPHRASE}&streamid=control`;
  const output = await service.expect<OutputRecord>(201, "POST", "/output", {
    json: { alias: "out", type: "srt", url },
  });
  assert.equal(output.url, `srt://127.0.0.1:${listener}?passphrase=***&streamid=***`);
  await service.expect(200, "POST", `/process/${started.process_uuid}/${output.uuid}`);
  await poll("the output sends", async () => {
    const { status, frames_sent } = await service.expect<OutputRecord>(200, "GET", `/output/${output.uuid}`);
    return status === "live" && frames_sent > 30;
  });
  await service.expect(200, "DELETE", `/process/${started.process_uuid}/${output.uuid}`);
  receiver.kill("SIGINT");
  await once(receiver, "close");
  await writeFile(file, Buffer.concat(received));
  const { stdout } = await run("ffprobe", [
    ...["-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames,codec_name"],
    ...["-of", "csv=p=0", file],
  ]);
  const [codec, frames] = stdout.trim().split(/[,\s]/);
  assert.equal(codec, "h264");
  assert.ok(Number(frames) >= 20, stdout);

  await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
  await publisher.stop("SIGINT");
  await readRecording(source.uuid);
  assert.ok(!service.serving.stderr.includes(MASTER_KEY) && !service.serving.stderr.includes(PASSPHRASE));
});

test("SRT: H.265 is published, processed, recorded and played", { timeout: 300_000 }, async () => {
  const source = await register({ alias: "h265", stream_type: "srt", input_url: `${srt}/master/h265` });
  const id = `#!::r=master/h265,u=${MASTER_KEY}`;
  const publisher = publish(`${srt}?streamid=${id},m=publish`, "h265");
  await poll("the source is streaming", async () => {
    const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`);
    return status === "streaming";
  });
  const json = { params: { every: 1000, include_predicted: true } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json });
  const detections = await Detections.open(started.detection_data_url);
  await detections.next(3);
  assertRising(await readCodes("-i", `${srt}?streamid=${id}`, "-frames:v", "25"), 25);
  await poll("more than two seconds are recorded", async () => {
    const { frames } = await service.expect<StreamStats>(200, "GET", `/source/${source.uuid}/stream`);
    return frames > 60;
  });
  await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
  await publisher.stop("SIGINT");
  assert.equal(await readRecording(source.uuid), "hevc");
});

const CAMERA = {
  ...{ latitude: 52.1, longitude: 5.1, altitude: 120, rel_altitude: 100, sensor_hfov: 60, sensor_vfov: 36 },
  ...{ camera_yaw: 30, camera_pitch: -45, camera_roll: 0 },
};

test("SRT: the link to a source that is pulled is measured, and the camera is sent on as KLV", {
  timeout: 300_000,
}, async () => {
  const listener = await freeUdpPort();
  const publisher = publish(`srt://127.0.0.1:${listener}?mode=listener`);
  await poll("the sender listens", () => isTaken(listener));
  const source = await register({
    ...{ alias: "ground", stream_type: "srt", input_url: `srt://127.0.0.1:${listener}?latency=150` },
    telemetry_cfg: { type: "static", parameters: CAMERA },
  });
  const json = { params: { every: 1000 } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json });
  const link = await poll("the link is measured", async () => {
    const { stats } = await service.expect<ProcessRecord>(200, "GET", `/process/${started.process_uuid}`);
    return stats.link !== null && stats.link.packets_received > 20 && stats.link;
  });
  assert.ok(link.round_trip_ms > 0 && link.packets_lost >= 0 && link.latency_ms >= 150, JSON.stringify(link));
  const metrics = await service.send("GET", "/metrics", {});
  assert.match(metrics.text, /windhover_process_link_packets_received_total\{process="[0-9a-f-]+"\} \d+/);
  assert.match(metrics.text, /windhover_process_link_round_trip_seconds\{process="[0-9a-f-]+"\} \d/);
  await expectMetadata(started.process_uuid);
  await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
  await publisher.stop();
});

/** An output of type `mpegts` sends the camera of the process to ffmpeg. */
async function expectMetadata(processUuid: string): Promise<void> {
  const [listener, file] = [await freeUdpPort(), join(service.folder.path, "out.klv")];
  const receiving = run("ffmpeg", [
    ...["-v", "error", "-nostdin", "-i", `srt://127.0.0.1:${listener}?mode=listener&passphrase=${PASSPHRASE}`],
    ...["-map", "0:d", "-c", "copy", "-t", "1", "-f", "data", file],
  ]);
  const url = `srt://127.0.0.1:${listener}?passphrase=${PASSPHRASE}`;
  const json = { alias: "klv", type: "mpegts", url };
  const output = await service.expect<OutputRecord>(201, "POST", "/output", { json });
  assert.equal(output.url, `srt://127.0.0.1:${listener}?passphrase=***`);
  await service.expect(200, "POST", `/process/${processUuid}/${output.uuid}`);
  await receiving;
  await service.expect(200, "DELETE", `/process/${processUuid}/${output.uuid}`);
  const packets = [...findPackets(await readFile(file))];
  assert.ok(packets.length > 10, `${packets.length} packets`);
  for (const { values, isIntact } of packets) {
    assert.equal(isIntact, true);
    assert.ok(Math.abs((values.sensorLatitude ?? 0) - CAMERA.latitude) < 1e-6, JSON.stringify(values.sensorLatitude));
  }
}

test("RTSP: the metadata of a camera that is pulled is in its recording, unit by unit", {
  timeout: 300_000,
}, async () => {
  const units = Array.from({ length: 2000 }, (_, index) =>
    writePacket({ timeStamp: BigInt(index), sensorLatitude: 41.4, sensorLongitude: 2.17, sensorAzimuth: index / 20 }),
  );
  for (const [index, unit] of units.entries())
    await writeFile(join(service.folder.path, `unit-${String(index).padStart(5, "0")}.klv`), unit);
  const film = join(service.folder.path, "film.mp4");
  // Frames of a file have exactly the times of the units, while those of a live picture begin a moment later.
  await makeFilm(film, units.length, false);
  const camera = await startCamera({ file: film, fps: 30, klv: join(service.folder.path, "unit-%05d.klv") });
  try {
    const telemetry_cfg = { type: "embedded", format: "misb_0601" };
    const { uuid } = await register({ alias: "mast", stream_type: "rtsp", input_url: camera.url, telemetry_cfg });
    const json = { params: { every: 1000 } };
    const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${uuid}`, { json });
    await service.expect(200, "PATCH", `/source/${uuid}/recording`, { json: { mode: "always" } });
    const list = async () =>
      (
        await service.expect<{
          recordings: { stopped_at: string | null; duration_seconds: number; segments: { download_url: string }[] }[];
        }>(200, "GET", `/sources/recordings?source_uuid=${uuid}`)
      ).recordings;
    await poll("four seconds are recorded", async () => ((await list())[0]?.duration_seconds ?? 0) > 4);
    await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
    const recording = await poll("the recording has ended", async () => {
      const [first] = await list();
      return first !== undefined && first.stopped_at !== null && first;
    });
    // Another file begins once the camera has reported its clock.
    const indices: number[] = [];
    let compared = 0;
    for (const { download_url } of recording.segments) {
      const response = await fetch(`${download_url}&format=ts`);
      const { units: found, pictures } = readTs(Buffer.from(await response.arrayBuffer()));
      // From then on, a frame has the time of its unit; those of the last units may not have been recorded.
      const endUs = Math.max(...pictures) + 5000;
      const paired = found.slice(Math.max(0, 90 - indices.length)).filter(({ ptsUs }) => (ptsUs ?? 0) < endUs);
      compared += paired.length;
      for (const { ptsUs } of paired) {
        const offUs = Math.min(...pictures.map((time) => Math.abs(time - (ptsUs ?? 0))));
        assert.ok(offUs < 5000, `${ptsUs} µs: ${pictures}`);
      }
      indices.push(...found.map(({ data }) => units.findIndex((unit) => unit.equals(data))));
    }
    const [first = -1] = indices;
    assert.ok(first >= 0 && indices.length > 110, indices.join());
    assert.ok(compared > 0, `the times of none of ${indices.length} units were compared`);
    assert.deepEqual(
      indices,
      [...indices.keys()].map((index) => first + index),
    );
  } finally {
    await camera.kill();
  }
});

test("sources listen only on allowed ports, and SRT listeners only with a passphrase", async () => {
  for (const [stream_type, input_url, expected] of [
    ["udp", "udp://0.0.0.0:9", /port 9, which sources may not use; expected one of/],
    ["srt", "srt://0.0.0.0:9?mode=listener", /port 9, which sources may not use/],
    ["srt", `srt://0.0.0.0:${port}?mode=listener`, /without a passphrase/],
    ["srt", "srt://192.168.1.1:9000?pkt_size=1316", /no setting .{2}pkt_size/],
    ["srt", "srt://192.168.1.1", /expected srt/],
    ["udp", "srt://192.168.1.1:9000", /udp:\/\//],
  ] as const) {
    const { status, text } = await service.call("POST", "/stream", { json: { alias: "x", stream_type, input_url } });
    assert.equal(status, 422, text);
    assert.match(text, expected);
  }
  const refused = await service.call<{ code: string }>("POST", "/stream", {
    json: { alias: "x", stream_type: "srt", input_url: "srt://169.254.169.254:9000" },
  });
  assert.deepEqual([refused.status, refused.body.code], [422, "address_refused"]);
});

test("UDP: a process runs on MPEG-TS that arrives at an allowed port", { timeout: 300_000 }, async () => {
  const source = await register({ alias: "multicast", stream_type: "udp", input_url: `udp://0.0.0.0:${port}` });
  publish(`udp://127.0.0.1:${port}?pkt_size=1316`);
  const json = { params: { every: 1000, include_predicted: true } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json });
  const detections = await Detections.open(started.detection_data_url);
  await detections.next(5);
  await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
});
