/**
 * Makes what tests use, and would otherwise make during their run, several of them the same at once: clips that are downloaded
 * into the cache, the database that is copied, and the videos that take longest to paint and to encode. The set-up calls it.
 * Tests make what is missing; those whose clip could not be downloaded are skipped.
 *
 *   node --import tsx test/prepare.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLIPS, clipFile, fetchClip } from "../clips/clips.ts";
import { findTemplate } from "../server/store/database-template.fixture.ts";
import { CLIP_SECONDS, makeMarked } from "./api/evidence.fixture.ts";
import { reduceClip } from "./api/people.fixture.ts";
import { makeCampus, SLOW } from "./browser/console-visitor.fixture.ts";
import { testClip } from "./clips.fixture.ts";
import { keepMp4, SERVICE_SHOT } from "./flight/render.ts";
import { encodeStreet, paintStreet } from "./golden/street.fixture.ts";

/** Lengths of the street that most tests use. */
const STREET_FRAMES = [50, 75, 100];

for (const [name, clip] of Object.entries(CLIPS)) {
  console.log(`clip ${name}`);
  try {
    await fetchClip(clipFile(name), clip);
  } catch (error) {
    console.error(`${name} is not available: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}

console.log("database");
await findTemplate();
console.log("videos");
const folder = await mkdtemp(join(tmpdir(), "windhover-prepare-"));
try {
  await keepMp4(SERVICE_SHOT);
  for (const frames of STREET_FRAMES) await encodeStreet(folder, frames);
  paintStreet(join(folder, "street.y4m"));
  const people = testClip("vtest.avi");
  if (people !== null) {
    await reduceClip(people, 80, 10);
    makeMarked(people, CLIP_SECONDS);
    for (const times of [1, SLOW.times]) await makeCampus(folder, times);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
// GStreamer's plugins have threads of their own that would be waited for.
process.exit();
