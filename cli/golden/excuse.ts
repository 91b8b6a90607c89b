/** Which differences of single objects rounding explains: few of all objects, and no track for long. Pure. */
import type { Difference } from "./difference.ts";
import type { Tolerance } from "./tolerance.ts";

const OF_ONE_OBJECT: ReadonlySet<Difference["kind"]> = new Set(["missing", "extra", "class", "box", "confidence"]);

/** `objects` is how many were compared. */
export function findExcused(
  differences: readonly Difference[],
  objects: number,
  { frames, share }: Pick<Tolerance, "frames" | "share">,
): ReadonlySet<Difference> {
  const excused = groupByTrack(differences.filter(({ kind }) => OF_ONE_OBJECT.has(kind)))
    .flatMap(splitRuns)
    .filter((run) => lengthOf(run) <= frames)
    .flat();
  return new Set(excused.length <= Math.ceil((objects * share) / 100) ? excused : []);
}

function groupByTrack(differences: readonly Difference[]): readonly (readonly Difference[])[] {
  const tracks = new Map<string, Difference[]>();
  for (const difference of differences) {
    // The id of an object that is only there now is of the other run.
    const key = `${difference.kind === "extra"} ${difference.track}`;
    tracks.set(key, [...(tracks.get(key) ?? []), difference]);
  }
  return [...tracks.values()];
}

/** A frame in between in which the object is not compared, as neither run is confident of it, does not end a run. */
const MOST_APART = 2;

/** `differences` are in the order of frames. */
function splitRuns(differences: readonly Difference[]): readonly (readonly Difference[])[] {
  const runs: Difference[][] = [];
  for (const difference of differences) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run === undefined || frameOf(difference) - frameOf(last) > MOST_APART) runs.push([difference]);
    else run.push(difference);
  }
  return runs;
}

const frameOf = (difference: Difference | undefined): number => difference?.frame ?? 0;

/** In frames. */
const lengthOf = (run: readonly Difference[]): number => frameOf(run.at(-1)) - frameOf(run[0]) + 1;
