import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { record } from "../../media/mp4/recorded.fixture.ts";
import { poll } from "../../test/watch.fixture.ts";
import { ClipJobs } from "../clips/clip-jobs.ts";
import { SourceVideo } from "../clips/source-video.ts";
import { Thumbnails } from "../clips/thumbnails.ts";
import { WorkFolders } from "../clips/work-folder.ts";
import { Sender } from "../detections/detections.fixture.ts";
import { StoredDetections } from "../detections/detections.ts";
import { removeOldest } from "../media/recordings/disk-space.ts";
import { RecordingFolder } from "../media/recordings/recording-files.ts";
import type { SegmentFile } from "../media/recordings/recordings.ts";
import {
  type Client,
  insertProcess,
  openSourcesService,
  type Reply,
  type SourcesService,
} from "../sources/sources.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { makeConfig } from "./app.fixture.ts";
import { clipJobEndpoints } from "./clip-jobs.ts";
import {
  describeFalling,
  encodeFalling,
  encodeSteps,
  H264,
  readBoxes,
  readSteps,
  readStepsWithGstreamer,
  SQUARE,
} from "./clips.fixture.ts";
import { clipEndpoints } from "./clips.ts";

const RUNNER_ENTRY = new URL("../../graphs/runtime/runner/runner.mjs", import.meta.url);
const ENTRY = new URL("../../graphs/runtime/thumbnails/thumbnails.mjs", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "windhover-clips-"));

// biome-ignore lint/suspicious/noExplicitAny: what comes back is checked by the schema of its endpoint.
type Body = any;

let service: SourcesService;
let client: Client;
let other: Client;
let thumbnails: Thumbnails;
let jobs: ClipJobs;
let nodeUuid: string;
let openJobs: (settings?: Readonly<Record<string, string>>) => ClipJobs;
const STILL = { RECORDINGS_RESERVE_BYTES: "0" };
let detections: StoredDetections;
const videos = new Map<string, string>();
/** Rendered by the first tests of rendering; each of the tests that ends one takes another. */
const rendered: Body[] = [];
const takeRendered = (): Body => rendered.pop() ?? assert.fail("no rendered clip is left");
/** Of any stream. */
let recorded: readonly SegmentFile[] = [];

async function upload(name: string, path: string): Promise<void> {
  const form = new FormData();
  form.set("file", new Blob([readFileSync(path)]), name);
  const { status, body } = await client.post("/video", form);
  assert.equal(status, 201, JSON.stringify(body));
  videos.set(name, body.uuid);
}

