import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openTarget } from "./target.ts";

const folder = await mkdtemp(join(tmpdir(), "windhover-record-"));
after(() => rm(folder, { recursive: true }));

test("renames an existing recording to the next free name", async () => {
  const path = join(folder, "yard.mp4");
  await writeFile(path, "first");
  assert.equal((await openTarget(path, null)).kept, join(folder, "yard.1.mp4"));
  await writeFile(path, "second");
  assert.equal((await openTarget(path, null)).kept, join(folder, "yard.2.mp4"));
  assert.equal(await readFile(join(folder, "yard.1.mp4"), "utf8"), "first");
  assert.equal(await readFile(join(folder, "yard.2.mp4"), "utf8"), "second");
});

test("removes a recording that stayed empty", async () => {
  const path = join(folder, "empty.mp4");
  const target = await openTarget(path, null);
  await writeFile(path, "");
  await target.close();
  assert.ok(!(await readdir(folder)).includes("empty.mp4"));
  await writeFile(path, "something");
  await target.close();
  assert.equal(await readFile(path, "utf8"), "something");
});

test("restores the existing file if the recording stayed empty", async () => {
  const path = join(folder, "back.mp4");
  await writeFile(path, "before");
  const target = await openTarget(path, null);
  await writeFile(path, "");
  await target.close();
  assert.equal(await readFile(path, "utf8"), "before");
  assert.ok(!(await readdir(folder)).includes("back.1.mp4"));
});

test("rejects the source itself, under any name", async () => {
  const clip = join(folder, "clip.mp4");
  const link = join(folder, "link.mp4");
  await writeFile(clip, "clip");
  await symlink(clip, link);
  await assert.rejects(openTarget(clip, clip), /it is the source itself/);
  await assert.rejects(openTarget(link, clip), /it is the source itself/);
  assert.equal(await readFile(clip, "utf8"), "clip");
});

test("names a missing folder, and a folder in place of the file", async () => {
  await mkdir(join(folder, "taken.mp4"));
  await assert.rejects(openTarget(join(folder, "no/such/a.mp4"), null), /there is no folder .*no\/such; make it first/);
  await assert.rejects(openTarget(join(folder, "taken.mp4"), null), /it is a folder/);
});
