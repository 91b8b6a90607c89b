import assert from "node:assert/strict";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { makeClip } from "./clip.fixture.ts";
import { withFolder } from "./decode.fixture.ts";
import { findIntact, findRandomAccess, type Intact, writeRandomAccess } from "./fragment-index.ts";
import { type Fragment, Fragmenter } from "./fragmenter.ts";
import { writeInitSegment } from "./init-segment.ts";

const clip = makeClip({ seconds: 2, gop: 15, hasAudio: true, size: "64x64" });
const head = writeInitSegment(clip.tracks);
const fragments = makeFragments();
const whole = Buffer.concat([head, ...fragments.map(({ data }) => data)]);
/** Where each fragment ends. */
const ends = fragments.map((_, i) =>
  fragments.slice(0, i + 1).reduce((sum, { data }) => sum + data.length, head.length),
);

function makeFragments(): Fragment[] {
  const fragmenter = new Fragmenter(clip.tracks);
  const made: (Fragment | null)[] = [];
  for (const unit of clip.units) {
    fragmenter.add(unit);
    if (fragmenter.readyUs >= 300_000) made.push(fragmenter.cut());
  }
  made.push(fragmenter.drain());
  return made.filter((one) => one !== null);
}

async function check(bytes: Uint8Array): Promise<Intact> {
  return withFolder(async (folder) => {
    const name = join(folder, "cut.mp4");
    await writeFile(name, bytes);
    const file = await open(name);
    try {
      return await findIntact(file);
    } finally {
      await file.close();
    }
  });
}

test("describes an intact file", async () => {
  const { bytes, durationUs, fragments: found } = await check(whole);
  assert.equal(bytes, whole.length);
  assert.equal(durationUs, 2_000_000);
  assert.deepEqual(
    found.map(({ startUs, durationUs, endUs, isKey, pictures }) => ({ startUs, durationUs, endUs, isKey, pictures })),
    fragments.map(({ startUs, durationUs, endUs, isKey, pictures }) => ({
      startUs,
      durationUs,
      endUs,
      isKey,
      pictures,
    })),
  );
});

test("finds the last whole fragment of a file truncated anywhere", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.length }), async (length) => {
      const { bytes } = await check(whole.subarray(0, length));
      assert.equal(bytes, Math.max(0, ...ends.filter((end) => end <= length)));
    }),
    { numRuns: 60 },
  );
});

test("damage is not an error, and never yields more than the intact part", async () => {
  const damage = fc.tuple(fc.integer({ min: 0, max: whole.length - 1 }), fc.integer({ min: 1, max: 255 }));
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 8 }), async (damages) => {
      const bytes = Buffer.from(whole);
      for (const [at, by] of damages) bytes[at] = (bytes[at] ?? 0) ^ by;
      assert.ok((await check(bytes)).bytes <= whole.length);
    }),
    { numRuns: 60 },
  );
});

test("the list of where to seek to is found at the end, and only there", () => {
  const list = writeRandomAccess(ends.map((offset) => ({ offset, startUs: 0, isKey: true })));
  const size = whole.length + list.length;
  assert.equal(findRandomAccess(list.subarray(-64), size), whole.length);
  assert.equal(findRandomAccess(whole.subarray(-64), whole.length), null);
  assert.equal(findRandomAccess(Buffer.of(), 0), null);
});
