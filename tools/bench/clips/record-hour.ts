/** An hour of a film in files as the media hub writes them, in a moment. */
import { join } from "node:path";
import { SegmentFile } from "../../../hub/recorder/segment-file.ts";
import type { AccessUnit } from "../../../media/access-unit.ts";
import { NAL, nalType } from "../../../media/h264/nal.ts";
import { Fragmenter } from "../../../media/mp4/fragmenter.ts";
import { type Film, FRAMES_PER_SECOND } from "../media/film.ts";

interface HourOptions {
  /** Of the recording: `<folder>/<index>.mp4`. */
  readonly folder: string;
  /** Of the first file. */
  readonly index: number;
  readonly startedAtMs: number;
}

const FILES = 6;
const FILE_SECONDS = 600;
/** Frames of a fragment. */
const FRAGMENT = FRAMES_PER_SECOND / 2;

export async function recordHour(film: Film, { folder, index, startedAtMs }: HourOptions): Promise<void> {
  for (let file = 0; file < FILES; file++) {
    const fileMs = startedAtMs + file * FILE_SECONDS * 1000;
    const fragments = cutFragments(film, fileMs);
    const first = fragments.next();
    if (first.done === true) throw new Error("a film without frames");
    const label = { path: "bench/yard", startedAtMs: fileMs };
    const segment = await SegmentFile.create(join(folder, `${index + file}.mp4`), film.tracks, label, first.value);
    for (const fragment of fragments) await segment.append(fragment);
    await segment.finish();
  }
}

function* cutFragments({ tracks, pictures }: Film, fileMs: number) {
  const fragmenter = new Fragmenter(tracks);
  const frames = FILE_SECONDS * FRAMES_PER_SECOND;
  for (let frame = 0; frame < frames; frame++) {
    const parts = pictures[frame % pictures.length] ?? [];
    const ptsUs = Math.round((frame * 1e6) / FRAMES_PER_SECOND);
    const isKey = parts.some((nal) => nalType(nal) === NAL.idr);
    fragmenter.add({
      kind: "video",
      dtsUs: ptsUs,
      ptsUs,
      captureMs: fileMs + ptsUs / 1000,
      isKey,
      parts,
    } as AccessUnit);
    const fragment = frame > 0 && frame % FRAGMENT === 0 ? fragmenter.cut() : null;
    if (fragment !== null) yield fragment;
  }
  const rest = fragmenter.drain();
  if (rest !== null) yield rest;
}
