/** Pixels of like colour, by k-means. The same pixels give the same clusters: nothing is drawn by lot. */
import { hueCounts, type Lab } from "./lab.ts";

export interface Clusters {
  readonly centres: readonly Lab[];
  /** The cluster of each pixel. */
  readonly of: Uint8Array;
}

/** Three numbers each, one after the other. */
type Triples = Float32Array;

const ROUNDS = 10;
/** Light and shade make one paint brighter and darker: that counts less than its hue. */
const LIGHTNESS_COUNTS = 0.6;

export function cluster(lab: Triples, count: number): Clusters {
  const traits = readTraits(lab);
  const of = new Uint8Array(lab.length / 3);
  let centres = chooseCentres(traits, count);
  for (let round = 0; round < ROUNDS; round++) {
    assign(traits, centres, of);
    centres = average(traits, of, centres);
  }
  assign(traits, centres, of);
  const means = average(lab, of, centres);
  return { centres: Array.from({ length: means.length / 3 }, (_, k) => tripleOf(means, k)), of };
}

/** What pixels are compared by. */
function readTraits(lab: Triples): Triples {
  const traits = new Float32Array(lab.length);
  for (let i = 0; i < lab.length; i += 3) {
    const counts = hueCounts(lab[i] as number);
    traits[i] = (lab[i] as number) * LIGHTNESS_COUNTS;
    traits[i + 1] = (lab[i + 1] as number) * counts;
    traits[i + 2] = (lab[i + 2] as number) * counts;
  }
  return traits;
}

/** Each as far as can be from those before, the first the one nearest to the mean. */
function chooseCentres(traits: Triples, count: number): Triples {
  const pixels = traits.length / 3;
  const middle = average(traits, new Uint8Array(pixels), new Float32Array(3));
  const farness = Float32Array.from({ length: pixels }, (_, i) => -apart(traits, i, middle, 0));
  const chosen = [findLargest(farness)];
  farness.fill(Number.POSITIVE_INFINITY);
  while (chosen.length < count) {
    const last = chosen.at(-1) as number;
    for (let i = 0; i < pixels; i++) farness[i] = Math.min(farness[i] as number, apart(traits, i, traits, last));
    const next = findLargest(farness);
    if ((farness[next] as number) < 1) break;
    chosen.push(next);
  }
  return Float32Array.from(chosen.flatMap((index) => [...tripleOf(traits, index)]));
}

function findLargest(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}

function assign(traits: Triples, centres: Triples, of: Uint8Array): void {
  for (let i = 0; i < of.length; i++) {
    let best = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let k = 0; k < centres.length / 3; k++) {
      const distance = apart(traits, i, centres, k);
      if (distance < least) {
        best = k;
        least = distance;
      }
    }
    of[i] = best;
  }
}

/** One that nobody belongs to stays where it was. */
function average(values: Triples, of: Uint8Array, before: Triples): Triples {
  const sums = new Float64Array(before.length);
  const counts = new Uint32Array(before.length / 3);
  for (let i = 0; i < of.length; i++) {
    const k = of[i] as number;
    counts[k] = (counts[k] as number) + 1;
    for (let c = 0; c < 3; c++) sums[k * 3 + c] = (sums[k * 3 + c] as number) + (values[i * 3 + c] as number);
  }
  return Float32Array.from(before, (value, place) => {
    const count = counts[Math.floor(place / 3)] as number;
    return count === 0 ? value : (sums[place] as number) / count;
  });
}

function apart(some: Triples, index: number, others: Triples, other: number): number {
  const first = (some[index * 3] as number) - (others[other * 3] as number);
  const second = (some[index * 3 + 1] as number) - (others[other * 3 + 1] as number);
  const third = (some[index * 3 + 2] as number) - (others[other * 3 + 2] as number);
  return first * first + second * second + third * third;
}

const tripleOf = (values: Triples, index: number): Lab => [
  values[index * 3] as number,
  values[index * 3 + 1] as number,
  values[index * 3 + 2] as number,
];
