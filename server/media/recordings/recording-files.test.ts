import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/graph.fixture.ts";
import {
  listFiles,
  ProcessRecordings,
  processRecordingsFolder,
  removeFile,
  removeOldFiles,
} from "./recording-files.ts";

async function write(path: string, ageMs: number): Promise<void> {
  await writeFile(path, "film");
  const at = new Date(Date.now() - ageMs);
  await utimes(path, at, at);
}

test("each run of a process gets the next file, and files that are not empty are listed", async () => {
  const recordings = new ProcessRecordings(temporaryFolder());
  assert.deepEqual([await recordings.list("a"), await recordings.find("a", 0)], [[], null]);
  for (const index of [0, 1, 2]) {
    const path = await recordings.nextFile("a");
    assert.ok(path.endsWith(`/process-recordings/a/${index}.mp4`), path);
    await writeFile(path, index === 1 ? "" : "film");
  }
  const listed = await recordings.list("a");
  assert.deepEqual(
    listed.map(({ index, sizeBytes }) => [index, sizeBytes]),
    [
      [0, 4],
      [2, 4],
    ],
  );
  assert.equal((await recordings.find("a", 2))?.path, listed[1]?.path);
  assert.ok((await recordings.nextFile("a")).endsWith("/3.mp4"));
});

test("removes old files, then the oldest of the rest, and keeps files that are being written", async () => {
  const data = temporaryFolder();
  const folder = processRecordingsFolder(data);
  for (const process of ["a", "b"]) await mkdir(join(folder, process), { recursive: true });
  await write(join(folder, "a", "0.mp4"), 9_000_000);
  await write(join(folder, "a", "1.mp4"), 2_000_000);
  await write(join(folder, "b", "0.mp4"), 3_000_000);
  await write(join(folder, "b", "1.mp4"), 0);
  assert.equal(await removeOldFiles(folder, Date.now() - 8_000_000), 1);
  assert.equal(existsSync(join(folder, "a", "0.mp4")), false);
  const remove = async () => {
    const [oldest] = (await listFiles(folder))
      .filter(({ modifiedMs }) => modifiedMs < Date.now() - 60_000)
      .sort((a, b) => a.modifiedMs - b.modifiedMs);
    if (oldest !== undefined) await removeFile(oldest.path);
    return oldest?.sizeBytes ?? null;
  };
  assert.equal(await remove(), 4);
  assert.deepEqual([existsSync(join(folder, "b", "0.mp4")), existsSync(join(folder, "a", "1.mp4"))], [false, true]);
  assert.equal(await remove(), 4);
  assert.equal(existsSync(join(folder, "a")), false, "a folder without files goes too");
  assert.equal(await remove(), null);
  assert.equal(existsSync(join(folder, "b", "1.mp4")), true);
  assert.deepEqual(await listFiles(join(data, "nowhere")), []);
});
