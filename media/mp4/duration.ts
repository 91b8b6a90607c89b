/** A finished file tells how long it is: `mvhd` and `mehd` have room for it from the beginning. */
import { u32 } from "./box.ts";

export interface Patch {
  readonly at: number;
  readonly bytes: Buffer;
}

/** From the beginning of each box to its duration, in versions 0. */
const PLACES = [
  ["mvhd", 24],
  ["mehd", 12],
] as const;

/** Players show nothing beyond it. What is to be written over a file that begins with `head`, an init segment. */
export function patchDuration(head: Buffer, durationMs: number): Patch[] {
  return PLACES.map(([type, offset]) => ({
    at: head.indexOf(type, 0, "latin1") - 4 + offset,
    bytes: u32(Math.min(Math.ceil(durationMs), 2 ** 32 - 1)),
  }));
}
