/** Output of processed video: played by ffmpeg, GStreamer and WebRTC, pushed to nginx, recorded. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { findDescendants } from "../../cli/serve/serving.fixture.ts";
import { TestViewer } from "../../hub/webrtc/test-viewer.fixture.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { repeatClip } from "../graph.fixture.ts";
import { playWithGst } from "../gst-player.fixture.ts";
import { nginxIsMissing, openNginx } from "../nginx-rtmp.fixture.ts";
import { findHubPorts } from "../ports.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { createKey, listOpenFiles, MASTER_KEY, TestService, uploadVideo } from "./service.fixture.ts";

const run = promisify(execFile);
const SIZE = [320, 180];
const FPS = 10;

/** Time limit without frames: shorter than the pause in the test. */
const FROZEN_SECONDS = 1;

const service = await TestService.start({
  env: {
    ...(await findHubPorts("WINDHOVER_")),
    WINDHOVER_RECORDINGS_RESERVE_BYTES: "0",
    WINDHOVER_MEDIA_FROZEN_SECONDS: String(FROZEN_SECONDS),
  },
});
after(() => service.close());
const part = join(service.folder.path, "part.mp4");
await run("ffmpeg", [
  ...["-v", "error", "-f", "lavfi", "-i", `testsrc=size=${SIZE.join("x")}:rate=${FPS}`],
  ...["-f", "lavfi", "-i", "sine=sample_rate=48000", "-t", "8", "-c:a", "aac"],
  ...["-c:v", "libx264", "-preset", "ultrafast", part],
]);
const clip = await repeatClip(part, 15);
/** Almost no inference. */
const startProcess = async (source: SourceRecord, key = MASTER_KEY): Promise<string> => {
  const json = { params: { every: 1000 } };
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json, key });
  return started.process_uuid;
};
const uuid = await startProcess(await uploadVideo(service, clip));
const info = () => service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
const read = (output: OutputRecord) => service.expect<OutputRecord>(200, "GET", `/output/${output.uuid}`);

async function attach(
  type: "rtsp" | "rtmp",
  url: string,
  settings: string | null = null,
  more: object = {},
): Promise<OutputRecord> {
  const json = { alias: "out", type, url, settings, ...more };
  const output = await service.expect<OutputRecord>(201, "POST", "/output", { json });
  const attached = await service.expect<OutputRecord>(200, "POST", `/process/${uuid}/${output.uuid}`);
  assert.ok(["starting", "live"].includes(attached.status), attached.status);
  return output;
}

const awaitStatus = (output: OutputRecord, status: OutputRecord["status"]) =>
  poll(`the output is ${status}`, async () => {
    const shown = await read(output);
    return shown.status === status && shown;
  });

const detach = (output: OutputRecord) => service.expect(200, "DELETE", `/process/${uuid}/${output.uuid}`);
const withKey = (output: OutputRecord) => `${output.play_url ?? assert.fail()}?api_key=${MASTER_KEY}`;

/** Plays a number of frames, writes one of them to a picture, and returns the number of decoded frames. */
async function playWithFfmpeg(url: string, frames: number, picture: string): Promise<number> {
  const { stderr } = await run("ffmpeg", [
    ...["-v", "error", "-stats", "-nostdin", "-y", "-rtsp_transport", "tcp", "-i", url],
    ...["-map", "0:v", "-frames:v", String(frames), "-f", "null", "-"],
    ...["-map", "0:v", "-frames:v", "1", picture],
  ]);
  return Number(/frame= *(\d+)[^\r\n]*\s*$/.exec(stderr.trim())?.[1]);
}

const findPids = (program: string): readonly number[] =>
  findDescendants(service.serving.pid, new RegExp(`${program}\\.mjs`));

test("ffmpeg and GStreamer play an rtsp output at its resolution, and it survives a killed hub", async () => {
  const output = await attach("rtsp", "rtsp://yard/processed", "1080p");
  const { frames_sent: before } = await awaitStatus(output, "live");
  const picture = join(service.folder.path, "frame.png");
  assert.equal(await playWithFfmpeg(withKey(output), 2 * FPS, picture), 2 * FPS);
  const { stdout } = await run("ffprobe", [
    ...["-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", picture],
  ]);
  assert.deepEqual(stdout.trim().split(",").map(Number), SIZE, "never enlarged");
  await playWithGst([
    ...["rtspsrc", `location=${withKey(output)}`, "protocols=tcp", "latency=0"],
    ..."! rtph264depay ! h264parse ! avdec_h264 ! identity eos-after=10 ! fakesink".split(" "),
  ]);
  await poll("frames are counted", async () => (await read(output)).frames_sent > before);
  const [runner = 0] = findPids("runner");
  const [hub = 0] = findPids("hub");
  process.kill(hub, "SIGKILL");
  await awaitStatus(output, "retrying");
  await awaitStatus(output, "live");
  assert.equal(await playWithFfmpeg(withKey(output), FPS, picture), FPS);
  const record = await info();
  assert.deepEqual([record.state, record.stats.restarts, record.outputs], ["running", 0, [output.uuid]]);
  assert.deepEqual(
    record.output_states.map(({ output_uuid, status, status_detail }) => [output_uuid, status, status_detail]),
    [[output.uuid, "live", null]],
  );
  assert.ok(findPids("runner").includes(runner), "its runner was restarted");
  for (const format of ["json", "dot", "mermaid", "launch"]) {
    const { text } = await service.call("GET", `/process/${uuid}/graph?format=${format}`);
    assert.doesNotMatch(text, /run_[\w-]{20}/);
    assert.ok(!text.includes(service.folder.path), format);
  }
  await detach(output);
  assert.equal((await read(output)).status, "idle");
});

