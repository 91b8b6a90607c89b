/**
 * Evidence of alerts of real processes: of a recorded stream, a stream that is not recorded, a camera, and a file. A mark in every frame
 * shows that the clip has the frame of the notice at the second of the notice. Hub, runner and server are killed in between.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findDescendants } from "../../cli/serve/serving.fixture.ts";
import type { AlertRecord } from "../../schemas/api/alerts.ts";
import type { NoticeRecord } from "../../schemas/api/notices.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { type Camera, startCamera } from "../camera.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { findFreePort } from "../ports.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { progress, rounds } from "./rounds.fixture.ts";

const clip = testClip("vtest.avi");
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

const ROUNDS = rounds(1, 20);
const BEFORE_SECONDS = rounds(3, 10);
const AFTER_SECONDS = rounds(2, 5);
/** Of the clip, which is played again and again. */
const CLIP_SECONDS = rounds(14.4, 48);
/** Inference on every n-th frame. */
const EVERY = rounds(4, 2);
const VICTIMS = ["server", "hub", "runner", null] as const;
type Victim = (typeof VICTIMS)[number];

const folder = temporaryFolder();
const marked = join(folder, "marked.mp4");
const FPS = 10;
const MARK = 16;
const MARKS = 48;

/** A white square at the top that moves by its width with every frame. */
function makeMarked(): void {
  const filter = [
    `[0:v]fps=${FPS},scale=${MARK * MARKS}:-2,drawbox=x=0:y=0:w=iw:h=${MARK}:color=black:t=fill[video]`,
    `color=white:size=${MARK}x${MARK}:rate=${FPS}[mark]`,
    `[video][mark]overlay=x='mod(n\\,${MARKS})*${MARK}':y=0:shortest=1`,
  ].join(";");
  const encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", String(FPS), "-bf", "0"];
  const args = [
    "-v",
    "error",
    "-y",
    "-i",
    clip ?? "",
    "-t",
    String(CLIP_SECONDS),
    "-filter_complex",
    filter,
    ...encode,
    marked,
  ];
  execFileSync("ffmpeg", args);
}

/** Which of the places has the mark. */
function readMark(...input: readonly string[]): number {
  const args = ["-v", "error", ...input, "-frames:v", "1", "-vf", `crop=iw:${MARK}:0:0,scale=${MARKS}:1:flags=area`];
  const pixels = execFileSync("ffmpeg", [...args, "-f", "rawvideo", "-pix_fmt", "gray", "-"]);
  assert.equal(pixels.length, MARKS);
  const brightest = Math.max(...pixels);
  assert.ok(brightest > 150, `there is no mark in ${[...pixels].join(" ")}`);
  return pixels.indexOf(brightest);
}

let service: TestService;
let port: number;
let camera: Camera | null = null;
const publishers = new Set<ChildProcess>();
const isOver = new AbortController();

before(async () => {
  if (skip) return;
  makeMarked();
  port = await findFreePort();
  service = await TestService.start({
    env: { WINDHOVER_RTSP_PORT: String(port), WINDHOVER_RECORDINGS_RESERVE_BYTES: "0" },
  });
});
after(async () => {
  isOver.abort();
  for (const publisher of publishers) publisher.kill("SIGKILL");
  await camera?.kill();
  await service?.close();
});

/** Publishes it again and again, also after the end of the hub. */
async function keepPublishing(path: string): Promise<void> {
  while (!isOver.signal.aborted) {
    const url = `rtsp://key:${MASTER_KEY}@127.0.0.1:${port}/${path}`;
    const publisher = spawn(
      "ffmpeg",
      [
        "-v",
        "error",
        "-re",
        "-stream_loop",
        "-1",
        "-i",
        marked,
        "-c",
        "copy",
        "-f",
        "rtsp",
        "-rtsp_transport",
        "tcp",
        url,
      ],
      { stdio: "ignore" },
    );
    publishers.add(publisher);
    await new Promise((resolve) => publisher.once("exit", resolve));
    publishers.delete(publisher);
    await sleep(200);
  }
}

const username = async (): Promise<string> =>
  (await service.expect<{ username: string }>(200, "GET", "/login")).username;

