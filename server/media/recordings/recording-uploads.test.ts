/** Recordings in a bucket, over a real database and a real S3 server; nodes have a data folder each. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "../../../test/graph.fixture.ts";
import { poll } from "../../../test/watch.fixture.ts";
import { makeConfig } from "../../api/app.fixture.ts";
import { assertStored, Sender, START_MS, sceneAt } from "../../detections/detections.fixture.ts";
import { StoredDetections, saveTimes } from "../../detections/detections.ts";
import type { Pieces } from "../../files/file-store.ts";
import { openFiles, type SharedFiles } from "../../files/open-files.ts";
import { TestS3 } from "../../files/s3-server.fixture.ts";
import { S3Store } from "../../files/s3-store.ts";
import { silentLog } from "../../store/database.fixture.ts";
import { addNode } from "../../store/nodes.fixture.ts";
import { newUuid } from "../../uuid.ts";
import { listProcessFolders, ProcessRecordings } from "./recording-files.ts";
import { RecordingUploads } from "./recording-uploads.ts";
import { DAY_MS, RecordingStage } from "./recordings.fixture.ts";
import { ElsewhereError, Recordings } from "./recordings.ts";

const s3 = await TestS3.start();
const bucket = S3Store.open(s3.settings);
after(async () => {
  bucket.close();
  await s3.close();
});
const stage = await RecordingStage.open();
after(() => stage.close());
const { sql, user } = stage;

interface TestNode {
  readonly uuid: string;
  readonly dataDir: string;
  readonly files: SharedFiles;
  readonly recordings: Recordings;
  readonly processes: ProcessRecordings;
  readonly detections: StoredDetections;
  readonly held: Set<string>;
  stop(): Promise<void>;
}

const running = new Set<TestNode>();

/** As a server that starts on this folder. */
async function openNode(
  dataDir = temporaryFolder(),
  settings: Readonly<Record<string, string>> = {},
): Promise<TestNode> {
  const uuid = newUuid();
  await addNode(sql, uuid);
  const still = { RECORDINGS_RESERVE_BYTES: "0", DISK_RESERVE_BYTES: "0", DATABASE_URL: "postgres://h/d" };
  const config = makeConfig({ DATA_DIR: dataDir, ...still, ...s3.variables, ...settings });
  const files = await openFiles({ sql, config, log: silentLog, sweepMs: 3_600_000 });
  assert.ok(files !== null);
  const shared = { sql, nodeUuid: uuid, files };
  const recordings = await Recordings.open({
    ...{ ...shared, config, log: silentLog, sweepMs: 3_600_000 },
    otherFolders: listProcessFolders(dataDir),
    onAllowed: () => {},
  });
  const held = new Set<string>();
  const uploads = new RecordingUploads({
    ...{ ...shared, dataDir, log: silentLog, everyMs: 20, settledMs: 0 },
    isHeld: (process) => held.has(process),
    onStoring: (row, path) => saveTimes(sql, row, path),
  });
  const detections = new StoredDetections({ config, log: silentLog, nodeUuid: uuid, shared, hasSpace: () => true });
  const stop = async (): Promise<void> => {
    running.delete(node);
    await recordings.close();
    await uploads.close();
    await files.close();
  };
  const processes = new ProcessRecordings(dataDir, shared);
  const node = { uuid, dataDir, files, recordings, held, stop, processes, detections };
  running.add(node);
  return node;
}

async function withNodes(count: number, work: (...nodes: TestNode[]) => Promise<void>, settings = {}): Promise<void> {
  try {
    const nodes: TestNode[] = [];
    for (let i = 0; i < count; i += 1) nodes.push(await openNode(undefined, settings));
    await work(...nodes);
  } finally {
    for (const node of running) await node.stop();
    for (const table of ["recordings", "processes", "files"]) await sql`delete from ${sql(table)}`;
    for (const key of await keys()) await bucket.remove(key);
  }
}

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of bucket.list("")) found.push(key);
  return found;
}

