/** All tracking scores, per sequence and combined. */
import {
  addClear,
  addIdentity,
  type ClearCounts,
  countClear,
  countIdentity,
  type IdentityCounts,
  idf1Of,
  type Matches,
  matchFrames,
  motaOf,
} from "./clear.ts";
import type { MotSequence } from "./compare.ts";
import { type Comparison, compare } from "./compare.ts";
import { addHota, countHota, drawHota, type HotaCounts, type HotaCurves } from "./hota.ts";

/** Shares are from 0 to 1; those of HOTA are means over all overlaps. */
export interface MotScores {
  readonly hota: number;
  readonly detA: number;
  readonly assA: number;
  readonly locA: number;
  readonly mota: number;
  readonly idf1: number;
  /** Times an object was matched with another track than before. */
  readonly switches: number;
  /** Boxes of results that lie on no object. */
  readonly surplus: number;
  /** Boxes of the ground truth that were not found. */
  readonly missed: number;
  readonly mostlyTracked: number;
  readonly mostlyLost: number;
  readonly objects: number;
  readonly curves: HotaCurves;
}

export interface SequenceScores extends MotScores {
  readonly name: string;
  readonly frames: number;
  readonly comparison: Comparison;
  /** The matches of CLEAR MOT. */
  readonly matches: Matches;
}

interface Counts {
  readonly hota: HotaCounts;
  readonly clear: ClearCounts;
  readonly identity: IdentityCounts;
}

/** Throws if the numbers of frames differ or an id occurs twice in a frame. */
export function scoreMot(sequences: readonly MotSequence[]): {
  readonly sequences: readonly SequenceScores[];
  readonly combined: MotScores;
} {
  const counted = sequences.map((sequence) => {
    const comparison = compare(sequence);
    const matches = matchFrames(comparison);
    const counts: Counts = {
      hota: countHota(comparison),
      clear: countClear(comparison, matches),
      identity: countIdentity(comparison),
    };
    return { name: sequence.name, frames: sequence.truth.length, comparison, matches, counts };
  });
  const combined = {
    hota: addHota(counted.map(({ counts }) => counts.hota)),
    clear: addClear(counted.map(({ counts }) => counts.clear)),
    identity: addIdentity(counted.map(({ counts }) => counts.identity)),
  };
  return {
    sequences: counted.map(({ counts, ...rest }) => ({ ...rest, ...sumUp(counts) })),
    combined: sumUp(combined),
  };
}

function sumUp({ hota, clear, identity }: Counts): MotScores {
  const curves = drawHota(hota);
  return {
    hota: mean(curves.hota),
    detA: mean(curves.detA),
    assA: mean(curves.assA),
    locA: mean(curves.locA),
    mota: motaOf(clear),
    idf1: idf1Of(identity),
    switches: clear.switches,
    surplus: clear.surplus,
    missed: clear.missed,
    mostlyTracked: clear.mostlyTracked,
    mostlyLost: clear.mostlyLost,
    objects: clear.objects,
    curves,
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
