/**
 * Fetches the clips that the tests look at, once, into the cache. A machine without apt or without a network does without
 * them: the tests that need one are skipped, and this says why.
 *
 *   node --import tsx test/fetch-clips.ts
 */
import { CLIPS, clipFile, fetchClip } from "../clips/clips.ts";

for (const [name, clip] of Object.entries(CLIPS)) {
  try {
    await fetchClip(clipFile(name), clip);
  } catch (error) {
    console.error(`${name} cannot be had: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
