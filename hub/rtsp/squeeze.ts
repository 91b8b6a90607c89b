/**
 * Times for the pictures that a player gets at once because they came before it did. With their own it would take the first
 * for the present and stay behind for ever by what it got at once; so they end right before what is live, a millisecond each.
 */
import type { AccessUnit } from "../../media/access-unit.ts";

const STEP_US = 1000;

export interface Timed {
  readonly unit: AccessUnit;
  readonly timeUs: number;
}

/** In the order they came, which is that of decoding. Sound of the past is left out. */
export function squeeze(units: readonly AccessUnit[]): Timed[] {
  const pictures = units.filter(({ kind }) => kind === "video");
  // Whatever is still to come is shown after this, and some of these may be shown later still: those keep their times.
  const liveUs = pictures.at(-1)?.dtsUs ?? 0;
  const past = pictures.filter(({ ptsUs }) => ptsUs < liveUs).sort((a, b) => a.ptsUs - b.ptsUs);
  const times = new Map(past.map((unit, i) => [unit, liveUs - (past.length - i) * STEP_US]));
  return pictures.map((unit) => ({ unit, timeUs: Math.max(times.get(unit) ?? unit.ptsUs, unit.ptsUs) }));
}
