/**
 * `mfra` (ISO/IEC 14496-12, 8.8.9): where one may seek to in a file, written at its end. Not `sidx`: it has to stand
 * before the fragments, and players take every entry of it for one fragment that begins with a key picture.
 */
import { u32, u64, writeBox, writeFullBox } from "./box.ts";
import { toTicks, VIDEO_ID, VIDEO_SCALE } from "./timing.ts";

/** As `IntactFragment` tells of it. */
export interface Placed {
  readonly offset: number;
  readonly startUs: number;
  readonly isKey: boolean;
}

const MFRO_BYTES = 16;
/** The numbers of the track's run and its sample in a fragment have one byte each: the first of each it is. */
const FIRST_OF_ALL = [1, 1, 1] as const;

export function writeRandomAccess(fragments: readonly Placed[]): Buffer {
  const keys = fragments.filter(({ isKey }) => isKey);
  const entries = keys.map(({ offset, startUs }) =>
    Buffer.concat([u64(toTicks(startUs, VIDEO_SCALE)), u64(offset), Uint8Array.from(FIRST_OF_ALL)]),
  );
  const tfra = writeFullBox("tfra", 1, 0, u32(VIDEO_ID, 0, entries.length), ...entries);
  const bytes = 8 + tfra.length + MFRO_BYTES;
  return writeBox("mfra", tfra, writeFullBox("mfro", 0, 0, u32(bytes)));
}

/** `tail`: the last bytes of a file of `size` bytes. Null where it does not end so. */
export function findRandomAccess(tail: Buffer, size: number): number | null {
  const at = tail.length - MFRO_BYTES;
  if (at < 0 || tail.toString("latin1", at + 4, at + 8) !== "mfro") return null;
  const bytes = tail.readUInt32BE(at + 12);
  return bytes >= MFRO_BYTES && bytes <= size ? size - bytes : null;
}
