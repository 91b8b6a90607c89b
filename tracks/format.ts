/**
 * The contract of a file format for tracks, and how numbers are written. Each format is one file and a name in formats.ts.
 * A format is pure and writes one track at a time, so that a file of any length needs little memory.
 */
import type { TrackPoint, TrackSummary } from "../schemas/track-report.ts";

/** A track with the points of its path, by time. */
export interface WholeTrack extends TrackSummary {
  readonly points: readonly TrackPoint[];
}

export interface TracksOrigin {
  /** Alias or name of the source. */
  readonly title: string;
  /** Null on the command line. */
  readonly processUuid: string | null;
}

export interface TracksFormat {
  readonly mediaType: string;
  /** Without a dot. */
  readonly extension: string;
  writeHead(origin: TracksOrigin): string;
  /** `isFirst`: no track was written before. Returns an empty string for a track that the format skips. */
  writeTrack(track: WholeTrack, isFirst: boolean): string;
  writeFoot(): string;
}

const round = (value: number, parts: number): number => Math.round(value * parts) / parts + 0;

/** To a centimetre: 1e-7 degrees. */
export const roundDegrees = (degrees: number): number => round(degrees, 10_000_000);
/** To a centimetre. */
export const roundMetres = (metres: number): number => round(metres, 100);
export const roundAngle = (degrees: number): number => round(degrees, 10) % 360;
/** From 0 to 1 → from 0 to 100, to a hundredth, as everywhere in the API. */
export const toPercent = (share: number): number => round(share * 100, 100);

export const toTime = (ms: number): string => new Date(ms).toISOString();

/** Without an exponent (`1e-7`), which not every reader accepts. */
export const writePlain = (value: number): string => (Math.abs(value) < 1e-6 ? value.toFixed(7) : String(value));
