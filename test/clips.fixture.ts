/** Real clips for tests; `test/prepare.ts` downloads them into the cache. */
import { existsSync } from "node:fs";
import { type CLIPS, clipFile } from "../clips/clips.ts";

/** Null when it is not in the cache: skip the test with the reason `MISSING_CLIP`. */
export function testClip(name: keyof typeof CLIPS): string | null {
  const file = clipFile(name);
  return existsSync(file) ? file : null;
}

export const MISSING_CLIP =
  "the clip is not in the cache; `node --import tsx test/prepare.ts` downloads it or prints the reason";
