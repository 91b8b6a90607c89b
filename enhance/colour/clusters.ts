/** Pixels of like colour, by k-means. The same pixels give the same clusters: nothing is drawn by lot. */
import { hueCounts, type Lab } from "./lab.ts";

export interface Clusters {
  readonly centres: readonly Lab[];
  /** The cluster of each pixel. */
  readonly of: Uint8Array;
}

const ROUNDS = 12;
/** Light and shade make one paint brighter and darker: that counts less than its hue. */
const LIGHTNESS_COUNTS = 0.6;

export function cluster(lab: Float32Array, count: number): Clusters {
  const of = new Uint8Array(lab.length / 3);
  let centres = chooseCentres(lab, count);
  for (let round = 0; round < ROUNDS; round++) {
    assign(lab, centres, of);
    centres = average(lab, of, centres);
  }
  assign(lab, centres, of);
  return { centres, of };
}

/** Each as far as can be from those before, the first the one nearest to the mean. */
function chooseCentres(lab: Float32Array, count: number): Lab[] {
  const everything = average(lab, new Uint8Array(lab.length / 3), [[0, 0, 0]])[0] as Lab;
  const farness = new Float32Array(lab.length / 3).fill(Number.POSITIVE_INFINITY);
  const first = findBest(lab, (index) => -apart(lab, index, everything));
  const centres = [pixel(lab, first)];
  while (centres.length < count) {
    const last = centres.at(-1) as Lab;
    for (let i = 0; i < farness.length; i++) farness[i] = Math.min(farness[i] as number, apart(lab, i, last));
    const next = findBest(lab, (index) => farness[index] as number);
    if ((farness[next] as number) < 1) break;
    centres.push(pixel(lab, next));
  }
  return centres;
}

function findBest(lab: Float32Array, score: (index: number) => number): number {
  let [best, bestScore] = [0, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < lab.length / 3; i++) {
    const found = score(i);
    if (found > bestScore) [best, bestScore] = [i, found];
  }
  return best;
}

function assign(lab: Float32Array, centres: readonly Lab[], of: Uint8Array): void {
  for (let i = 0; i < of.length; i++) {
    let [best, least] = [0, Number.POSITIVE_INFINITY];
    for (const [k, centre] of centres.entries()) {
      const distance = apart(lab, i, centre);
      if (distance < least) [best, least] = [k, distance];
    }
    of[i] = best;
  }
}

/** One that nobody belongs to stays where it was. */
function average(lab: Float32Array, of: Uint8Array, centres: readonly Lab[]): Lab[] {
  const sums = centres.map(() => [0, 0, 0, 0] as [number, number, number, number]);
  for (let i = 0; i < of.length; i++) {
    const sum = sums[of[i] as number] as [number, number, number, number];
    sum[0] += lab[i * 3] as number;
    sum[1] += lab[i * 3 + 1] as number;
    sum[2] += lab[i * 3 + 2] as number;
    sum[3]++;
  }
  return sums.map(([l, a, b, count], k) => (count === 0 ? (centres[k] as Lab) : [l / count, a / count, b / count]));
}

function apart(lab: Float32Array, index: number, [l, a, b]: Lab): number {
  const lightness = lab[index * 3] as number;
  const [dl, da, db] = [lightness - l, (lab[index * 3 + 1] as number) - a, (lab[index * 3 + 2] as number) - b];
  return (dl * LIGHTNESS_COUNTS) ** 2 + (da * da + db * db) * hueCounts((lightness + l) / 2) ** 2;
}

const pixel = (lab: Float32Array, index: number): Lab => [
  lab[index * 3] as number,
  lab[index * 3 + 1] as number,
  lab[index * 3 + 2] as number,
];
