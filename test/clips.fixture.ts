/** Real clips for tests; `test/fetch-clips.ts` puts them into the cache. */
import { existsSync } from "node:fs";
import { type CLIPS, clipFile } from "../clips/clips.ts";

/** Null where it could not be fetched: skip, with `MISSING_CLIP` as the reason. */
export function testClip(name: keyof typeof CLIPS): string | null {
  const file = clipFile(name);
  return existsSync(file) ? file : null;
}

export const MISSING_CLIP =
  "the clip is not in the cache; `node --import tsx test/fetch-clips.ts` fetches it, or says why not";
