/**
 * Evidence of alerts of real processes: of a recorded stream, a stream that is not recorded, a camera, and a file. A mark in every frame
 * shows that the clip has the frame of the notice at the second of the notice. Hub, runner and server are killed in between.
 * `npm test`: test/api/evidence.test.ts, server/evidence/evidence.test.ts and test/api/cameras.test.ts.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findDescendants } from "../../cli/serve/serving.fixture.ts";
import type { NoticeRecord } from "../../schemas/api/notices.ts";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { Evidence, makeMarked } from "../api/evidence.fixture.ts";
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
const CLIP_SECONDS = 48;
/** Inference on every n-th frame. */
const EVERY = 2;
const VICTIMS = ["server", "hub", "runner", null] as const;
type Victim = (typeof VICTIMS)[number];

const folder = temporaryFolder();
let marked: string;
let service: TestService;
let evidence: Evidence;
let port: number;
let camera: Camera | null = null;
const publishers = new Set<ChildProcess>();
const isOver = new AbortController();

before(async () => {
  if (skip) return;
  marked = makeMarked(clip ?? "", CLIP_SECONDS);
  port = await findFreePort();
  service = await TestService.start({
    env: { WINDHOVER_RTSP_PORT: String(port), WINDHOVER_RECORDINGS_RESERVE_BYTES: "0" },
  });
  const setting = { beforeSeconds: BEFORE_SECONDS, afterSeconds: AFTER_SECONDS, every: EVERY };
  evidence = new Evidence(service, folder, setting);
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

for (const mode of ["always", "off", "camera"] as const)
  test(`evidence of a stream that is recorded ${mode}: the frame of the notice is at its second`, {
    ...{ skip, timeout: 3_000_000 },
  }, async () => {
    const source = mode === "camera" ? await addCamera() : await addStream(`yard-${mode}`, mode);
    const uuid = await evidence.startOn(source);
    const alert = await evidence.addAlert(uuid);
    let fromMs = Date.now() + (BEFORE_SECONDS + 1) * 1000;
    for (let round = 0; round < ROUNDS; round++) {
      const found = await evidence.ended(await evidence.next(alert, fromMs));
      assert.deepEqual([found.evidence?.state, found.evidence?.missing], ["ready", []]);
      checkRange(found);
      await evidence.checkFrame(found);
      fromMs = Date.now();
      progress(`evidence, recorded ${mode}`, round + 1, ROUNDS);
    }
    const kills = rounds(mode === "always" ? 0 : 1, 20);
    for (let round = 0; round < kills; round++) {
      const victim = VICTIMS[round % VICTIMS.length] ?? null;
      const notice = await evidence.next(alert, fromMs);
      await kill(victim);
      const found = await evidence.ended(notice);
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
      if (kept !== null && !missing.some(isIn) && atMs < Date.parse(kept.to) - 300) await evidence.checkFrame(found);
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
    const uuid = await evidence.startOn(source);
    const alert = await evidence.addAlert(uuid, true);
    await evidence.next(alert, 0);
    const isPlayed = async () =>
      (await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`)).state === "finished";
    if (ROUNDS > 1) await poll("the file has been played", isPlayed, { limitMs: 240_000 });
    const notices = await evidence.list(`alert=${alert.uuid}&limit=100`);
    for (const notice of notices.slice(0, ROUNDS - checked)) {
      const found = await evidence.ended(notice);
      assert.equal(found.evidence?.state, "ready", JSON.stringify(found.evidence));
      await evidence.checkFrame(found);
      checked += 1;
      progress("evidence of a file", checked, ROUNDS);
    }
    await service.call("DELETE", `/process/${uuid}`);
  }
});