before(async () => {
  service = await openSourcesService({}, {}, async (parts) => {
    const { sql, config, sources, confinement, signer, files } = parts;
    nodeUuid = parts.nodeUuid;
    detections = new StoredDetections({ config, log: silentLog, nodeUuid, shared: null, hasSpace: () => true });
    const folders = await WorkFolders.open(config.data_dir, confinement);
    thumbnails = new Thumbnails({ entry: ENTRY, confinement, folders, log: silentLog, memoryBytes: 2 ** 30 });
    const video = new SourceVideo({ sql, sources, recordings: { findRange: async () => recorded } });
    openJobs = (settings = {}) =>
      new ClipJobs({
        ...{
          sql,
          config: { ...config, ...makeConfig({ DATA_DIR: config.data_dir, ...STILL, ...settings }) },
          nodeUuid,
          isAlone: true,
          video,
          detections,
          confinement,
          folders,
          files,
        },
        ...{ runnerEntry: RUNNER_ENTRY, memoryBytes: 2 ** 31, log: silentLog },
      });
    jobs = openJobs();
    // The test may replace them, as a restart does.
    const clips = {
      add: (...args: Parameters<ClipJobs["add"]>) => jobs.add(...args),
      remove: (...args: Parameters<ClipJobs["remove"]>) => jobs.remove(...args),
      find: (...args: Parameters<ClipJobs["find"]>) => jobs.find(...args),
      awaitEnd: (...args: Parameters<ClipJobs["awaitEnd"]>) => jobs.awaitEnd(...args),
    } as ClipJobs;
    return [
      ...clipEndpoints({ video, thumbnails, clips, stallMs: 10_000 }),
      ...clipJobEndpoints({ sql, clips, signer, stallMs: 10_000 }),
    ];
  });
  [client, other] = [await service.addUser(), await service.addUser()];
  await upload("plain.mp4", encodeSteps(join(folder, "plain.mp4"), [...H264, "-bf", "0"]));
  await upload("reordered.mov", encodeSteps(join(folder, "reordered.mov"), [...H264, "-bf", "3"]));
  await upload("old.avi", encodeSteps(join(folder, "old.avi"), ["-c:v", "mjpeg", "-q:v", "2"]));
});
after(async () => {
  await thumbnails?.close();
  await jobs?.close();
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (name: string, path: string, user: Client = client, headers: Record<string, string> = {}) =>
  service.app.call(`/source/${videos.get(name)}/${path}`, { headers: { api_key: user.user.username, ...headers } });

async function codeOf(answer: Response): Promise<readonly [number, string]> {
  return [answer.status, ((await answer.json()) as { code: string }).code];
}

async function save(answer: Response, status = 200): Promise<string> {
  const path = join(folder, "answer");
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(answer.status, status, bytes.toString("utf8", 0, 300));
  writeFileSync(path, bytes);
  return path;
}

describe("a clip of a file", () => {
  for (const name of ["plain.mp4", "reordered.mov"])
    test(`shows exactly the frames of the range: ${name}`, async () => {
      const answer = await get(name, "clip?from=0.8&to=1.6");
      assert.equal(answer.headers.get("windhover-clip"), "0.8/1.6");
      assert.equal(answer.headers.get("windhover-gaps"), null);
      assert.match(answer.headers.get("content-disposition") ?? "", /0\.8s\.mp4/);
      const frames = Array.from({ length: 20 }, (_, i) => 20 + i);
      const path = await save(answer);
      assert.deepEqual(readSteps(path), frames);
      assert.deepEqual(readStepsWithGstreamer(path), frames);
    });

  test("between two frames begins with the one on display, for every player", async () => {
    const path = await save(await get("reordered.mov", "clip?from=0.99&to=1.41"));
    const frames = Array.from({ length: 12 }, (_, i) => 24 + i);
    assert.deepEqual(readSteps(path), frames);
    assert.deepEqual(readStepsWithGstreamer(path), frames);
  });

  test("is rendered if it cannot be cut, and sent again without that", async () => {
    const steps = readSteps(await save(await get("old.avi", "clip?from=0.8&to=1.6")));
    assert.deepEqual(
      steps,
      Array.from({ length: 20 }, (_, i) => 20 + i),
    );
    const again = await get("old.avi", "clip?from=0.8&to=1.6", client, { range: "bytes=4-7" });
    assert.equal(await again.text(), "ftyp");
  });

  test("is sent in ranges that fit together", async () => {
    const whole = Buffer.from(await (await get("plain.mp4", "clip?from=0.5&to=1")).arrayBuffer());
    const ranges = ["bytes=0-99", `bytes=100-${whole.length - 1}`];
    const parts = await Promise.all(ranges.map((range) => get("plain.mp4", "clip?from=0.5&to=1", client, { range })));
    assert.deepEqual(
      parts.map(({ status }) => status),
      [206, 206],
    );
    const bytes = await Promise.all(parts.map(async (part) => Buffer.from(await part.arrayBuffer())));
    assert.ok(Buffer.concat(bytes).equals(whole));
  });

  test("is rejected with what to do", async () => {
    assert.deepEqual(await codeOf(await get("plain.mp4", "clip?from=1&to=2", other)), [404, "source_not_found"]);
    assert.deepEqual(await codeOf(await get("old.avi", "clip?from=0&to=10.1")), [409, "clip_needs_encoding"]);
    assert.deepEqual(await codeOf(await get("plain.mp4", "clip?from=9&to=10")), [422, "invalid_input"]);
    const time = "2026-05-17T08:30:00Z";
    const kinds = [`clip?from=${time}&to=2026-05-17T08:31:00Z`, `clip?from=1&to=${time}`, "clip?from=2&to=1"];
    for (const query of kinds) assert.deepEqual(await codeOf(await get("plain.mp4", query)), [422, "invalid_input"]);
  });
});

test("a clip of a recording lists a gap of a second in its headers", async () => {
  const published = makeClip({ seconds: 5, fps: 25, gop: 25, size: "160x96" });
  const [firstMs = 0] = published.units.map(({ captureMs }) => captureMs);
  const files = record(published, 1, [2]);
  recorded = await Promise.all(
    files.map(async (file, index) => {
      const path = join(folder, `recorded-${index}.mp4`);
      writeFileSync(path, await file.read(0, file.bytes));
      return { path, alias: "yard", startedAt: new Date(file.startedAtMs), sizeBytes: file.bytes };
    }),
  );
  const at = (seconds: number): string => new Date(firstMs + seconds * 1000).toISOString();
  const answer = await get("plain.mp4", `clip?from=${at(0.4)}&to=${at(4.4)}`);
  recorded = [];
  await save(answer);
  assert.equal(answer.headers.get("windhover-clip"), `${at(0.4)}/${at(4.4)}`);
  assert.equal(answer.headers.get("windhover-gaps"), `${at(2)}/${at(3)}`);
});

test("a video is sent as it was uploaded, to its owner", async () => {
  for (const [name, type] of [
    ["plain.mp4", "video/mp4"],
    ["old.avi", "video/x-msvideo"],
  ] as const) {
    const answer = await get(name, "file");
    assert.equal(answer.headers.get("content-type"), type);
    assert.ok(readFileSync(await save(answer)).equals(readFileSync(join(folder, name))));
  }
  const part = await get("plain.mp4", "file", client, { range: "bytes=4-7" });
  assert.equal(readFileSync(await save(part, 206), "latin1"), "ftyp");
  assert.deepEqual(await codeOf(await get("plain.mp4", "file", other)), [404, "source_not_found"]);
});

describe("a thumbnail of a file", () => {
  for (const [name, at, frame] of [
    ["plain.mp4", 0, 0],
    ["plain.mp4", 1.01, 25],
    ["plain.mp4", 1.97, 49],
    ["reordered.mov", 0.9, 22],
    ["reordered.mov", 2.39, 59],
    ["old.avi", 1.21, 30],
  ] as const)
    test(`shows the frame on display: ${name} at ${at}`, async () => {
      const answer = await get(name, `thumbnail?at=${at}&width=64`);
      const path = await save(answer);
      assert.equal(answer.headers.get("content-type"), "image/jpeg");
      assert.deepEqual(readSteps(path), [frame]);
      const size = execFileSync("ffprobe", ["-v", "error", "-show_entries", "stream=width", "-of", "csv=p=0", path]);
      assert.equal(Number(size), 64);
    });

  test("is sent once to a client that has it", async () => {
    const first = await get("plain.mp4", "thumbnail?at=1");
    const etag = first.headers.get("etag") ?? "";
    assert.match(first.headers.get("cache-control") ?? "", /private, max-age=/);
    assert.equal((await get("plain.mp4", "thumbnail?at=1", client, { "if-none-match": etag })).status, 304);
  });

  test("is rejected for others, and beyond the end", async () => {
    assert.deepEqual(await codeOf(await get("plain.mp4", "thumbnail?at=1", other)), [404, "source_not_found"]);
    assert.deepEqual(await codeOf(await get("plain.mp4", "thumbnail?at=60")), [422, "invalid_input"]);
  });
});

const STARTED = Date.UTC(2026, 0, 2, 3, 4, 5);

async function addProcess(name: string): Promise<string> {
  const uuid = await insertProcess(service.sql, client.user.uuid, videos.get(name) ?? "", "finished");
  await service.sql`update processes set started_at = ${new Date(STARTED)} where uuid = ${uuid}`;
  return uuid;
}

const render = (name: string, more: object, user: Client = client) =>
  user.call("POST", "/clips", { source_uuid: videos.get(name), ...more });

const untilClip = (uuid: string, isOver: (clip: Body) => boolean): Promise<Body> =>
  poll("the clip is as expected", async () => {
    const { status, body } = await client.call("GET", `/clip/${uuid}`);
    return (status !== 200 || isOver(body)) && body;
  });
const awaitEnd = (uuid: string) => untilClip(uuid, ({ state }) => state === "ready" || state === "failed");

describe("a rendered clip", () => {
  for (const name of ["plain.mp4", "reordered.mov", "old.avi"])
    test(`shows exactly the frames of the range: ${name}`, async () => {
      const { status, body } = await render(name, { from: 0.8, to: 1.6 });
      assert.deepEqual([status, body.state, body.from, body.to, body.boxes], [202, "queued", 0.8, 1.6, false]);
      const clip = await awaitEnd(body.uuid);
      assert.deepEqual([clip.state, clip.error, clip.progress], ["ready", null, 1]);
      const answer = await fetch(clip.download_url);
      assert.equal(Number(answer.headers.get("content-length")), clip.size_bytes);
      assert.deepEqual(
        readSteps(await save(answer)),
        Array.from({ length: 20 }, (_, i) => 20 + i),
      );
      const { body: listed } = await client.call("GET", "/clips?limit=1");
      assert.equal(listed.clips[0].uuid, body.uuid);
      rendered.push(clip);
    });

  test("has the boxes on the objects, also between two messages", async () => {
    await upload("falling.mp4", encodeFalling(join(folder, "falling.mp4")));
    const processUuid = await addProcess("falling.mp4");
    const sender = new Sender(processUuid);
    detections.follow(sender);
    sender.send(Array.from({ length: 12 }, (_, i) => describeFalling(i * 5, processUuid, STARTED)));
    const answer = await get("falling.mp4", "clip?from=0.4&to=1.6&boxes=true");
    const edges = readBoxes(await save(answer));
    assert.equal(edges.length, 30);
    for (const [i, { left, bottom }] of edges.entries()) {
      const [x, y] = [SQUARE.x, SQUARE.top(10 + i) + SQUARE.side];
      assert.ok(
        Math.abs(left - x) <= 3 && Math.abs(bottom - y) <= 3,
        `frame ${10 + i}: ${left}, ${bottom}; not ${x}, ${y}`,
      );
    }
    // The same request is answered with the same clip, in parts.
    const range = { range: "bytes=0-99" };
    assert.equal((await get("falling.mp4", "clip?from=0.4&to=1.6&boxes=true", client, range)).status, 206);
    const { body } = await client.call("GET", `/clips?source_uuid=${videos.get("falling.mp4")}`);
    assert.deepEqual(
      body.clips.map((clip: Body) => [clip.state, clip.boxes, clip.process_uuid]),
      [["ready", true, processUuid]],
    );
  });

  test("is rejected with what to do", async () => {
    const range = { from: 0, to: 1 };
    const codes = async (reply: Promise<Reply>) => {
      const { status, body } = await reply;
      return [status, body.code];
    };
    assert.deepEqual(await codes(render("plain.mp4", range, other)), [404, "source_not_found"]);
    assert.deepEqual(await codes(render("plain.mp4", { ...range, boxes: true })), [404, "process_not_found"]);
    assert.deepEqual(await codes(render("plain.mp4", { from: 0, to: 4000 })), [422, "invalid_input"]);
    const long = await get("falling.mp4", "clip?from=0&to=11&boxes=true");
    assert.deepEqual(await codeOf(long), [422, "invalid_input"]);
  });

  test("belongs to its user, and is gone when it is deleted", async () => {
    const clip = takeRendered();
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/file"],
      ["DELETE", ""],
    ] as const)
      assert.equal((await other.call(method, `/clip/${clip.uuid}${path}`)).status, 404);
    assert.equal((await client.call("DELETE", `/clip/${clip.uuid}`)).status, 200);
    assert.equal((await fetch(clip.download_url)).status, 404);
    assert.deepEqual(
      (await readdir(join(service.dataDir, "clips"))).filter((name) => name === clip.uuid),
      [],
    );
  });

  test("is cancelled while it is rendered, and rendered again after a restart", async () => {
    const [first, second] = [
      await render("old.avi", { from: 0, to: 1 }),
      await render("plain.mp4", { from: 0, to: 1 }),
    ];
    await untilClip(first.body.uuid, ({ state }) => state === "rendering");
    assert.deepEqual(
      await codeOf(
        await service.app.call(`/clip/${first.body.uuid}/file`, { headers: { api_key: client.user.username } }),
      ),
      [409, "clip_not_ready"],
    );
    assert.equal((await client.call("DELETE", `/clip/${first.body.uuid}`)).status, 200);
    await untilClip(second.body.uuid, ({ state }) => state === "rendering");
    await jobs.close();
    assert.equal((await client.call("GET", `/clip/${second.body.uuid}`)).body.state, "queued");
    jobs = openJobs();
    assert.equal((await awaitEnd(second.body.uuid)).state, "ready");
    assert.equal((await client.call("GET", `/clip/${first.body.uuid}`)).status, 404);
    // Only that of the thumbnail decoder, if it is not idle, is left; that of a clip goes when it is stored as ready.
    await poll("its folder is gone", async () => (await readdir(join(service.dataDir, "clip-work"))).length <= 1);
  });

  test("fails with the reason when its video is damaged", async () => {
    const { body } = await render("plain.mp4", { from: 0.1, to: 0.9 });
    await jobs.close();
    const [row] = await service.sql`select file_name from sources where uuid = ${videos.get("plain.mp4") ?? ""}`;
    const path = join(service.dataDir, "videos", row?.fileName);
    const intact = readFileSync(path);
    writeFileSync(path, intact.subarray(0, intact.length / 2));
    jobs = openJobs();
    const clip = await awaitEnd(body.uuid);
    assert.equal(clip.state, "failed");
    assert.match(clip.error, /index/);
    assert.equal(clip.download_url, null);
    assert.deepEqual(await codeOf(await get("plain.mp4", "clip?from=0&to=1")), [422, "video_invalid"]);
    assert.deepEqual(await codeOf(await get("plain.mp4", "thumbnail?at=0.3")), [422, "video_invalid"]);
    writeFileSync(path, intact);
  });

  test("is limited in number, and not made on a full disk", async () => {
    await jobs.close();
    jobs = openJobs({ RECORDINGS_RESERVE_BYTES: String(2 ** 53 - 1) });
    const full = await render("plain.mp4", { from: 0, to: 1 });
    assert.deepEqual([full.status, full.body.code], [507, "disk_full"]);
    await jobs.close();
    jobs = openJobs();
    await service.sql`
      insert into clips (uuid, user_uuid, source_uuid, alias, is_file, from_ms, to_ms, state, lease_until, node_uuid)
      select gen_random_uuid(), ${client.user.uuid}, ${videos.get("plain.mp4") ?? ""}, '', true, 0, 1, 'rendering',
        now() + interval '1 hour', ${nodeUuid} from generate_series(1, 8)`;
    const more = await render("plain.mp4", { from: 0, to: 1 });
    assert.deepEqual([more.status, more.body.code], [403, "clips_limit_reached"]);
    await service.sql`delete from clips where lease_until > now() + interval '10 minutes'`;
  });

  test("is forgotten when its file was removed to make room", async () => {
    const clip = takeRendered();
    // As above the quota of its user.
    const deps = { sql: service.sql, nodeUuid, folder: new RecordingFolder(service.dataDir) };
    const otherFolders = [join(service.dataDir, "clips")];
    const old = new Date(Date.now() - 3_600_000);
    await utimes(join(service.dataDir, "clips", clip.uuid, "0.mp4"), old, old);
    assert.equal(await removeOldest({ ...deps, otherFolders }, 0), clip.size_bytes);
    assert.deepEqual(await codeOf(await fetch(clip.download_url)), [404, "clip_not_found"]);
    await jobs.sweep();
    assert.equal((await client.call("GET", `/clip/${clip.uuid}`)).status, 404);
  });

  test("is removed by its age", async () => {
    const { uuid } = takeRendered();
    await jobs.sweep();
    assert.equal((await client.call("GET", `/clip/${uuid}`)).status, 200);
    await service.sql`update clips set ended_at = now() - interval '31 days' where uuid = ${uuid}`;
    await jobs.sweep();
    assert.equal((await client.call("GET", `/clip/${uuid}`)).status, 404);
    assert.ok(!(await readdir(join(service.dataDir, "clips"))).includes(uuid));
  });
});
