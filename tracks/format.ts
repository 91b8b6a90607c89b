/**
 * The contract of a file format for tracks: one file a format, another one is one more file and its name in formats.ts.
 * Pure, and of one track at a time, so that a file of any length is written in little memory.
 */
import type { TrackPoint, TrackSummary } from "../schemas/track-report.ts";

/** A track with the points of its path, by time. */
export interface WholeTrack extends TrackSummary {
  readonly points: readonly TrackPoint[];
}

/** What the tracks are of. */
export interface TracksOrigin {
  /** For people: the alias or name of the source. */
  readonly title: string;
  /** Null where there is none: on the command line. */
  readonly processUuid: string | null;
}

export interface TracksFormat {
  readonly mediaType: string;
  /** Of file names, without a dot. */
  readonly extension: string;
  writeHead(origin: TracksOrigin): string;
  /** `isFirst`: no track was written before it. Empty where the format has nothing to say of it. */
  writeTrack(track: WholeTrack, isFirst: boolean): string;
  writeFoot(): string;
}
