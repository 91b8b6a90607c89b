/**
 * The tracks of a runner as a text that its successor continues from, so that objects keep their ids when a runner is
 * replaced. Pure.
 */
import type { AxisState } from "./kalman.ts";

/** Times are seconds before that of the state. */
export interface KeptTrack {
  readonly id: number;
  readonly classId: number;
  readonly confidence: number;
  readonly usualConfidence: number;
  readonly hits: number;
  readonly bornS: number;
  readonly seenS: number;
  readonly sureS: number;
  /** Centre and size. */
  readonly axes: readonly AxisState[];
}

export interface KeptTracks {
  /** Capture time of the last inferred frame. */
  readonly captureMs: number;
  /** Usual interval between inferences; null if unknown. */
  readonly usualS: number | null;
  readonly tracks: readonly KeptTrack[];
  /** Of classes, by id. */
  readonly names: readonly (readonly [classId: number, name: string])[];
}

/** Of a text; about 300 characters each. */
const MAX_TRACKS = 150;
const FORMAT = "tracks-1";
const AXES = 4;
const PER_AXIS = 5;
const PLAIN = ["id", "classId", "confidence", "usualConfidence", "hits", "bornS", "seenS", "sureS"] as const;
const DIGITS = 6;

/** The most recently seen, if there are too many. */
export function writeKept({ captureMs, usualS, tracks, names }: KeptTracks): string {
  const recent = tracks.toSorted((a, b) => a.seenS - b.seenS).slice(0, MAX_TRACKS);
  const used = new Set(recent.map(({ classId }) => classId));
  const rows = recent.map((track) => [...PLAIN.map((name) => track[name]), ...track.axes.flat()].map(shorten));
  return JSON.stringify([FORMAT, captureMs, usualS, rows, names.filter(([classId]) => used.has(classId))]);
}

const shorten = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)));

/** Null for a text that `writeKept` has not written: the graph may have changed. */
export function readKept(text: string): KeptTracks | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(value) || value[0] !== FORMAT) return null;
  const [, captureMs, usualS, rows, names] = value as [string, number, number | null, number[][], KeptTracks["names"]];
  return { captureMs, usualS, tracks: rows.map(readTrack).filter((track) => track !== null), names };
}

function readTrack(row: readonly number[]): KeptTrack | null {
  if (row.length !== PLAIN.length + AXES * PER_AXIS || !row.every(Number.isFinite)) return null;
  const plain = Object.fromEntries(PLAIN.map((name, at) => [name, row[at]])) as Omit<KeptTrack, "axes">;
  const axes = Array.from({ length: AXES }, (_, axis) => {
    const from = PLAIN.length + axis * PER_AXIS;
    return row.slice(from, from + PER_AXIS) as unknown as AxisState;
  });
  return { ...plain, axes };
}