async function addStream(name: string, mode: "always" | "off"): Promise<SourceRecord> {
  const path = `${await username()}/${name}`;
  const input_url = `rtsp://127.0.0.1:${port}/${path}`;
  const json = { alias: name, input_url, stream_type: "rtsp", recording: mode };
  const source = await service.expect<SourceRecord>(201, "POST", "/stream", { json });
  void keepPublishing(path);
  await poll("the stream is live", async () => {
    const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`);
    return status === "streaming";
  });
  return source;
}

/** A camera that the service pulls, and that is not recorded. */
async function addCamera(): Promise<SourceRecord> {
  const long = join(folder, "long.mp4");
  execFileSync("ffmpeg", ["-v", "error", "-y", "-stream_loop", "79", "-i", marked, "-c", "copy", long]);
  camera = await startCamera({ file: long });
  const json = { alias: "camera", input_url: camera.url, stream_type: "rtsp" };
  return service.expect<SourceRecord>(201, "POST", "/stream", { json });
}

const startOn = async (source: SourceRecord): Promise<string> =>
  (
    await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, {
      json: { params: { every: EVERY } },
    })
  ).process_uuid;

/** Notices when a person is at either side. */
function addAlert(process: string, boxes = false): Promise<AlertRecord> {
  const json = {
    ...{ alias: "anyone", type: "filter-search", filter: { class_names: ["person"] } },
    trigger: { for_seconds: 0.2, once_per_track: true },
    evidence: { clip: { before_seconds: BEFORE_SECONDS, after_seconds: AFTER_SECONDS, boxes }, snapshot: true },
  };
  return service.expect<AlertRecord>(201, "POST", `/alert/${process}`, { json });
}

/** Retries: the service may be gone for a moment. */
const listNotices = async (query: string): Promise<readonly NoticeRecord[]> => {
  const answer = await service.send("GET", `/notices?${query}`, {}).catch(() => null);
  return answer?.status === 200 ? (JSON.parse(answer.text) as { notices: NoticeRecord[] }).notices : [];
};

/** A new notice, early enough for a kill within its range. */
const nextNotice = (alert: AlertRecord, fromMs: number): Promise<NoticeRecord> =>
  poll(
    "a notice with enough video before it",
    async () => (await listNotices(`alert=${alert.uuid}&from=${new Date(fromMs).toISOString()}`)).at(-1) ?? null,
    { limitMs: 240_000 },
  );

const ended = (notice: NoticeRecord): Promise<NoticeRecord> =>
  poll(
    "its evidence is complete",
    async () => {
      const answer = await service.send("GET", `/notice/${notice.uuid}`, {}).catch(() => null);
      const found = answer?.status === 200 ? (JSON.parse(answer.text) as NoticeRecord) : null;
      return found !== null && found.evidence?.state !== "pending" && found;
    },
    { limitMs: 120_000 },
  );

async function download(url: string, name: string): Promise<string> {
  // The port of the service changes when it is started again.
  const { pathname, search } = new URL(url);
  const response = await fetch(`${service.url}${pathname}${search}`);
  assert.equal(response.status, 200, `${url}: ${response.status}`);
  const file = join(folder, name);
  writeFileSync(file, Buffer.from(await response.arrayBuffer()));
  return file;
}

/** The clip has the frame of the snapshot at the time of the notice. */
async function checkFrame({ timestamp, clip_url, snapshot_url, evidence }: NoticeRecord): Promise<void> {
  const picture = await download(snapshot_url ?? "", "snapshot.jpg");
  const video = await download(clip_url ?? "", "clip.mp4");
  const seconds = (Date.parse(timestamp) - Date.parse(evidence?.clip?.from ?? "")) / 1000;
  const at = Math.max(0, seconds - 0.5 / FPS).toFixed(3);
  assert.equal(readMark("-ss", at, "-i", video), readMark("-i", picture), `at ${at} s of the clip`);
}

function checkRange({ timestamp, evidence }: NoticeRecord): void {
  const atMs = Date.parse(timestamp);
  const [from, to] = [evidence?.clip?.from ?? "", evidence?.clip?.to ?? ""].map((text) => Date.parse(text));
  assert.ok(Math.abs((from ?? 0) - (atMs - BEFORE_SECONDS * 1000)) <= 200, `it starts ${atMs - (from ?? 0)} ms before`);
  assert.ok(Math.abs((to ?? 0) - (atMs + AFTER_SECONDS * 1000)) <= 200, `it ends ${(to ?? 0) - atMs} ms after`);
}

async function kill(victim: Victim): Promise<void> {
  if (victim === null) return;
  const { pid } = service.serving;
  const pids = victim === "server" ? [pid] : findDescendants(pid, new RegExp(`${victim}\\.mjs`));
  assert.notEqual(pids.length, 0, `no ${victim}`);
  for (const each of pids) process.kill(each, "SIGKILL");
  if (victim !== "server") return;
  await service.serving.ended;
  await service.startAgain();
}

// In short runs the others are left to server/evidence and test/api/cameras.test.ts.
const MODES = (["always", "off", "camera"] as const).slice(0, rounds(1, 3));
for (const mode of MODES)
  test(`evidence of a stream that is recorded ${mode}: the frame of the notice is at its second`, {
    ...{ skip, timeout: 3_000_000 },
  }, async () => {
    const source = mode === "camera" ? await addCamera() : await addStream(`yard-${mode}`, mode);
    const uuid = await startOn(source);
    const alert = await addAlert(uuid);
    let fromMs = Date.now() + (BEFORE_SECONDS + 1) * 1000;
    for (let round = 0; round < ROUNDS; round++) {
      const found = await ended(await nextNotice(alert, fromMs));
      assert.deepEqual([found.evidence?.state, found.evidence?.missing], ["ready", []]);
      checkRange(found);
      await checkFrame(found);
      fromMs = Date.now();
      progress(`evidence, recorded ${mode}`, round + 1, ROUNDS);
    }
    const kills = rounds(mode === "always" ? 0 : 1, 20);
    for (let round = 0; round < kills; round++) {
      const victim = VICTIMS[round % VICTIMS.length] ?? null;
      const notice = await nextNotice(alert, fromMs);
      await kill(victim);
      const found = await ended(notice);
      const { state, missing = [], clip: kept } = found.evidence ?? assert.fail();
      // Whatever was killed: what is not there is listed, and what is there is right.
      const isWhole = state === "ready" && missing.length === 0;
      const isListed = (state === "partial" || state === "failed") && missing.length > 0;
      assert.ok(isWhole || isListed, `${victim}: ${JSON.stringify(found.evidence)}`);
      // The runner of a camera has the only connection to it.
      const isUntouched = victim === null || (victim === "runner" && mode !== "camera");
      if (isUntouched) assert.equal(state, "ready", JSON.stringify(found.evidence));
      const atMs = Date.parse(found.timestamp);
      // Less than a quarter of a second at an end is not listed.
      const isIn = ({ from = "", to = "" }) => Date.parse(from) - 300 <= atMs && atMs < Date.parse(to);
      if (kept !== null && !missing.some(isIn) && atMs < Date.parse(kept.to) - 300) await checkFrame(found);
      fromMs = Date.now() + (BEFORE_SECONDS + 2) * 1000;
      progress(`evidence, recorded ${mode}, with kills`, round + 1, kills);
    }
    await service.call("DELETE", `/process/${uuid}`);
  });

test("evidence of a file, with boxes: the frame of the notice is at its second", {
  ...{ skip, timeout: 3_000_000 },
}, async () => {
  const source = await uploadVideo(service, marked);
  for (let checked = 0; checked < ROUNDS; ) {
    const uuid = await startOn(source);
    const alert = await addAlert(uuid, true);
    await nextNotice(alert, 0);
    const isPlayed = async () =>
      (await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`)).state === "finished";
    if (ROUNDS > 1) await poll("the file has been played", isPlayed, { limitMs: 240_000 });
    const notices = await listNotices(`alert=${alert.uuid}&limit=100`);
    for (const notice of notices.slice(0, ROUNDS - checked)) {
      const found = await ended(notice);
      assert.equal(found.evidence?.state, "ready", JSON.stringify(found.evidence));
      await checkFrame(found);
      checked += 1;
      progress("evidence of a file", checked, ROUNDS);
    }
    await service.call("DELETE", `/process/${uuid}`);
  }
});
