import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { readMember } from "./read-tar.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-tar-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const LONG = `package/${"deep/".repeat(40)}weights.tflite`;
const FILES: Readonly<Record<string, Buffer>> = {
  "package/empty": Buffer.alloc(0),
  "package/readme.md": Buffer.from("hello\n"),
  "package/exact.bin": Buffer.alloc(1024, 7),
  [LONG]: Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 251)),
  "package/a.tflite": Buffer.alloc(513, 9),
};

function pack(format: string): Buffer {
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const archive = join(folder, `${format}.tar`);
  execFileSync("tar", ["-C", folder, `--format=${format}`, "-cf", archive, "package/readme.md", "package"]);
  return readFileSync(archive);
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(archive: Uint8Array, member: string, size = 64 * 1024): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readMember(inPieces(archive, size), member)) pieces.push(piece);
  return Buffer.concat(pieces);
}

for (const format of ["ustar", "pax", "gnu"])
  test(`reads every file of an archive in the format ${format}`, async () => {
    const archive = pack(format);
    for (const [name, content] of Object.entries(FILES)) {
      // ustar cannot store names this long.
      if (format === "ustar" && name === LONG && !archive.includes("deep/")) continue;
      assert.deepEqual(await read(archive, name), content, name);
    }
  });

test("reads an archive in chunks of any size", async () => {
  const archive = pack("pax");
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 40, max: 3000 }), async (size) => {
      assert.deepEqual(await read(archive, LONG, size), FILES[LONG]);
    }),
    { numRuns: 10 },
  );
});

test("rejects an archive that is truncated anywhere before the end of the file", async () => {
  const archive = pack("gnu");
  const end = archive.lastIndexOf(FILES["package/a.tflite"] ?? "") + 513;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: end - 1 }), async (length) => {
      await assert.rejects(read(archive.subarray(0, length), "package/a.tflite"));
    }),
    { numRuns: 50 },
  );
  await assert.rejects(read(archive.subarray(0, end - 1), "package/a.tflite"), /ends in the middle of a file/);
});

test("names a missing member, and members with the same extension", async () => {
  await assert.rejects(
    read(pack("pax"), "package/b.tflite"),
    /the archive does not contain package\/b\.tflite; it contains .*package\/a\.tflite/,
  );
});

test("rejects a file that is not an archive, and does not loop", async () => {
  await assert.rejects(read(Buffer.alloc(2000, 1), "a"), /not a tar archive/);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 2000 }), async (bytes) => {
      await assert.rejects(read(bytes, "a"));
    }),
  );
});

test("closes the archive as soon as the file is read", async () => {
  let isClosed = false;
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      yield* inPieces(pack("pax"), 512);
    } finally {
      isClosed = true;
    }
  }
  for await (const _ of readMember(source(), "package/readme.md"));
  assert.ok(isClosed);
});
