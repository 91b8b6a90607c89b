import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** `npm test` runs every soak with the small number, `npm run soak -- NAME` with the large one. */
export const rounds = (short: number, full: number): number => (process.env.WINDHOVER_SOAK === "1" ? full : short);

/** Random, but the same again for the same seed; a failure names the seed to try it with. */
export function seededRandom(seed = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9)): {
  seed: number;
  next(): number;
} {
  let state = seed >>> 0;
  return {
    seed,
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}

/** Garbage that JavaScript has not collected yet is no leak: collected before every reading. */
export const collectGarbage: () => void = (() => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
})();

export const rssMb = (): number => process.memoryUsage().rss / 2 ** 20;

/** Progress on standard error, for a person who waits. */
export function progress(what: string, done: number, of: number): void {
  if (process.env.WINDHOVER_SOAK === "1" && done % Math.max(1, Math.floor(of / 10)) === 0)
    process.stderr.write(`${what}: ${done} of ${of}, ${rssMb().toFixed(0)} MB\n`);
}
