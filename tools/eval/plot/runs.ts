/** What each object was matched with over time, and in which colours that is shown. */
import type { SequenceScores } from "../metrics/score-mot.ts";

/** Frames in a row in which an object was matched with the same track, or with none (-1). */
export interface Run {
  readonly track: number;
  /** From 0. */
  readonly first: number;
  readonly last: number;
}

/** The runs of every object, by its number. Where an object is not in the picture there is no run. */
export function findRuns({
  comparison,
  matches,
}: Pick<SequenceScores, "comparison" | "matches">): readonly (readonly Run[])[] {
  const runs: Run[][] = comparison.objectIds.map(() => []);
  for (const [frame, { objects }] of comparison.frames.entries())
    for (const [row, object] of objects.entries()) {
      const track = matches[frame]?.[row] ?? -1;
      const ofObject = runs[object] as Run[];
      const latest = ofObject.at(-1);
      if (latest !== undefined && latest.track === track && latest.last === frame - 1)
        ofObject[ofObject.length - 1] = { ...latest, last: frame };
      else ofObject.push({ track, first: frame, last: frame });
    }
  return runs;
}

/**
 * The colour of each track, as one of `count`: tracks that follow one another on an object differ, so that a switch is
 * seen as a change, unless one track has switched with more others than there are colours.
 */
export function colourTracks(runs: readonly (readonly Run[])[], trackCount: number, count: number): Int32Array {
  const neighbours: Set<number>[] = Array.from({ length: trackCount }, () => new Set());
  for (const ofObject of runs) {
    const tracks = ofObject.map(({ track }) => track).filter((track) => track !== -1);
    for (const [index, track] of tracks.entries()) {
      const next = tracks[index + 1];
      if (next === undefined || next === track) continue;
      neighbours[track]?.add(next);
      neighbours[next]?.add(track);
    }
  }
  const colours = new Int32Array(trackCount).fill(-1);
  for (const [track, beside] of neighbours.entries()) {
    const taken = new Set([...beside].map((other) => colours[other]));
    const wanted = Array.from({ length: count }, (_, step) => (track + step) % count);
    colours[track] = wanted.find((colour) => !taken.has(colour)) ?? track % count;
  }
  return colours;
}
