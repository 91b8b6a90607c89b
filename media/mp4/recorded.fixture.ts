/** Files as the media hub records them. */
import type { Tracks } from "../access-unit.ts";
import type { Clip as Published } from "./clip.fixture.ts";
import type { ClipFile } from "./clip.ts";
import { writeRandomAccess } from "./fragment-index.ts";
import { type Fragment, Fragmenter } from "./fragmenter.ts";
import { writeInitSegment } from "./init-segment.ts";

function toFile(tracks: Tracks, fragments: readonly Fragment[], startedAtMs: number, isFinished: boolean): ClipFile {
  const parts = [writeInitSegment(tracks)];
  let bytes = parts[0]?.length ?? 0;
  const placed = fragments.map((fragment) => {
    const offset = bytes;
    bytes += fragment.data.length;
    parts.push(fragment.data);
    return { ...fragment, offset };
  });
  if (isFinished) parts.push(writeRandomAccess(placed));
  const whole = Buffer.concat(parts);
  return {
    startedAtMs,
    bytes: whole.length,
    read: async (from, count) => whole.subarray(from, from + count),
  };
}

/** As recorded: files of `seconds`, each from a keyframe on; the last is not finished. */
export function record({ tracks, units }: Published, seconds: number, skipped: readonly number[] = []): ClipFile[] {
  const files: ClipFile[] = [];
  let fragmenter: Fragmenter | null = null;
  let fragments: Fragment[] = [];
  let [zeroUs, startedAtMs] = [0, 0];
  const keep = (fragment: Fragment | null | undefined): void => void (fragment != null && fragments.push(fragment));
  const close = (isFinished: boolean): void => {
    if (fragmenter !== null) files.push(toFile(tracks, fragments, startedAtMs, isFinished));
    fragments = [];
  };
  for (const unit of units) {
    if (unit.kind === "video" && unit.isKey && (fragmenter === null || unit.dtsUs - zeroUs >= seconds * 1e6 - 1)) {
      keep(fragmenter?.finish(unit));
      close(true);
      fragmenter = new Fragmenter(tracks, { zeroUs: unit.dtsUs });
      zeroUs = unit.dtsUs;
      startedAtMs = unit.captureMs - (unit.ptsUs - unit.dtsUs) / 1000;
    }
    fragmenter?.add(unit);
    if ((fragmenter?.readyUs ?? 0) >= 400_000) keep(fragmenter?.cut());
  }
  keep(fragmenter?.drain());
  close(false);
  return files.filter((_, i) => !skipped.includes(i));
}