async function textOf(pieces: Pieces | undefined): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces ?? []) all.push(piece);
  return Buffer.concat(all).toString();
}

const stored = (uuid: string, count: number) =>
  poll(`${count} files are stored`, async () => {
    const rows = await sql`select from files where owner_uuid = ${uuid} and stored_at is not null`;
    return rows.length === count;
  });

test("finished files move to the bucket, and every node serves them; the open one is on its node", async () => {
  await withNodes(2, async (first, second) => {
    const uuid = await stage.record(first.recordings, { files: 3, isOpen: true });
    await stored(uuid, 2);
    assert.deepEqual(await keys(), [`recordings/${uuid}/0.mp4`, `recordings/${uuid}/1.mp4`]);
    assert.deepEqual(await first.recordings.folder.listSegments(uuid), [2]);
    for (const { recordings } of [first, second]) {
      const found = await recordings.find(user, uuid, 1);
      assert.deepEqual([found.sizeBytes, found.alias], [10, "yard"]);
      assert.equal(await textOf(await found.read?.({ first: 3, last: 5 })), "345");
    }
    assert.ok(existsSync((await first.recordings.find(user, uuid, 2)).path));
    await assert.rejects(
      second.recordings.find(user, uuid, 2),
      (error) => error instanceof ElsewhereError && error.nodeUuid === first.uuid,
    );
    await assert.rejects(second.recordings.remove(user, uuid), { code: "recording_unavailable" });
    first.recordings.handle({ type: "recorded", recording: uuid, stoppedAtMs: Date.now(), detail: null });
    await stored(uuid, 3);
    await poll("nothing is left on disk", async () => !existsSync(join(first.dataDir, "recordings", uuid)));
    assert.equal(
      await textOf(await (await second.recordings.find(null, uuid, 2)).read?.({ first: 0, last: 9 })),
      "0123456789",
    );

    await bucket.remove(`recordings/${uuid}/1.mp4`);
    const gone = await second.recordings.find(user, uuid, 1);
    await assert.rejects(gone.read?.({ first: 0, last: 9 }) ?? Promise.resolve(), { code: "recording_not_found" });
    await second.recordings.remove(user, uuid);
    await second.files.sweep();
    assert.deepEqual(await keys(), []);
    await assert.rejects(first.recordings.find(user, uuid, 0), { code: "recording_not_found" });
  });
});

test("while the bucket is unavailable files wait on disk, up to the limit, and are stored when it is back", async () => {
  await withNodes(
    1,
    async (node) => {
      await s3.stop();
      const uuid = await stage.record(node.recordings, { files: 4 });
      assert.deepEqual(await node.recordings.folder.listSegments(uuid), [0, 1, 2, 3]);
      await poll("the failure is noticed", async () => node.files.trouble !== null);
      await node.recordings.sweep();
      assert.deepEqual(await node.recordings.folder.listSegments(uuid), [1, 2, 3], "the oldest was above the limit");
      assert.equal((await node.recordings.find(user, uuid, 1)).read, undefined);
      await s3.startAgain();
      await stored(uuid, 3);
      assert.equal(node.files.trouble, null);
      assert.equal((await keys()).length, 3);
    },
    { RECORDINGS_BYTES_PER_KEY: "35" },
  );
});

test("the limit per key and the retention hold in the bucket", async () => {
  await withNodes(
    2,
    async (first, second) => {
      const old = await stage.record(first.recordings, { startedAtMs: Date.now() - 10 * DAY_MS });
      const uuid = await stage.record(first.recordings, { files: 3 });
      await stored(old, 1);
      await stored(uuid, 3);
      const next = await stage.record(second.recordings, { startedAtMs: Date.now() + 60_000, files: 1 });
      await stored(next, 1);
      await first.recordings.sweep();
      await first.files.sweep();
      const left = [`recordings/${uuid}/2.mp4`, `recordings/${next}/0.mp4`];
      assert.deepEqual((await keys()).sort(), left.sort());
      assert.deepEqual((await stage.list(second.recordings)).map((row) => row.segments.length).sort(), [1, 1]);
    },
    { RECORDINGS_BYTES_PER_KEY: "25" },
  );
});

