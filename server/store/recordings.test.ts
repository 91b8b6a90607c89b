import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createKey } from "../keys/keys.ts";
import { KEY_ORDER } from "../media/media-service.fixture.ts";
import { newUuid } from "../uuid.ts";
import { type TestDatabase, testDatabase } from "./database.fixture.ts";
import { addNode } from "./nodes.fixture.ts";
import { findSegments, saveRecordings } from "./recordings.ts";

let database: TestDatabase;
let userUuid: string;
const nodeUuid = newUuid();
before(async () => {
  database = await testDatabase();
  await addNode(database.sql, nodeUuid);
  await createKey(database.sql, { ...KEY_ORDER, username: "ada" });
  const [row] = await database.sql<{ uuid: string }[]>`select uuid from users`;
  userUuid = row?.uuid ?? "";
});
after(() => database?.close());

const STARTED_MS = Date.UTC(2026, 4, 17, 8);
const SEGMENT_MS = 5_000;
const COUNT = 3_000;

/** The last file is one that grows: the database knows a second of it. */
async function addRecording(isOpen: boolean): Promise<string> {
  const sourceUuid = newUuid();
  const startedAt = new Date(STARTED_MS);
  const segments = Array.from({ length: COUNT }, (_, index) => ({
    ...{ index, startedAtMs: STARTED_MS + index * SEGMENT_MS, sizeBytes: 1000 },
    durationMs: index === COUNT - 1 ? 1_000 : SEGMENT_MS,
  }));
  const end = isOpen ? null : { stoppedAt: new Date(STARTED_MS + COUNT * SEGMENT_MS), detail: null };
  await saveRecordings(database.sql, nodeUuid, [
    { ...{ uuid: newUuid(), userUuid, sourceUuid, alias: "yard", startedAt, segments, end }, isRing: false },
  ]);
  return sourceUuid;
}

test("of a recording with many files, those of the range are found; the newest of an open one may be longer", async () => {
  const find = async (sourceUuid: string, fromMs: number, toMs: number): Promise<readonly number[]> => {
    const range = { userUuid, sourceUuid, from: new Date(STARTED_MS + fromMs), to: new Date(STARTED_MS + toMs) };
    return (await findSegments(database.sql, range)).map(({ index }) => index);
  };
  const [open, ended] = [await addRecording(true), await addRecording(false)];
  const middleMs = 1_000 * SEGMENT_MS;
  for (const source of [open, ended]) {
    // And the one before, whose last frame may be on display.
    assert.deepEqual(await find(source, middleMs + 1_000, middleMs + SEGMENT_MS + 1), [999, 1000, 1001]);
    assert.deepEqual(await find(source, middleMs + 3_000, middleMs + SEGMENT_MS), [1000]);
    assert.deepEqual(await find(source, -60_000, -1), []);
    assert.equal((await find(source, 0, COUNT * SEGMENT_MS)).length, COUNT);
  }
  const lateMs = COUNT * SEGMENT_MS + 60_000;
  await database.sql`analyze`;
  assert.deepEqual(await find(open, lateMs, lateMs + 1_000), [COUNT - 1]);
  assert.deepEqual(await find(ended, lateMs, lateMs + 1_000), []);
});
