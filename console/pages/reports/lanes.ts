/** Lays out the bars of a time line in as few lanes as possible. Pure. */

interface Span {
  /** Seconds. */
  readonly first_seen: number;
  readonly last_seen: number;
}

interface Bar<T> {
  readonly track: T;
  readonly lane: number;
  /** Fractions of the time line. */
  readonly left: number;
  readonly width: number;
}

/** Narrower bars could not be clicked. */
const MIN_WIDTH = 0.006;
/** Rounding: a bar may begin where another one ends. */
const EPSILON = 1e-9;

/** In order of `first_seen`. */
export function layOut<T extends Span>(tracks: readonly T[]): readonly Bar<T>[] {
  const { from, to } = rangeOf(tracks);
  const ends: number[] = [];
  return [...tracks]
    .sort((a, b) => a.first_seen - b.first_seen)
    .map((track) => {
      const width = Math.max(MIN_WIDTH, (track.last_seen - track.first_seen) / (to - from));
      const left = Math.min((track.first_seen - from) / (to - from), 1 - width);
      const free = ends.findIndex((end) => end <= left + EPSILON);
      const lane = free === -1 ? ends.length : free;
      ends[lane] = left + width;
      return { track, lane, left, width };
    });
}

/** At least a second long, also for a single detection. */
export function rangeOf(tracks: readonly Span[]): { readonly from: number; readonly to: number } {
  const from = Math.min(...tracks.map((track) => track.first_seen));
  return { from, to: Math.max(...tracks.map((track) => track.last_seen), from + 1) };
}
