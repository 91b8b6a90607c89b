/**
 * Cameras that the service pulls: recorded on request, and kept for evidence, by the clock of their detections. A mark in every
 * frame shows which one it is. The camera, the runner and the hub are killed.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import jpeg from "jpeg-js";
import { findDescendants } from "../../cli/serve/serving.fixture.ts";
import type { RecordingSetting } from "../../schemas/api/recording-setting.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { type Camera, startCamera } from "../camera.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { keepFileSync } from "../kept-files.fixture.ts";
import { findFreePort } from "../ports.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { MASTER_KEY, TestService, uploadVideo, withoutRecordings } from "./service.fixture.ts";

const skip = await withoutModel("default");

const FPS = 10;
const MARK = 8;
const MARKS = 48;

/** A white square that moves by its width with every frame, for minutes. */
function makeMarked(): string {
  const filter = [
    `color=black:size=${MARK * MARKS}x64:rate=${FPS}:duration=300[video]`,
    `color=white:size=${MARK}x${MARK}:rate=${FPS}[mark]`,
    `[video][mark]overlay=x='mod(n\\,${MARKS})*${MARK}':y=0:shortest=1`,
  ].join(";");
  const encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", String(FPS), "-bf", "2"];
  const words = ["-v", "error", "-y", "-filter_complex", filter, ...encode];
  return keepFileSync([...words, "mp4"], (path) => execFileSync("ffmpeg", [...words, path]));
}

/** Which of the places has the mark. */
function readMark(picture: Buffer): number {
  const { width, data } = jpeg.decode(picture, { useTArray: true });
  assert.equal(width, MARK * MARKS);
  // Green, in the middle of each place.
  const lights = Array.from(
    { length: MARKS },
    (_, place) => data[((MARK / 2) * width + (place + 0.5) * MARK) * 4 + 1] ?? 0,
  );
  const brightest = Math.max(...lights);
  assert.ok(brightest > 120, `there is no mark in ${lights.join(" ")}`);
  return lights.indexOf(brightest);
}

let service: TestService;
let marked: string;
let port: number;
let camera: Camera;
let source: SourceRecord;
let processUuid: string;

const startMarked = (): Promise<Camera> => startCamera({ file: marked, port });

before(async () => {
  if (skip) return;
  marked = makeMarked();
  port = await findFreePort();
  camera = await startMarked();
  service = await TestService.start({ env: { WINDHOVER_RECORDINGS_RESERVE_BYTES: "0" } });
  await withoutRecordings(service);
});
after(async () => {
  await camera?.kill();
  await service?.close();
});

const register = (url: string, more: object = {}): Promise<SourceRecord> =>
  service.expect(201, "POST", "/stream", { json: { alias: "gate", input_url: url, stream_type: "rtsp", ...more } });
const start = async (uuid: string): Promise<string> => {
  const json = { params: { every: 1000 } };
  const started = await service.expect<{ process_uuid: string }>(201, "POST", `/start?source_uuid=${uuid}`, { json });
  return started.process_uuid;
};
const addAlert = (process: string): Promise<{ uuid: string }> =>
  service.expect(201, "POST", `/alert/${process}`, {
    json: {
      ...{ alias: "anyone", type: "filter-search", filter: { class_names: ["person"] } },
      evidence: { clip: { before_seconds: 5, after_seconds: 1 }, snapshot: false },
    },
  });
const setMode = (json: object): Promise<RecordingSetting> =>
  service.expect(200, "PATCH", `/source/${source.uuid}/recording`, { json });
const readSetting = (): Promise<RecordingSetting> => service.expect(200, "GET", `/source/${source.uuid}/recording`, {});
interface Recording {
  readonly uuid: string;
  readonly stopped_at: string | null;
  readonly started_at: string;
  readonly duration_seconds: number;
}
const listRecordings = async (): Promise<readonly Recording[]> =>
  (await service.expect<{ recordings: Recording[] }>(200, "GET", `/sources/recordings?source_uuid=${source.uuid}`))
    .recordings;

interface ClipAnswer {
  readonly status: number;
  readonly gaps: readonly string[];
}
async function readClip(fromMs: number, toMs: number): Promise<ClipAnswer> {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  const url = `${service.url}/source/${source.uuid}/clip?from=${from}&to=${to}`;
  const response = await fetch(url, { headers: { api_key: MASTER_KEY } });
  await response.arrayBuffer();
  return { status: response.status, gaps: (response.headers.get("windhover-gaps") ?? "").split(", ").filter(Boolean) };
}