test("the next start on a disk keeps what is in the bucket, and stores what is not", async () => {
  await withNodes(1, async (node) => {
    const uuid = await stage.record(node.recordings, { files: 2, isOpen: true });
    await stored(uuid, 1);
    await node.stop();
    const next = await openNode(node.dataDir);
    try {
      assert.deepEqual(next.recordings.unreported, [uuid]);
      const segment = {
        recording: uuid,
        path: "ada/yard",
        index: 1,
        startedAtMs: Date.now(),
        durationMs: 1000,
        bytes: 10,
      };
      next.recordings.handle({ type: "segment", segment });
      next.recordings.handle({ type: "repaired" });
      await stored(uuid, 2);
      const [row] = await stage.list(next.recordings);
      assert.deepEqual(
        row?.segments.map(({ index }) => index),
        [0, 1],
      );
    } finally {
      await next.stop();
    }
    // Without its disk.
    const other = await openNode();
    assert.equal((await stage.list(other.recordings)).length, 1);
    assert.equal(
      await textOf(await (await other.recordings.find(user, uuid, 0)).read?.({ first: 0, last: 9 })),
      "0123456789",
    );
    await other.stop();
  });
});

test("a recording whose node was lost ends with what is in the bucket", async () => {
  await withNodes(2, async (first, second) => {
    const uuid = await stage.record(first.recordings, { files: 3, isOpen: true });
    await stored(uuid, 2);
    await sql`delete from nodes where uuid = ${first.uuid}`;
    await second.recordings.sweep();
    const [row] = await stage.list(second.recordings);
    assert.deepEqual([row?.segments.length, row?.detail, row?.stoppedAt === null], [2, "its node was lost", false]);
  });
});

test("recordings of a process that two nodes have run are numbered and listed together, with the fence in their keys", async () => {
  await withNodes(2, async (first, second) => {
    const process = newUuid();
    await sql`
      insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state, node_uuid, fence)
      values (${process}, ${user.uuid}, ${newUuid()}, '', 'detect', '{}', false, 'running', 'running', ${first.uuid}, 1)`;
    const begin = async ({ processes, held }: TestNode, text: string) => {
      held.add(process);
      const path = await processes.nextFile(process);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      return path;
    };
    const listed = async ({ processes }: TestNode) =>
      (await processes.list(process)).map(({ index, sizeBytes }) => `${index} ${sizeBytes}`);
    await begin(first, "a");
    const open = await begin(first, "bb");
    await stored(process, 1);
    assert.deepEqual(await listed(first), ["0 1", "1 2"]);
    assert.deepEqual(await listed(second), ["0 1"], "the open file is on its node");
    assert.ok(existsSync(open), "its runner may still write to it");

    // Another node takes over; the first one may not know yet.
    await sql`update processes set node_uuid = ${second.uuid}, fence = 2 where uuid = ${process}`;
    await begin(second, "ccc");
    await assert.rejects(first.processes.nextFile(process), /another node runs/);
    first.held.delete(process);
    second.held.delete(process);
    await stored(process, 3);
    for (const node of [first, second]) {
      assert.deepEqual(await listed(node), ["0 1", "1 2", "2 3"]);
      assert.equal(await textOf(await (await node.processes.find(process, 2))?.read?.({ first: 0, last: 2 })), "ccc");
      assert.equal(await node.processes.find(process, 3), null);
    }
    const folder = `process-recordings/${process}`;
    assert.deepEqual(await keys(), [`${folder}/1-0.mp4`, `${folder}/1-1.mp4`, `${folder}/2-2.mp4`]);

    await sql`update files set written_at = now() - interval '8 days' where index = 0`;
    await second.recordings.sweep();
    await second.files.sweep();
    assert.deepEqual(await listed(first), ["1 2", "2 3"]);
    await sql`delete from processes where uuid = ${process}`;
    await second.files.sweep();
    assert.deepEqual(await keys(), []);
  });
});

