import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { StorageFault } from "./fault.ts";
import { hasDigest, removeStaleParts, writeAtomically } from "./files.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-write-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const newFolder = (): string => join(folder, `${count++}`);

test("writes a complete file with its folders and returns its digest", async () => {
  const place = newFolder();
  const file = join(place, "deep/file");
  const sha256 = await writeAtomically(file, [Buffer.from("ab"), Buffer.from("c")]);
  assert.equal(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert.equal(readFileSync(file, "utf8"), "abc");
  assert.deepEqual(readdirSync(join(place, "deep")), ["file"]);
});

test("keeps the old file and leaves no temporary file when the source fails", async () => {
  const place = newFolder();
  const file = join(place, "file");
  await writeAtomically(file, [Buffer.from("old")]);
  async function* breaking(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("ne");
    assert.equal(readFileSync(file, "utf8"), "old");
    throw new Error("the line is dead");
  }
  await assert.rejects(writeAtomically(file, breaking()), /the line is dead/);
  assert.equal(readFileSync(file, "utf8"), "old");
  assert.deepEqual(readdirSync(place), ["file"]);
});

test("writes no file when the check rejects it", async () => {
  const place = newFolder();
  const reject = (sha256: string, bytes: number): void => {
    throw new Error(`${sha256.slice(0, 4)} ${bytes}`);
  };
  await assert.rejects(writeAtomically(join(place, "file"), [Buffer.from("abc")], reject), /ba78 3/);
  assert.deepEqual(readdirSync(place), []);
});

test("allows concurrent writers of the same file", async () => {
  const place = newFolder();
  const content = Buffer.alloc(300_000, 3);
  await Promise.all(Array.from({ length: 8 }, () => writeAtomically(join(place, "file"), [content])));
  assert.deepEqual(readdirSync(place), ["file"]);
  assert.deepEqual(readFileSync(join(place, "file")), content);
});

test("explains why a folder cannot be written, with a remedy", async () => {
  writeFileSync(join(folder, "a-file"), "");
  await assert.rejects(writeAtomically(join(folder, "a-file/x"), []), (error) => {
    assert.ok(error instanceof StorageFault);
    return /a-file cannot be created.*set WINDHOVER_CACHE_DIR/.test(error.message);
  });
});

const mountSmall = (at: string): boolean => {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", at], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

test("reports a full disk and leaves no temporary file", async (t) => {
  const place = newFolder();
  mkdirSync(place);
  if (!mountSmall(place)) return t.skip("no permission to mount a small disk");
  try {
    await assert.rejects(writeAtomically(join(place, "file"), [Buffer.alloc(100_000)]), (error) => {
      assert.ok(error instanceof StorageFault);
      return error.message.startsWith(`the disk of ${place} is full: free some space, or set WINDHOVER_CACHE_DIR`);
    });
    assert.deepEqual(readdirSync(place), []);
  } finally {
    execFileSync("umount", [place]);
  }
});

test("removes temporary files of killed processes after a day, not before", async () => {
  const place = newFolder();
  mkdirSync(join(place, ".part-npm-1"), { recursive: true });
  for (const name of [".part-2", ".part-3", "file"]) writeFileSync(join(place, name), "");
  const nowMs = Date.now();
  for (const name of [".part-npm-1", ".part-2", "file"])
    utimesSync(join(place, name), (nowMs - 25 * 3600_000) / 1000, (nowMs - 25 * 3600_000) / 1000);
  await removeStaleParts(place, nowMs);
  assert.deepEqual(readdirSync(place).sort(), [".part-3", "file"]);
  await removeStaleParts(join(place, "not-there"));
});

test("notices that a file was changed after its digest was found right, also with the same size", async () => {
  const file = join(newFolder(), "file");
  const sha256 = await writeAtomically(file, [Buffer.from("weights")]);
  assert.equal(await hasDigest(file, sha256), true);
  assert.equal(await hasDigest(file, sha256), true);
  const { atime, mtime } = statSync(file);
  writeFileSync(file, "weightz");
  utimesSync(file, atime, mtime);
  assert.equal(await hasDigest(file, sha256), false);
  rmSync(file);
  assert.equal(await hasDigest(file, sha256), false);
});
