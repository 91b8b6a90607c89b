/** Real clips, out of Debian's packages: what the demo shows, and tests look at. */
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

export const clipsFolder = (): string => join(cacheFolder(), "clips");

export const clipFile = (name: string): string => join(clipsFolder(), name);
