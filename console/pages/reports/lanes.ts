/** Bars of a time line, in as few lanes as there are tracks at a time. Pure. */

export interface Span {
  /** Seconds. */
  readonly first_seen: number;
  readonly last_seen: number;
}

export interface Bar<T> {
  readonly track: T;
  readonly lane: number;
  /** Fractions of the whole. */
  readonly left: number;
  readonly width: number;
}

/** Narrower ones could neither be seen nor be hit. */
const LEAST_WIDTH = 0.006;
/** Fractions are not exact: where one ends another may begin. */
const NEARLY = 1e-9;

/** In the order in which tracks came. */
export function layOut<T extends Span>(tracks: readonly T[]): readonly Bar<T>[] {
  const { from, to } = spanOf(tracks);
  const ends: number[] = [];
  return [...tracks]
    .sort((a, b) => a.first_seen - b.first_seen)
    .map((track) => {
      const width = Math.max(LEAST_WIDTH, (track.last_seen - track.first_seen) / (to - from));
      const left = Math.min((track.first_seen - from) / (to - from), 1 - width);
      const free = ends.findIndex((end) => end <= left + NEARLY);
      const lane = free === -1 ? ends.length : free;
      ends[lane] = left + width;
      return { track, lane, left, width };
    });
}

/** At least a second, so that one glimpse has a place in it. */
export function spanOf(tracks: readonly Span[]): { readonly from: number; readonly to: number } {
  const from = Math.min(...tracks.map((track) => track.first_seen));
  return { from, to: Math.max(...tracks.map((track) => track.last_seen), from + 1) };
}
