/**
 * SRTM `.hgt`: a square of 16-bit integers, most significant byte first, from north to south, without a header. The name
 * gives the south-western corner of the degree: `N48E011.hgt`. Heights above EGM96.
 */
import { statSync } from "node:fs";
import { basename } from "node:path";
import { type Grid, GridFault, readParts } from "./grid.ts";

const NAME = /^([NS])(\d{2})([EW])(\d{3})(?:\.SRTMGL[13])?\.hgt$/i;
const VOID = -32_768;
const BLOCK_ROWS = 16;
/** 0.3 arc seconds; real files have 1201 (3 arc seconds) or 3601 (1). */
const MOST_SAMPLES = 12_001;

/** Throws `GridFault`. */
export function openHgt(path: string): Grid {
  const [whole, northSouth = "", latitude, eastWest = "", longitude] = NAME.exec(basename(path)) ?? [];
  if (whole === undefined) throw new GridFault("the name is not that of an SRTM file; expected one like N48E011.hgt");
  const { size } = statSync(path);
  const samples = Math.round(Math.sqrt(size / 2));
  if (samples * samples * 2 !== size || samples < 2 || samples > MOST_SAMPLES)
    throw new GridFault(
      `has ${size} bytes; expected 2884802 (3 arc seconds) or 25934402 (1 arc second), not compressed`,
    );
  const step = 1 / (samples - 1);
  return {
    ...{ path, columns: samples, rows: samples, stepEast: step, stepSouth: step, datum: "geoid" },
    west: Number(longitude) * (eastWest.toUpperCase() === "W" ? -1 : 1),
    north: Number(latitude) * (northSouth.toUpperCase() === "S" ? -1 : 1) + 1,
    blockColumns: samples,
    blockRows: BLOCK_ROWS,
    readBlock(_, down) {
      const rows = Math.min(BLOCK_ROWS, samples - down * BLOCK_ROWS);
      const bytes = readParts(path, (read) => read(down * BLOCK_ROWS * samples * 2, rows * samples * 2));
      const block = new Float32Array(samples * BLOCK_ROWS).fill(Number.NaN);
      for (let i = 0; i < rows * samples; i++) {
        const height = bytes.readInt16BE(i * 2);
        if (height !== VOID) block[i] = height;
      }
      return block;
    },
  };
}
