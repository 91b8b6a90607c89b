/**
 * DTED (MIL-PRF-89020), levels 0 to 2: a header of 3428 bytes, then one record per longitude from west to east, each with
 * the heights from south to north. Heights are sign and magnitude, above EGM96.
 */
import { type Grid, GridFault, readParts } from "./grid.ts";

const HEADER_BYTES = 3428;
/** Of a record: a mark, its number, its position; behind the heights a checksum. */
const PREFIX_BYTES = 8;
const SUFFIX_BYTES = 4;
const MARK = 0xaa;
const VOID = -32_767;
const BLOCK_COLUMNS = 16;
const MOST_SAMPLES = 20_000;
const ANGLE = /^(\d{3})(\d{2})(\d{2})([NSEW])$/;

/** Throws `GridFault`. */
export function openDted(path: string): Grid {
  return readParts(path, (read, size) => {
    const header = read(0, Math.min(size, 80)).toString("latin1");
    if (!header.startsWith("UHL1")) throw new GridFault("is not a DTED file: it does not begin with UHL1");
    const columns = readNumber(header, 47, 4);
    const rows = readNumber(header, 51, 4);
    // In tenths of an arc second.
    const [stepEast, stepSouth] = [readNumber(header, 20, 4) / 36_000, readNumber(header, 24, 4) / 36_000];
    if (
      !(columns >= 2 && rows >= 2 && columns <= MOST_SAMPLES && rows <= MOST_SAMPLES && stepEast > 0 && stepSouth > 0)
    )
      throw new GridFault(`has ${columns} by ${rows} heights; expected at least 2 by 2`);
    const recordBytes = PREFIX_BYTES + 2 * rows + SUFFIX_BYTES;
    if (size < HEADER_BYTES + columns * recordBytes)
      throw new GridFault(
        `the file ends early: expected ${HEADER_BYTES + columns * recordBytes} bytes, it has ${size}`,
      );
    const [west, south] = [readAngle(header, 4), readAngle(header, 12)];
    return {
      ...{ path, columns, rows, west, north: south + (rows - 1) * stepSouth, stepEast, stepSouth, datum: "geoid" },
      blockColumns: BLOCK_COLUMNS,
      blockRows: rows,
      readBlock: (right) => readRecords(path, { first: right * BLOCK_COLUMNS, columns, rows, recordBytes }),
    };
  });
}

interface Records {
  readonly first: number;
  readonly columns: number;
  readonly rows: number;
  readonly recordBytes: number;
}

function readRecords(path: string, { first, columns, rows, recordBytes }: Records): Float32Array {
  const count = Math.min(BLOCK_COLUMNS, columns - first);
  const bytes = readParts(path, (read) => read(HEADER_BYTES + first * recordBytes, count * recordBytes));
  const block = new Float32Array(BLOCK_COLUMNS * rows).fill(Number.NaN);
  for (let column = 0; column < count; column++) {
    const at = column * recordBytes;
    if (bytes[at] !== MARK) throw new GridFault(`record ${first + column} does not begin with AA`);
    for (let fromSouth = 0; fromSouth < rows; fromSouth++) {
      const word = bytes.readUInt16BE(at + PREFIX_BYTES + 2 * fromSouth);
      const height = word & 0x8000 ? -(word & 0x7fff) : word;
      if (height !== VOID) block[(rows - 1 - fromSouth) * BLOCK_COLUMNS + column] = height;
    }
  }
  return block;
}

const readNumber = (header: string, at: number, length: number): number => Number(header.slice(at, at + length).trim());

function readAngle(header: string, at: number): number {
  const text = header.slice(at, at + 8);
  const [whole, degrees, minutes, seconds, side = ""] = ANGLE.exec(text) ?? [];
  if (whole === undefined)
    throw new GridFault(`has the corner "${text}"; expected degrees, minutes, seconds and N, S, E or W`);
  const angle = Number(degrees) + Number(minutes) / 60 + Number(seconds) / 3600;
  return side === "S" || side === "W" ? -angle : angle;
}
