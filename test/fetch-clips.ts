/**
 * Downloads the clips of the tests into the cache, once. Without apt or a network it prints the reason, and tests that
 * need a clip are skipped.
 *
 *   node --import tsx test/fetch-clips.ts
 */
import { CLIPS, clipFile, fetchClip } from "../clips/clips.ts";

for (const [name, clip] of Object.entries(CLIPS)) {
  try {
    await fetchClip(clipFile(name), clip);
  } catch (error) {
    console.error(`${name} is not available: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
