/** Detections of a process in a real folder, written and read while it runs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFile, chmod, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { newUuid } from "../uuid.ts";
import {
  anyMessages,
  assertStored,
  cameraAt,
  messageAt,
  PROCESS,
  recordedMessages,
  Sender,
  START_MS,
  sceneAt,
  trackOf,
} from "./detections.fixture.ts";
import { StoredDetections } from "./detections.ts";
import { ALL_TIMES, LocalFile, type MessageRange, readFileSpan, readMessages } from "./read-file.ts";
import { LineReader } from "./read-lines.ts";

const NODE = newUuid();

type Limits = ConstructorParameters<typeof StoredDetections>[0]["limits"];

function open(limits: Limits = {}, settings: Readonly<Record<string, string>> = {}) {
  const dataDir = temporaryFolder();
  const disk = { hasSpace: true };
  const config = makeConfig({ DATA_DIR: dataDir, ...settings });
  const stored = new StoredDetections({
    ...{ config, log: silentLog, nodeUuid: NODE, shared: null, hasSpace: () => disk.hasSpace },
    // Nothing is written before it is asked for.
    limits: { flushMs: 3_600_000, ...limits },
  });
  const process = new Sender();
  stored.follow(process);
  const folder = join(dataDir, "detections", PROCESS);
  const list = async (): Promise<string[]> => (await readdir(folder).catch(() => [])).sort();
  return { stored, process, disk, dataDir, folder, list, read: (range?: MessageRange) => readAll(stored, range) };
}

async function collect<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

const readAll = (stored: StoredDetections, range = ALL_TIMES) => collect(stored.read(PROCESS, range));

const frames = (count: number, from = 0) => Array.from({ length: count }, (_, at) => sceneAt(from + at, 3));

test("what a process has sent is read back, while it runs and afterwards, by this server and the next", async () => {
  const { stored, process, dataDir, folder, list, read } = open();
  const messages = recordedMessages("street");
  process.send(messages.slice(0, 40));
  process.notify({ type: "message", channel: "drone_data", message: {} });
  assertStored(await read(), messages.slice(0, 40));
  process.send(messages.slice(40));
  assertStored(await read(), messages);
  process.notify({ type: "ended" });
  assertStored(await read(), messages);
  await stored.close();
  assert.deepEqual(await list(), ["0.ndjson.gz"]);
  assert.equal((await stat(join(folder, "0.ndjson.gz"))).mode & 0o777, 0o600);
  assert.deepEqual(stored.numbers, { written: messages.length, lost: 0, bytes: stored.numbers.bytes });
  const config = makeConfig({ DATA_DIR: dataDir });
  const next = new StoredDetections({ config, log: silentLog, nodeUuid: NODE, shared: null, hasSpace: () => true });
  assertStored(await readAll(next), messages);
});

test("positions of the camera are stored between the messages, and read back by time across parts", async () => {
  const { stored, process, read } = open({ partMs: 2_000 });
  const messages = frames(60);
  const cameras = [0, 10, 20, 30, 40, 50].map((frame) => cameraAt(frame));
  for (const [frame, message] of messages.entries()) {
    if (frame % 10 === 0) process.sendCamera(cameras[frame / 10] ?? assert.fail());
    process.send([message]);
  }
  const readCameras = (range = ALL_TIMES) => collect(stored.readCameras(PROCESS, range));
  assertStored(await read(), messages);
  assert.deepEqual(await readCameras(), cameras);
  assert.deepEqual(await readCameras({ fromMs: START_MS + 1_000, toMs: START_MS + 3_000 }), cameras.slice(1, 3));
  // One without a message after it is not stored: nothing is known about that time.
  process.sendCamera(cameraAt(70));
  process.notify({ type: "ended" });
  assert.deepEqual(await readCameras(), cameras);
  assert.equal(stored.numbers.written, messages.length);
  // A kilobyte of gzip holds more than ten of them.
  assert.ok(stored.numbers.bytes < 60 * 60, `${stored.numbers.bytes}`);
});

test("without a bucket, what is not here is read from the last node of the process", async () => {
  const { stored, process } = open();
  const messages = frames(20);
  process.send(messages.slice(0, 10));
  const asked: string[] = [];
  const ask = async function* (nodeUuid: string) {
    asked.push(nodeUuid);
    yield* messages.slice(10);
  };
  const timeOf = (at: number): number => Date.parse(messages[at]?.timestamp ?? "");
  const early = { fromMs: timeOf(2), toMs: timeOf(4) };
  const late = { fromMs: timeOf(12), toMs: timeOf(19) + 1 };
  const readAnywhere = (nodeUuid: string | null, range: MessageRange) =>
    collect(stored.readAnywhere({ uuid: PROCESS, nodeUuid }, range, ask));
  const other = newUuid();
  assertStored(await readAnywhere(other, early), messages.slice(2, 4));
  assert.deepEqual(await readAnywhere(NODE, late), []);
  assert.deepEqual(await readAnywhere(null, late), []);
  assert.deepEqual(asked, []);
  assert.deepEqual(await readAnywhere(other, late), messages.slice(10));
  assert.deepEqual(asked, [other]);
  const unreachable = (): never => {
    throw new Error("it cannot be reached");
  };
  await assert.rejects(collect(stored.readAnywhere({ uuid: PROCESS, nodeUuid: other }, late, unreachable)), /reached/);
});

test("any messages in parts of any length are read back", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyMessages, { maxLength: 3 }),
      fc.integer({ min: 1, max: 70_000 }),
      async (runs, partMs) => {
        const { stored, process, read } = open({ partMs, partTracks: 5 });
        for (const run of runs) {
          process.send(run.slice(0, 7));
          await stored.flush();
          process.send(run.slice(7));
          process.notify({ type: "restarting" });
        }
        assertStored(await read(), runs.flat());
        assert.equal(stored.numbers.lost, 0);
      },
    ),
    { numRuns: 30 },
  );
});

test("each start of a runner, and the segment length, begin a file; a range is read across them", async () => {
  const { stored, process, list, read } = open({ partMs: 1_000 }, { RECORDINGS_SEGMENT_SECONDS: "1" });
  const messages = frames(60);
  process.send(messages.slice(0, 25));
  process.notify({ type: "restarting" });
  process.send(messages.slice(25));
  process.notify({ type: "ended" });
  await stored.flush();
  assert.ok((await list()).length >= 2);
  for (const [from, to] of [
    [0, 60],
    [24, 26],
    [25, 25.5],
    [10, 50],
    [59, 100],
    [60, 100],
  ] as const) {
    const range = { fromMs: START_MS + from * 100, toMs: START_MS + to * 100 };
    const expected = messages.filter(({ timestamp }) => {
      const timeMs = Date.parse(timestamp);
      return timeMs >= range.fromMs && timeMs < range.toMs;
    });
    assertStored(await read(range), expected, `${from} to ${to}`);
  }
});

test("a process that begins again while its last file is written gets a file of its own", async () => {
  const { stored, process, list } = open();
  const senders = [process, new Sender(), new Sender()];
  for (const [at, sender] of senders.entries()) {
    if (at > 0) stored.follow(sender);
    sender.send(frames(20, at * 20));
    sender.notify({ type: "ended" });
  }
  await stored.flush();
  assert.equal((await list()).length, 3);
  assert.deepEqual(stored.numbers, { written: 60, lost: 0, bytes: stored.numbers.bytes });
});

test("a minute out of a long file is read without inflating the rest", async () => {
  const { stored, process, folder, read } = open();
  process.send(frames(6_000));
  process.notify({ type: "ended" });
  await stored.flush();
  const path = join(folder, "0.ndjson.gz");
  const file = await LocalFile.open(path);
  const asked: number[] = [];
  const counting = {
    bytes: file.bytes,
    read: (range: { first: number; last: number }) => {
      asked.push(range.last - range.first + 1);
      return file.read(range);
    },
  };
  const range = { fromMs: START_MS + 300_000, toMs: START_MS + 360_000 };
  const found = await collect(readMessages(counting, { range, onDamaged: assert.fail }));
  assert.equal(found.length, 600);
  assert.ok(asked.reduce((sum, bytes) => sum + bytes, 0) < file.bytes / 4, `${asked} of ${file.bytes}`);
  assert.deepEqual(await readFileSpan(file), { firstMs: START_MS, lastMs: START_MS + 599_900 });
  // Nothing of a file outside the range is read but its header.
  asked.length = 0;
  const later = { fromMs: START_MS + 600_000, toMs: START_MS + 700_000 };
  assert.deepEqual(await collect(readMessages(counting, { range: later, onDamaged: assert.fail })), []);
  assert.equal(asked.length, 1);
  await file.close();
  assert.equal((await read(range)).length, 600);
});

test("other programs read the files: zcat, gzip -t, Python", async () => {
  const { stored, process, folder, read } = open({ partMs: 1_000 });
  process.videoStartMs = START_MS;
  process.send(frames(15));
  process.sendCamera(cameraAt(15));
  process.send(frames(15, 15));
  const path = join(folder, "0.ndjson.gz");
  await stored.flush();
  assert.equal(
    gunzipSync(await readFile(path), { finishFlush: 2 })
      .toString()
      .includes("video_start"),
    true,
  );
  process.notify({ type: "ended" });
  await stored.flush();
  execFileSync("gzip", ["-t", path]);
  const text = execFileSync("zcat", [path], { encoding: "utf8" });
  assert.match(text, /^\{"version":2,"process":"01890000-/);
  assert.equal(text.match(/"version":2/g)?.length, 3, "one header for each part");
  // The example of the documentation.
  const page = await readFile(new URL("../../docs/stored-detections.md", import.meta.url), "utf8");
  const shown = /```text\n(.*?)```/s.exec(page)?.[1] ?? assert.fail("no example");
  const reader = new LineReader();
  const boxes = shown
    .trim()
    .split("\n")
    .map((line) => reader.read(line)?.message.active_tracks.map(({ bbox }) => bbox) ?? null);
  assert.deepEqual(boxes, [null, [[640, 180, 160, 180]], [[641.28, 180, 160, 180]], []]);
  const program = /```python\n(.*?)```/s.exec(page)?.[1] ?? assert.fail("no example");
  const script = join(folder, "read.py");
  await writeFile(script, program);
  const lines = execFileSync("python3", [script, path], { encoding: "utf8" }).trim().split("\n");
  const expected = await read();
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    expected.flatMap(({ timestamp, active_tracks: tracks }) =>
      tracks.map(({ track_id, class_name, confidence, bbox }) => [timestamp, track_id, class_name, confidence, bbox]),
    ),
  );
});

test("after a crash everything up to the last write is read, whatever the end of the file is", async () => {
  const { stored, process, folder } = open({ partMs: 1_000 });
  const messages = frames(35);
  process.send(messages.slice(0, 30));
  await stored.flush();
  const path = join(folder, "0.ndjson.gz");
  const { size } = await stat(path);
  process.send(messages.slice(30));
  await stored.flush();
  const whole = await readFile(path);
  const readFileAt = async (bytes: number): Promise<DetectionMessage[]> => {
    await writeFile(path, whole);
    await truncate(path, bytes);
    const file = await LocalFile.open(path);
    try {
      return await collect(readMessages(file, { range: ALL_TIMES, onDamaged: () => {} }));
    } finally {
      await file.close();
    }
  };
  assertStored(await readFileAt(whole.length), messages);
  for (const bytes of [size, size + 1, size + 20, whole.length - 1, size - 1, 60, 3, 0]) {
    const found = await readFileAt(bytes);
    assertStored(found, messages.slice(0, found.length), `${bytes} bytes`);
    if (bytes >= size) assert.ok(found.length >= 30, `${bytes} bytes: ${found.length}`);
  }
  // As a file system may leave it after a power failure.
  await writeFile(path, whole.subarray(0, size));
  await appendFile(path, Buffer.alloc(500));
  assertStored((await readAll(stored)).slice(0, 20), messages.slice(0, 20));
});

test("damage costs the part that has it", async () => {
  const { stored, process, folder, read } = open({ partMs: 1_000 });
  const messages = frames(30);
  process.send(messages);
  process.notify({ type: "ended" });
  await stored.flush();
  const path = join(folder, "0.ndjson.gz");
  const data = await readFile(path);
  // In the middle of the first part.
  data.fill(0xff, 200, 260);
  await writeFile(path, data);
  const found = await read();
  assertStored(found.slice(-20), messages.slice(10));
});

test("without disk space nothing is written, and the process sends on; then it continues in another file", async () => {
  const { stored, process, disk, list, read } = open();
  const messages = frames(30);
  process.send(messages.slice(0, 10));
  disk.hasSpace = false;
  process.send(messages.slice(10, 20));
  await stored.flush();
  assertStored(await read(), messages.slice(0, 10));
  assert.deepEqual([stored.numbers.written, stored.numbers.lost], [10, 10]);
  disk.hasSpace = true;
  process.send(messages.slice(20));
  assertStored(await read(), [...messages.slice(0, 10), ...messages.slice(20)]);
  assert.deepEqual(await list(), ["0.ndjson.gz", "1.ndjson.gz"]);
});

test("a folder that cannot be written costs messages and nothing else", async () => {
  const { stored, process, dataDir } = open();
  // A file where the folder should be: also for root.
  await writeFile(join(dataDir, "detections"), "");
  process.send(frames(5));
  await stored.flush();
  process.send(frames(5, 5));
  await stored.flush();
  assert.deepEqual([stored.numbers.written, stored.numbers.lost], [0, 10]);
  await chmod(dataDir, 0o700);
});

test("a file that retention has removed is followed by another one", async () => {
  const { stored, process, folder, list, read } = open({ idleMs: 0 });
  const messages = frames(20);
  process.send(messages.slice(0, 10));
  await stored.flush();
  await rm(folder, { recursive: true });
  process.send(messages.slice(10));
  assertStored(await read(), messages.slice(10));
  assert.deepEqual([(await list()).length, stored.numbers.lost], [1, 0]);
});

test("a queue that is not written has a limit", async () => {
  const { stored, process } = open({ queuedBytes: 2_000, flushBytes: 1e9 });
  process.send(frames(1_000));
  assert.ok(stored.numbers.lost > 500);
  await stored.flush();
  assert.equal(stored.numbers.written + stored.numbers.lost, 1_000);
  const before = stored.numbers.lost;
  process.send(frames(5, 1_000));
  await stored.flush();
  assert.equal(stored.numbers.lost, before);
});

test("nothing is stored while recordings are disabled", async () => {
  const { stored, process, list } = open({}, { RECORDINGS_ENABLED: "false" });
  process.send(frames(5));
  await stored.flush();
  assert.deepEqual([await list(), stored.numbers.lost], [[], 0]);
});

test("messages without a time are dropped, odd ones are kept as they are", async () => {
  const { process, stored, read } = open();
  const odd = { ...messageAt(START_MS), active_tracks: [null, 7] } as unknown as DetectionMessage;
  process.send([
    { ...messageAt(START_MS), timestamp: "yesterday" },
    odd,
    messageAt(START_MS, [trackOf(1, [0, 0, 0, 0])]),
  ]);
  assertStored(await read(), [odd, messageAt(START_MS, [trackOf(1, [0, 0, 0, 0])])]);
  assert.equal(stored.numbers.lost, 1);
});