const rangeOf = (gap: string): readonly number[] => gap.split("/").map((text) => Date.parse(text));

async function readLive(): Promise<{ readonly timeMs: number; readonly mark: number }> {
  const { timeMs, picture } = await readLivePicture();
  return { timeMs, mark: readMark(picture) };
}

/** A frame as the live view has it, with its capture time. */
async function readLivePicture(): Promise<{ readonly timeMs: number; readonly picture: Buffer }> {
  const url = `${service.url}/process/${processUuid}/feed?overlay=none`;
  const response = await fetch(url, { headers: { api_key: MASTER_KEY } });
  assert.equal(response.status, 200);
  let bytes = Buffer.alloc(0);
  for await (const piece of response.body ?? []) {
    bytes = Buffer.concat([bytes, piece]);
    const head = bytes.indexOf("\r\n\r\n");
    const text = bytes.toString("latin1", 0, Math.max(0, head));
    const length = Number(/Content-Length: (\d+)/.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
    if (head === -1 || bytes.length < head + 4 + length) continue;
    const picture = bytes.subarray(head + 4, head + 4 + length);
    return { timeMs: Date.parse(/X-Timestamp: (\S+)/.exec(text)?.[1] ?? ""), picture };
  }
  return assert.fail("the feed has ended");
}

/** The frame on display at this time, as it was recorded. */
async function readRecorded(timeMs: number): Promise<number> {
  const at = new Date(timeMs).toISOString();
  const picture = await poll("it is recorded", async () => {
    const url = `${service.url}/source/${source.uuid}/thumbnail?at=${at}&width=${MARK * MARKS}`;
    const response = await fetch(url, { headers: { api_key: MASTER_KEY } });
    const body = Buffer.from(await response.arrayBuffer());
    return response.status === 200 && body;
  });
  return readMark(picture);
}

/**
 * The live view and the recording show the same frame at the same time. At first, capture times are those of arrival, which
 * approach those that the camera reports; the recording follows with its next file.
 */
async function expectOneClock(): Promise<void> {
  await poll("the recording shows the frame of the live view", async () => {
    const { timeMs, mark } = await readLive();
    // The file that is being written has it.
    await poll("a second later is recorded", async () => {
      const { status, gaps } = await readClip(timeMs - 500, timeMs + 1000);
      return status === 200 && gaps.length === 0;
    });
    return (await readRecorded(timeMs + 500 / FPS)) === mark;
  });
}

/** What the database knows of a file that grows lags behind. */
const LAG_MS = 6_000;
/** Long enough that a gap differs from the usual interval of frames. */
const WHOLE_MS = 2_000;
/** Video that is missing at the edges of a clip is not a gap up to this length. */
const EDGE_MS = 250;
/** Resolves with a time after `sinceMs` from which on two seconds of video are there, without a gap. */
const untilRecorded = (sinceMs: number): Promise<number> =>
  poll("video of two seconds", async () => {
    const fromMs = Date.now() - LAG_MS;
    if (fromMs < sinceMs) return false;
    const { status, gaps } = await readClip(fromMs, fromMs + WHOLE_MS);
    return status === 200 && gaps.length === 0 && fromMs;
  });

function kill(program: "hub" | "runner"): void {
  const pids = findDescendants(service.serving.pid, new RegExp(`${program}\\.mjs`));
  assert.notEqual(pids.length, 0, `no ${program}`);
  for (const pid of pids) process.kill(pid, "SIGKILL");
}

test("a camera is recorded on request, by the clock of its detections, over one connection", { skip }, async () => {
  source = await register(camera.url);
  processUuid = await start(source.uuid);
  const setting = await readSetting();
  assert.deepEqual([setting.mode, setting.recording_uuid], ["off", null]);
  assert.deepEqual(await listRecordings(), []);
  assert.equal((await setMode({ mode: "always" })).mode, "always");
  await poll("it is recorded", async () => (await readSetting()).recording_uuid !== null);
  // A picture from before the recording would never be in it.
  await untilRecorded(Date.now());
  await expectOneClock();
  assert.equal((await setMode({ mode: "off" })).mode, "off");
  const [recording] = await poll("it has ended", async () => {
    const found = await listRecordings();
    return found.length === 1 && found[0]?.stopped_at !== null && found;
  });
  assert.ok((recording?.duration_seconds ?? 0) > 1);
  // The path of the service is nobody's to play or publish.
  const { username } = await service.expect<{ username: string }>(200, "GET", "/login");
  const [{ rtsp = "" }] = [await service.serving.event("ready")];
  const url = `${rtsp.replace("rtsp://", `rtsp://key:${MASTER_KEY}@`)}/${username}/~${source.uuid}`;
  assert.throws(
    () => execFileSync("ffprobe", ["-v", "error", "-rtsp_transport", "tcp", url], { stdio: "pipe" }),
    /404/,
  );
});

test("its last seconds are kept while an alert wants clips; a lost camera is a gap", { skip }, async () => {
  const { uuid } = await addAlert(processUuid);
  await untilRecorded(Date.now());
  await expectOneClock();
  const lostMs = Date.now();
  await camera.kill();
  await poll("it is lost for a while", async () => Date.now() > lostMs + 2000);
  camera = await startMarked();
  await untilRecorded(Date.now());
  await expectOneClock();
  const { status, gaps } = await readClip(lostMs - 1000, Date.now() - LAG_MS);
  assert.equal(status, 200);
  // A busy machine may have more of them, where it was too slow for the camera.
  const isLost = ([from = 0, to = 0]: readonly number[]) => from <= lostMs + 500 && to >= lostMs + 1500;
  assert.ok(gaps.map(rangeOf).some(isLost), gaps.join());
  await service.expect(200, "DELETE", `/alert/${uuid}`);
});

test("it is recorded again after the end of the runner and of the hub", { skip }, async () => {
  await setMode({ mode: "always" });
  for (const program of ["runner", "hub"] as const) {
    const beforeMs = await untilRecorded(Date.now());
    const killedMs = Date.now();
    kill(program);
    const backMs = await untilRecorded(killedMs);
    await expectOneClock();
    const { status, gaps } = await readClip(beforeMs, backMs + WHOLE_MS);
    assert.equal(status, 200);
    // What was recorded is kept; what was on its way may be lost.
    for (const [from = 0, to = 0] of gaps.map(rangeOf))
      assert.ok(
        from >= beforeMs + WHOLE_MS - EDGE_MS && to <= backMs + EDGE_MS,
        `${beforeMs} ${killedMs} ${backMs} ${gaps.join()}`,
      );
  }
});

test("of two processes one publishes it, and the other continues", { skip }, async () => {
  const second = await start(source.uuid);
  await untilRecorded(Date.now());
  await service.expect(200, "DELETE", `/process/${processUuid}`);
  processUuid = second;
  await untilRecorded(Date.now());
  await expectOneClock();
  await service.expect(200, "DELETE", `/process/${processUuid}`);
  await poll("its recording has ended", async () => (await readSetting()).recording_uuid === null);
});

test("a looped file is kept for evidence, too, and a file is not recorded", { skip }, async () => {
  const video = await uploadVideo(service, marked, { loop: true });
  source = video;
  processUuid = await start(video.uuid);
  await addAlert(processUuid);
  await poll("its last seconds are kept", async () => {
    const [from, to] = [Date.now() - 3000, Date.now() - 2000].map((ms) => new Date(ms).toISOString());
    const answer = await service.send("GET", `/source/${video.uuid}/clip?from=${from}&to=${to}`, {});
    return answer.status === 200;
  });
  await service.expect(200, "DELETE", `/process/${processUuid}`);
  await service.expect(409, "PATCH", `/source/${video.uuid}/recording`, { json: { mode: "always" } });
});

test("a camera with H.265 is recorded, too", { skip }, async (t) => {
  const modern = await startCamera({ codec: "h265", fps: 10 });
  t.after(() => modern.kill());
  source = await register(modern.url, { recording: "always" });
  processUuid = await start(source.uuid);
  await untilRecorded(Date.now());
  await service.expect(200, "DELETE", `/process/${processUuid}`);
});

test("a camera of another codec is analysed, and says why it is not recorded", { skip }, async (t) => {
  const old = await startCamera({ codec: "jpeg" });
  t.after(() => old.kill());
  source = await register(old.url, { recording: "always" });
  assert.equal((await readSetting()).mode, "always");
  processUuid = await start(source.uuid);
  const { detail } = await poll("there is a reason", async () => {
    const setting = await readSetting();
    return setting.detail !== undefined && setting;
  });
  assert.match(detail ?? "", /only H\.264 and H\.265 can: .*image\/jpeg/);
  const { state } = await service.expect<{ state: string }>(200, "GET", `/process/${processUuid}`);
  assert.equal(state, "running");
  const { timeMs } = await readLivePicture();
  await poll("frames flow on", async () => (await readLivePicture()).timeMs > timeMs);
  assert.deepEqual(await listRecordings(), []);
  await service.expect(200, "DELETE", `/process/${processUuid}`);
});
