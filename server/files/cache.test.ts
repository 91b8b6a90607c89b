import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { FileCache } from "./cache.ts";
import { FileMissing, FolderStore } from "./file-store.ts";

/** A cache of a real store that counts its reads. Files have 100 bytes. */
async function openCache(maxBytes: number, files: readonly string[]) {
  const [origin, folder] = [temporaryFolder(), join(temporaryFolder(), "cache")];
  await mkdir(join(origin, "videos"));
  for (const name of files) await writeFile(join(origin, "videos", name), Buffer.alloc(100, name));
  const inner = new FolderStore(origin);
  const reads: string[] = [];
  const store = {
    read(key: string) {
      reads.push(key);
      return inner.read(key);
    },
  };
  const open = () => FileCache.open({ store, folder, maxBytes, log: silentLog, expectRoom: async () => {} });
  const cache = await open();
  const file = (name: string) => {
    const sha256 = createHash("sha256").update(Buffer.alloc(100, name)).digest();
    return { key: `videos/${name}`, name, sizeBytes: 100, sha256 };
  };
  return { cache, file, reads, folder, open, origin };
}

test("fetches a file once, also for several at the same time", async () => {
  const { cache, file, reads } = await openCache(1000, ["a"]);
  const copies = await Promise.all([1, 2, 3].map(() => cache.acquire(file("a"))));
  assert.deepEqual(reads, ["videos/a"]);
  assert.deepEqual(await readFile(copies[0]?.path ?? ""), Buffer.alloc(100, "a"));
  await cache.acquire(file("a"));
  assert.equal(reads.length, 1);
});

test("removes the least recently used, but nothing that is in use", async () => {
  const { cache, file, reads } = await openCache(250, ["a", "b", "c", "d"]);
  const [a, b] = [await cache.acquire(file("a")), await cache.acquire(file("b"))];
  b.release();
  b.release();
  const c = await cache.acquire(file("c"));
  assert.deepEqual([cache.names.toSorted(), existsSync(a.path), existsSync(b.path)], [["a", "c"], true, false]);
  const d = await cache.acquire(file("d"));
  assert.deepEqual([cache.names.toSorted(), cache.bytes], [["a", "c", "d"], 300], "all are in use");
  a.release();
  c.release();
  d.release();
  await cache.acquire(file("d"));
  assert.deepEqual(cache.names.toSorted(), ["c", "d"]);
  await cache.acquire(file("b"));
  assert.deepEqual(reads.slice(-1), ["videos/b"]);
});

test("keeps its copies over a start, without incomplete ones", async () => {
  const { cache, file, reads, folder, open } = await openCache(1000, ["a", "b"]);
  (await cache.acquire(file("a"))).release();
  await writeFile(join(folder, "b.part"), "half");
  const next = await open();
  assert.deepEqual([next.names, existsSync(join(folder, "b.part"))], [["a"], false]);
  await next.acquire(file("a"));
  assert.equal(reads.length, 1);
});

test("fetches a copy again that was changed, and rejects content that is not what was stored", async () => {
  const { cache, file, reads, origin } = await openCache(1000, ["a", "b"]);
  const copy = await cache.acquire(file("a"));
  await truncate(copy.path, 10);
  assert.equal((await readFile((await cache.acquire(file("a"))).path)).length, 100);
  assert.equal(reads.length, 2);
  await writeFile(join(origin, "videos", "b"), Buffer.alloc(100, "x"));
  await assert.rejects(cache.acquire(file("b")), /differs from what was stored/);
  assert.equal(existsSync(cache.pathOf("b")), false);
  await assert.rejects(cache.acquire(file("c")), FileMissing);
  await writeFile(join(origin, "videos", "b"), Buffer.alloc(100, "b"));
  await cache.acquire(file("b"));
});

test("takes over a local file, and drops a copy", async () => {
  const { cache, file, reads } = await openCache(1000, ["a"]);
  const path = join(temporaryFolder(), "a");
  await writeFile(path, Buffer.alloc(100, "a"));
  await cache.adopt("a", path);
  assert.equal(existsSync(path), false);
  await cache.acquire(file("a"));
  assert.deepEqual(reads, []);
  await cache.drop("a");
  assert.deepEqual([cache.names, existsSync(cache.pathOf("a"))], [[], false]);
});

test("removes copies while the disk is full, least recently used first, and fails when the rest is in use", async () => {
  const { cache, file } = await openCache(1000, ["a", "b", "c"]);
  for (const name of ["a", "b"]) (await cache.acquire(file(name))).release();
  await cache.acquire(file("c"));
  const isFull = (names: string) => async () => {
    if (cache.names.join("") !== names) throw new Error("the disk is full");
  };
  await cache.makeRoom(isFull("bc"));
  assert.deepEqual(cache.names, ["b", "c"]);
  await assert.rejects(cache.makeRoom(isFull("")), /disk is full/);
  assert.deepEqual(cache.names, ["c"]);
});
