import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Random } from "../flight/world.ts";

/** `npm test` runs soak tests with the small number, `npm run soak -- NAME` with the large one. */
export const rounds = (short: number, full: number): number => (process.env.WINDHOVER_SOAK === "1" ? full : short);

/** Reproducible random numbers: tests print the seed on failure, and WINDHOVER_SEED sets it. */
export function seededRandom(seed = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9)): {
  seed: number;
  next(): number;
} {
  const random = new Random(seed);
  return { seed, next: () => random.next() };
}

/** Call it before every reading of memory: garbage is not a leak. */
export const collectGarbage: () => void = (() => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
})();

export const rssMb = (): number => process.memoryUsage().rss / 2 ** 20;

/** Prints progress to stderr in long runs. */
export function progress(what: string, done: number, of: number): void {
  if (process.env.WINDHOVER_SOAK === "1" && done % Math.max(1, Math.floor(of / 10)) === 0)
    process.stderr.write(`${what}: ${done} of ${of}, ${rssMb().toFixed(0)} MB\n`);
}
