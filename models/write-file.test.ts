import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { StorageFault, sweepParts, writeWhole } from "./write-file.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-write-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const newFolder = (): string => join(folder, `${count++}`);

test("a file appears whole, with its folders, and its digest is told", async () => {
  const place = newFolder();
  const file = join(place, "deep/file");
  const sha256 = await writeWhole(file, [Buffer.from("ab"), Buffer.from("c")]);
  assert.equal(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert.equal(readFileSync(file, "utf8"), "abc");
  assert.deepEqual(readdirSync(join(place, "deep")), ["file"]);
});

test("a source that breaks off leaves what was there and nothing else", async () => {
  const place = newFolder();
  const file = join(place, "file");
  await writeWhole(file, [Buffer.from("old")]);
  async function* breaking(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("ne");
    assert.equal(readFileSync(file, "utf8"), "old");
    throw new Error("the line is dead");
  }
  await assert.rejects(writeWhole(file, breaking()), /the line is dead/);
  assert.equal(readFileSync(file, "utf8"), "old");
  assert.deepEqual(readdirSync(place), ["file"]);
});

test("a file that is judged wrong does not appear", async () => {
  const place = newFolder();
  const refuse = (sha256: string, bytes: number): void => {
    throw new Error(`${sha256.slice(0, 4)} ${bytes}`);
  };
  await assert.rejects(writeWhole(join(place, "file"), [Buffer.from("abc")], refuse), /ba78 3/);
  assert.deepEqual(readdirSync(place), []);
});

test("many who write the same file at once do no harm", async () => {
  const place = newFolder();
  const content = Buffer.alloc(300_000, 3);
  await Promise.all(Array.from({ length: 8 }, () => writeWhole(join(place, "file"), [content])));
  assert.deepEqual(readdirSync(place), ["file"]);
  assert.deepEqual(readFileSync(join(place, "file")), content);
});

test("a folder that cannot be written is told with what to do", async () => {
  writeFileSync(join(folder, "a-file"), "");
  await assert.rejects(writeWhole(join(folder, "a-file/x"), []), (error) => {
    assert.ok(error instanceof StorageFault);
    return /a-file cannot be made.*set WINDHOVER_CACHE_DIR/.test(error.message);
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

test("a full disk is called one, and no part is left", async (t) => {
  const place = newFolder();
  mkdirSync(place);
  if (!mountSmall(place)) return t.skip("no permission to mount a small disk");
  try {
    await assert.rejects(writeWhole(join(place, "file"), [Buffer.alloc(100_000)]), (error) => {
      assert.ok(error instanceof StorageFault);
      return error.message.startsWith(`the disk of ${place} is full: make room, or set WINDHOVER_CACHE_DIR`);
    });
    assert.deepEqual(readdirSync(place), []);
  } finally {
    execFileSync("umount", [place]);
  }
});

test("what a killed process left is swept away after a day, not before", async () => {
  const place = newFolder();
  mkdirSync(join(place, ".part-npm-1"), { recursive: true });
  for (const name of [".part-2", ".part-3", "file"]) writeFileSync(join(place, name), "");
  const nowMs = Date.now();
  for (const name of [".part-npm-1", ".part-2", "file"])
    utimesSync(join(place, name), (nowMs - 25 * 3600_000) / 1000, (nowMs - 25 * 3600_000) / 1000);
  await sweepParts(place, nowMs);
  assert.deepEqual(readdirSync(place).sort(), [".part-3", "file"]);
  await sweepParts(join(place, "not-there"));
});