test("stored detections of a process that two nodes have run are read on each of them", async () => {
  await withNodes(2, async (first, second) => {
    const process = newUuid();
    await sql`
      insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state, node_uuid, fence)
      values (${process}, ${user.uuid}, ${newUuid()}, '', 'detect', '{}', false, 'running', 'running', ${first.uuid}, 1)`;
    const frames = Array.from({ length: 60 }, (_, at) => ({ ...sceneAt(at, 3), process_uuid: process }));
    const begin = ({ detections, held }: TestNode): Sender => {
      held.add(process);
      const sender = new Sender(process);
      detections.follow(sender);
      return sender;
    };
    const end = async ({ detections, held }: TestNode, sender: Sender) => {
      sender.notify({ type: "ended" });
      await detections.flush();
      held.delete(process);
    };
    const read = async ({ detections }: TestNode, from = 0, to = 60) => {
      const messages = [];
      const range = { fromMs: START_MS + from * 100, toMs: START_MS + to * 100 };
      for await (const message of detections.read(process, range)) messages.push(message);
      return messages;
    };
    const holder = ({ detections }: TestNode) => detections.findHolder({ uuid: process, nodeUuid: null });
    const one = begin(first);
    one.send(frames.slice(0, 20));
    one.notify({ type: "restarting" });
    one.send(frames.slice(20, 40));
    await first.detections.flush();
    await stored(process, 1);
    assertStored(await read(first), frames.slice(0, 40));
    assertStored(await read(second), frames.slice(0, 20), "the open file is on its node");
    assert.deepEqual([await holder(first), await holder(second)], [null, first.uuid]);

    await sql`update processes set node_uuid = ${second.uuid}, fence = 2 where uuid = ${process}`;
    const other = begin(second);
    other.send(frames.slice(40));
    await end(first, one);
    await end(second, other);
    await stored(process, 3);
    const folder = `detections/${process}`;
    assert.deepEqual(
      await keys(),
      ["1-0", "1-1", "2-2"].map((name) => `${folder}/${name}.ndjson.gz`),
    );
    for (const node of [first, second]) {
      assertStored(await read(node), frames);
      assertStored(await read(node, 25, 45), frames.slice(25, 45));
      assert.equal(await holder(node), null);
    }
    const rows = await sql`select first_at, last_at from files where owner_uuid = ${process} order by index`;
    assert.deepEqual([rows[1]?.firstAt, rows[1]?.lastAt].map(Number), [START_MS + 2_000, START_MS + 3_900]);
    await bucket.remove(`${folder}/1-0.ndjson.gz`);
    assertStored(await read(second), frames.slice(20), "what is missing costs nothing else");
    await sql`update files set written_at = now() - interval '8 days' where index = 1`;
    await second.recordings.sweep();
    assertStored(await read(second, 20), frames.slice(40));
    await sql`delete from processes where uuid = ${process}`;
    await second.files.sweep();
    assert.deepEqual(await keys(), []);
  });
});

test("a recording of a process that was not stored before a crash is stored by the next start on its disk", async () => {
  await withNodes(1, async (node) => {
    const process = newUuid();
    await sql`
      insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state, node_uuid, fence)
      values (${process}, ${user.uuid}, ${newUuid()}, '', 'detect', '{}', false, 'running', 'running', ${node.uuid}, 4)`;
    node.held.add(process);
    const path = await node.processes.nextFile(process);
    await writeFile(path, "film");
    await utimes(path, new Date(), new Date());
    await node.stop();
    assert.ok(existsSync(path), "a held process: its file is not moved");
    const next = await openNode(node.dataDir);
    await stored(process, 1);
    await poll("it has left the disk", async () => !existsSync(path));
    assert.deepEqual(await keys(), [`process-recordings/${process}/4-0.mp4`]);
    await next.stop();
  });
});