test("an output has its own bit rate, and draws boxes unless they are turned off", async () => {
  const bytes: number[] = [];
  for (const [bitrate, boxes] of [
    [2000, true],
    [60, false],
  ] as const) {
    const output = await attach("rtsp", `rtsp://yard/${bitrate}`, null, { bitrate, boxes });
    assert.deepEqual([output.bitrate, output.boxes], [bitrate, boxes]);
    await awaitStatus(output, "live");
    const { text } = await service.call("GET", `/process/${uuid}/graph?format=launch`);
    assert.equal(/_overlay\b/.test(text), boxes, text);
    assert.match(text, new RegExp(`\\bbitrate=${bitrate}\\b`));
    const { stdout } = await run(
      "ffmpeg",
      ["-v", "error", "-nostdin", "-rtsp_transport", "tcp", "-i", withKey(output)].concat(
        "-map 0:v -c copy -frames:v 40 -f h264 -".split(" "),
      ),
      { encoding: "buffer", maxBuffer: 100e6 },
    );
    bytes.push(stdout.length);
    await detach(output);
  }
  const [many = 0, few = 0] = bytes;
  assert.ok(few > 0 && many > 2 * few, `${many} and ${few} bytes`);
});

test("an output has the sound of its source on request", async () => {
  const listCodecs = async (output: OutputRecord): Promise<readonly string[]> => {
    const entries = ["-show_entries", "stream=codec_name", "-of", "csv=p=0", "-rtsp_transport", "tcp", withKey(output)];
    const { stdout } = await run("ffprobe", ["-v", "error", ...entries]);
    return [...new Set(stdout.trim().split(/\s+/))].sort();
  };
  const output = await attach("rtsp", "rtsp://yard/sound", null, { audio: true });
  assert.equal(output.audio, true);
  const live = await awaitStatus(output, "live");
  assert.equal(live.status_detail, null);
  assert.deepEqual(await listCodecs(output), ["aac", "h264"]);
  await detach(output);
  await service.expect(200, "PATCH", `/output/${output.uuid}`, { json: { audio: false } });
  await service.expect(200, "POST", `/process/${uuid}/${output.uuid}`);
  await awaitStatus(output, "live");
  assert.deepEqual(await listCodecs(output), ["h264"]);
  await detach(output);
});

