/** Real clips for tests, from Debian's packages; `test/fetch-clips.ts` puts them into the cache. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../models/cache.ts";

export interface Clip {
  /** Debian package that holds it. */
  readonly deb: string;
  readonly member: string;
  readonly sha256: string;
}

export const CLIPS = {
  /** Pedestrians on a campus, 768×576, 795 frames. */
  "vtest.avi": {
    deb: "opencv-doc",
    member: "./usr/share/doc/opencv-doc/examples/data/vtest.avi",
    sha256: "45cddc9490be69345cbdab64ca583be65987e864ca408038e648db99e10516cf",
  },
} as const satisfies Readonly<Record<string, Clip>>;

export const clipFile = (name: string): string => join(cacheFolder(), "clips", name);

/** Null where it could not be fetched: skip, with `MISSING_CLIP` as the reason. */
export function testClip(name: keyof typeof CLIPS): string | null {
  const file = clipFile(name);
  return existsSync(file) ? file : null;
}

export const MISSING_CLIP =
  "the clip is not in the cache; `node --import tsx test/fetch-clips.ts` fetches it, or says why not";
