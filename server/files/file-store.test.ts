/** Both stores: a folder, and a bucket of a real S3 server. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { FileMissing, type FileStore, FolderStore, type Pieces } from "./file-store.ts";
import { TestS3 } from "./s3-server.fixture.ts";
import { S3Store } from "./s3-store.ts";

const s3 = await TestS3.start();
const stores: readonly FileStore[] = [new FolderStore(temporaryFolder()), S3Store.open(s3.settings)];
after(async () => {
  for (const store of stores) store.close();
  await s3.close();
});

const folder = temporaryFolder();
/** One that is put at once, and one in several parts. */
const SIZES = [0, 1_000, 9 * 2 ** 20 + 17];

async function collect(pieces: Pieces): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

async function makeFile(bytes: number): Promise<{ path: string; content: Buffer }> {
  const content = randomBytes(bytes);
  const path = join(folder, `${bytes}.mp4`);
  await writeFile(path, content);
  return { path, content };
}

for (const store of stores) {
  const name = store.constructor.name;

  test(`${name}: what is put can be read, whole and in ranges, with size and digest`, async () => {
    for (const bytes of SIZES) {
      const { path, content } = await makeFile(bytes);
      const key = `videos/${bytes}.mp4`;
      const put = await store.put(key, path);
      const sha256 = createHash("sha256").update(content).digest();
      assert.deepEqual([put.sizeBytes, put.sha256.equals(sha256)], [bytes, true]);
      assert.ok((await collect(await store.read(key))).equals(content));
      assert.equal((await store.stat(key))?.sizeBytes, bytes);
      if (bytes === 0) continue;
      for (const [first, last] of [
        [0, 0],
        [10, 99],
        [bytes - 500, bytes - 1],
        [100, bytes - 1],
      ] as const) {
        const part = await collect(await store.read(key, { first, last }));
        assert.ok(part.equals(content.subarray(first, last + 1)), `${first}-${last}`);
      }
    }
  });

  test(`${name}: lists by prefix, removes, and reports a missing file`, async () => {
    const { path } = await makeFile(1_000);
    for (const key of ["recordings/a/0.mp4", "recordings/a/1.mp4", "recordings/b/0.mp4"]) await store.put(key, path);
    const keysOf = async (prefix: string) => {
      const keys: string[] = [];
      for await (const { key, sizeBytes } of store.list(prefix)) keys.push(`${key} ${sizeBytes}`);
      return keys;
    };
    assert.deepEqual(await keysOf("recordings/a/"), ["recordings/a/0.mp4 1000", "recordings/a/1.mp4 1000"]);
    assert.equal((await keysOf("recordings/")).length, 3);
    await store.remove("recordings/a/0.mp4");
    await store.remove("recordings/a/0.mp4");
    assert.deepEqual(await keysOf("recordings/a/"), ["recordings/a/1.mp4 1000"]);
    assert.equal(await store.stat("recordings/a/0.mp4"), null);
    await assert.rejects(store.read("recordings/a/0.mp4"), FileMissing);
    await assert.rejects(store.put("recordings/c/0.mp4", join(folder, "missing.mp4")), { code: "ENOENT" });
  });

  test(`${name}: a read that is abandoned leaves nothing open`, async () => {
    const { path } = await makeFile(SIZES.at(-1) ?? 0);
    await store.put("videos/left.mp4", path);
    const pieces = await store.read("videos/left.mp4");
    assert.ok(((await pieces.next()).value?.length ?? 0) > 0);
    await pieces.return();
    assert.equal((await pieces.next()).done, true);
  });
}

test("a bucket that cannot be reached is reported as unavailable, and works when it is back", async () => {
  const store = stores[1] as FileStore;
  const { path, content } = await makeFile(SIZES.at(-1) ?? 0);
  await s3.stop();
  const isUnavailable = (error: unknown) => error instanceof ServiceError && error.code === "storage_unavailable";
  await assert.rejects(store.put("videos/away.mp4", path), isUnavailable);
  await assert.rejects(store.stat("videos/away.mp4"), isUnavailable);
  await assert.rejects(store.read("videos/away.mp4"), isUnavailable);
  await assert.rejects(store.remove("videos/away.mp4"), isUnavailable);
  await s3.startAgain();
  await store.put("videos/away.mp4", path);
  assert.ok((await collect(await store.read("videos/away.mp4"))).equals(content));
});

test("a put that its caller aborts rejects with the reason, and stores nothing", async () => {
  const store = stores[1] as FileStore;
  const { path } = await makeFile(SIZES.at(-1) ?? 0);
  await assert.rejects(store.put("videos/gone.mp4", path, AbortSignal.abort(new Error("the client left"))), {
    message: "the client left",
  });
  assert.equal(await store.stat("videos/gone.mp4"), null);
});