test("players of an rtsp output stay connected while its process is paused, and continue when it resumes", async () => {
  const output = await attach("rtsp", "rtsp://yard/paused");
  await awaitStatus(output, "live");
  const player = spawn(
    "ffmpeg",
    ["-v", "error", "-stats", "-nostdin", "-rtsp_transport", "tcp", "-i", withKey(output), "-f", "null", "-"],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let frames = 0;
  player.stderr.on("data", (text) => {
    frames = Number(/frame= *(\d+)/.exec(String(text))?.[1] ?? frames);
  });
  const viewer = await TestViewer.create();
  try {
    const { webrtc_url = "" } = await read(output);
    const answer = await fetch(webrtc_url, {
      ...{ method: "POST", body: viewer.offer, headers: { "content-type": "application/sdp" } },
    });
    assert.equal(answer.status, 201);
    await viewer.connect(await answer.text());
    await poll("both play", async () => frames > 0 && viewer.pictures.length > 0);
    await service.expect(200, "POST", `/process/${uuid}/pause`);
    await wait(FROZEN_SECONDS * 3000);
    const paused = await read(output);
    assert.deepEqual([paused.status, paused.status_detail], ["live", "the process is paused"]);
    const { stats, output_states } = await info();
    assert.deepEqual([stats.fps_in, stats.fps_out, output_states[0]?.status_detail], [0, 0, "the process is paused"]);
    assert.ok(stats.latency_ms.p50 > 0, "the last measurement is kept");
    const [framesBefore, picturesBefore] = [frames, viewer.pictures.length];
    await service.expect(200, "POST", `/process/${uuid}/resume`);
    await poll("both continue", async () => {
      assert.deepEqual([player.exitCode, viewer.isClosed], [null, false]);
      return frames > framesBefore + 5 && viewer.pictures.length > picturesBefore + 5;
    });
  } finally {
    player.kill("SIGKILL");
    viewer.close();
  }
  const other = { alias: "out", type: "rtsp", url: "rtsp://yard/paused", settings: "360p" };
  const twin = await service.expect<OutputRecord>(201, "POST", "/output", { json: other });
  const rejected = await service.expect<{ code: string }>(409, "POST", `/process/${uuid}/${twin.uuid}`);
  assert.equal(rejected.code, "path_in_use");
  await detach(output);
});

test("an rtmp output reconnects to a server that was restarted", { skip: nginxIsMissing }, async () => {
  const nginx = await openNginx();
  const output = await attach("rtmp", `rtmp://127.0.0.1:${nginx.port}/live/yard?token=sesame`, "360p");
  await awaitStatus(output, "live");
  await nginx.kill();
  const { status_detail } = await awaitStatus(output, "retrying");
  assert.ok((status_detail ?? "").length > 0);
  await nginx.start();
  await awaitStatus(output, "live");
  const { text } = await service.call("GET", `/process/${uuid}/graph`);
  assert.doesNotMatch(text + JSON.stringify(await read(output)), /sesame/);
  await detach(output);
});

test("a process of a key with recording is recorded, one file per run, only for its owner", async () => {
  assert.equal(
    (await service.call("GET", `/process/${uuid}/recording/0`)).status,
    404,
    "the first key has no recording",
  );
  await service.expect(200, "DELETE", `/process/${uuid}`);
  const key = await createKey(service, "recorder", "--recording");
  const recorded = await startProcess(await uploadVideo(service, clip, { key }), key);
  const path = (index: number) => `/process/${recorded}/recording/${index}`;
  const read = (index: number, range?: string) =>
    fetch(`${service.url}${path(index)}`, { headers: { api_key: key, ...(range !== undefined && { range }) } });
  await poll("a second is recorded", async () => (await (await read(0)).arrayBuffer()).byteLength > 30_000);
  for (const runner of findPids("runner")) process.kill(runner, "SIGKILL");
  await poll("the second run is recorded", async () => (await read(1)).status === 200);
  const response = await read(0);
  const first = Buffer.from(await response.arrayBuffer());
  const file = join(service.folder.path, "first.mp4");
  await writeFile(file, first);
  const { stdout } = await run("ffprobe", [
    ...["-v", "error", "-count_frames", "-select_streams", "v:0"],
    ...["-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", file],
  ]);
  assert.ok(Number(stdout) >= FPS / 2, `${stdout} frames`);
  const part = await read(0, "bytes=4-7");
  assert.deepEqual([part.status, await part.text()], [206, "ftyp"]);
  // The file exists before the runner reports it, and is empty at first.
  const shown = await poll("both runs are listed", async () => {
    const one = await service.expect<ProcessRecord>(200, "GET", `/process/${recorded}`, { key });
    return one.recording?.is_recording === true && one.recordings.length > 1 && one;
  });
  assert.deepEqual(
    shown.recordings.map(({ index }) => index),
    [0, 1],
  );
  const address = shown.recordings[0]?.download_url ?? "";
  assert.equal((await fetch(address)).status, 200, "without a key");
  assert.equal((await fetch(address.replace(/token=..../, "token=aaaa"))).status, 403);
  const stranger = await createKey(service, "eve", "--recording");
  assert.equal((await service.call("GET", path(0), { key: stranger })).status, 404);
  assert.equal((await read(99)).status, 404);
  const setting = `/process/${recorded}/recording`;
  const isRecorded = async () =>
    (await service.expect<ProcessRecord>(200, "GET", `/process/${recorded}`, { key })).recording?.is_recording;
  await service.expect(200, "PATCH", setting, { key, json: { mode: "off" } });
  await poll("it is not recorded any longer", async () => (await isRecorded()) === false);
  await service.expect(200, "PATCH", setting, { key, json: { mode: "always" } });
  await poll("it is recorded again", async () => (await isRecorded()) === true);
  await service.expect(404, "PATCH", setting, { key: stranger, json: { mode: "off" } });
  await service.expect(200, "DELETE", `/process/${recorded}`, { key });
  assert.equal((await read(1)).status, 200);
  const data = join(service.folder.path, "data");
  assert.ok((await readdir(data, { recursive: true })).some((name) => /^process-recordings\/.*\.mp4$/.test(name)));
  assert.deepEqual(await listOpenFiles(data), [], "recordings and uploads are private");
  assert.doesNotMatch(service.serving.stderr, /run_[\w-]{20}|sesame/);
});
