/**
 * Whether a JPEG is all there. Its decoder does not tell: what was cut off is shown grey, as if it had been so. Walks from
 * marker to marker, as ITU-T T.81 (annex B) lays them out.
 */

const START = 0xd8;
const END = 0xd9;
const SCAN = 0xda;

/** What is wrong with it, in words that follow the name of the file; null for a whole one, and for what is no JPEG. */
export function findJpegFault(bytes: Uint8Array): string | null {
  if (bytes[0] !== 0xff || bytes[1] !== START) return null;
  let at = 2;
  let hasScan = false;
  while (at < bytes.length) {
    if (bytes[at] !== 0xff) return `is damaged: expected a marker at byte ${at}`;
    const marker = bytes[at + 1];
    if (marker === undefined) break;
    // Any number of these may fill the place before a marker.
    if (marker === 0xff) at += 1;
    else if (marker === END) return hasScan ? null : "has no picture in it";
    else if (!mayStandHere(marker)) return `is damaged: marker 0x${marker.toString(16)} at byte ${at}`;
    else {
      const [high, low] = [bytes[at + 2], bytes[at + 3]];
      if (high === undefined || low === undefined) break;
      at += 2 + high * 256 + low;
      if (marker !== SCAN) continue;
      hasScan = true;
      at = skipScan(bytes, at);
    }
  }
  return `is cut off: it ends at byte ${bytes.length}, in the middle of the picture`;
}

/** Frames, tables, scans, what applications add, and comments: all have a length after them. */
const mayStandHere = (marker: number): boolean =>
  (marker >= 0xc0 && marker <= 0xcf) || (marker >= SCAN && marker <= 0xfe);

/** Where the next marker is; within a scan, 0xff stands for itself before 0, and restarts belong to it. */
function skipScan(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(0xff, from);
  while (at !== -1 && at + 1 < bytes.length) {
    const next = bytes[at + 1] as number;
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at;
    at = bytes.indexOf(0xff, at + 2);
  }
  return bytes.length;
}
