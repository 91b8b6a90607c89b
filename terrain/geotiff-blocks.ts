/** Strips and tiles of TIFF files: compression and prediction (TIFF 6.0 and its technical notes). Pure. */
import { inflateSync } from "node:zlib";
import { GridFault } from "./grid.ts";

export interface BlockCoding {
  readonly isLittleEndian: boolean;
  readonly compression: number;
  readonly predictor: number;
  /** 1: unsigned, 2: signed, 3: floating point. */
  readonly format: number;
  readonly bits: number;
  readonly columns: number;
  readonly rows: number;
}

const NONE = 1;
const LZW = 5;
const DEFLATE = 8;
const OLD_DEFLATE = 32_946;
const PACK_BITS = 32_773;

/** Other formats of samples: 8 to 32 bits as integers, 32 and 64 bits as floating point. */
const FORMATS = new Set(["1:8", "1:16", "1:32", "2:8", "2:16", "2:32", "3:32", "3:64"]);

const CONVERT = "convert it with gdal_translate -ot Float32 -co TILED=YES -co COMPRESS=DEFLATE";

/** Throws `GridFault` if blocks of this coding cannot be read. */
export function expectCoding({ compression, predictor, format, bits }: BlockCoding): void {
  if (![NONE, LZW, DEFLATE, OLD_DEFLATE, PACK_BITS].includes(compression))
    throw new GridFault(`has the compression ${compression}; expected none, LZW, Deflate or PackBits: ${CONVERT}`);
  if (!FORMATS.has(`${format}:${bits}`))
    throw new GridFault(
      `has samples of ${bits} bits in the format ${format}; expected integers or floating point: ${CONVERT}`,
    );
  if (predictor !== 1 && !(predictor === 2 && format !== 3) && !(predictor === 3 && format === 3))
    throw new GridFault(`has the predictor ${predictor} for samples in the format ${format}: ${CONVERT}`);
}

export const isPlain = ({ compression, predictor }: BlockCoding): boolean => compression === NONE && predictor === 1;

/** Samples row by row. Throws if the block is damaged. */
export function decodeBlock(stored: Buffer, coding: BlockCoding): Float64Array | Float32Array {
  const { columns, rows, bits, predictor } = coding;
  const rowBytes = (columns * bits) / 8;
  const bytes = unpack(stored, coding.compression, rowBytes * rows);
  if (bytes.length < rowBytes * rows)
    throw new GridFault(`a block has ${bytes.length} bytes; expected ${rowBytes * rows}`);
  if (predictor === 3) return sumFloats(bytes, coding);
  const values = readValues(bytes, coding);
  if (predictor === 2) sumDifferences(values as Float64Array, coding);
  return values;
}

function unpack(stored: Buffer, compression: number, size: number): Buffer {
  if (compression === NONE) return stored;
  if (compression === LZW) return unpackLzw(stored, size);
  if (compression === PACK_BITS) return unpackBits(stored, size);
  return inflateSync(stored, { maxOutputLength: size + 1024 });
}

/** Integers as double precision: their sums wrap at their number of bits. */
function readValues(
  bytes: Buffer,
  { format, bits, columns, rows, isLittleEndian }: BlockCoding,
): Float64Array | Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = columns * rows;
  const values = format === 3 && bits === 32 ? new Float32Array(count) : new Float64Array(count);
  const size = bits / 8;
  const read: (at: number) => number =
    format === 3
      ? (at) => (bits === 32 ? view.getFloat32(at, isLittleEndian) : view.getFloat64(at, isLittleEndian))
      : bits === 8
        ? (at) => (format === 2 ? view.getInt8(at) : view.getUint8(at))
        : bits === 16
          ? (at) => (format === 2 ? view.getInt16(at, isLittleEndian) : view.getUint16(at, isLittleEndian))
          : (at) => (format === 2 ? view.getInt32(at, isLittleEndian) : view.getUint32(at, isLittleEndian));
  for (let i = 0; i < count; i++) values[i] = read(i * size);
  return values;
}

/** Predictor 2: every sample is stored as the difference from its left neighbour. */
function sumDifferences(values: Float64Array, { format, bits, columns, rows }: BlockCoding): void {
  const range = 2 ** bits;
  const least = format === 2 ? -range / 2 : 0;
  for (let row = 0; row < rows; row++)
    for (let column = 1; column < columns; column++) {
      const at = row * columns + column;
      const sum = (values[at] as number) + (values[at - 1] as number) - least;
      values[at] = sum - Math.floor(sum / range) * range + least;
    }
}

/** Predictor 3: the bytes of a row by significance, most significant first, each as the difference from its left neighbour. */
function sumFloats(bytes: Buffer, { bits, columns, rows }: BlockCoding): Float64Array | Float32Array {
  const size = bits / 8;
  const rowBytes = columns * size;
  const values = size === 4 ? new Float32Array(columns * rows) : new Float64Array(columns * rows);
  const value = Buffer.alloc(size);
  for (let row = 0; row < rows; row++) {
    const line = bytes.subarray(row * rowBytes, (row + 1) * rowBytes);
    for (let i = 1; i < rowBytes; i++) line[i] = ((line[i] as number) + (line[i - 1] as number)) & 0xff;
    for (let column = 0; column < columns; column++) {
      for (let byte = 0; byte < size; byte++) value[byte] = line[byte * columns + column] as number;
      values[row * columns + column] = size === 4 ? value.readFloatBE(0) : value.readDoubleBE(0);
    }
  }
  return values;
}

function unpackBits(stored: Buffer, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let filled = 0;
  for (let at = 0; at < stored.length && filled < size; ) {
    const header = stored.readInt8(at++);
    if (header === -128) continue;
    const count = Math.min((header < 0 ? -header : header) + 1, size - filled);
    if (header < 0) bytes.fill(stored[at++] ?? 0, filled, filled + count);
    else {
      stored.copy(bytes, filled, at, at + count);
      at += header + 1;
    }
    filled += count;
  }
  return bytes.subarray(0, filled);
}

const CLEAR = 256;
const END = 257;
const FIRST = 258;
const MOST_CODES = 4096;

/** Codes of 9 to 12 bits, most significant first; the width grows one code early. */
function unpackLzw(stored: Buffer, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  // A code is a sequence that ends with a byte: its first part is another code, or a piece of the output.
  const starts = new Int32Array(MOST_CODES);
  const lengths = new Int32Array(MOST_CODES);
  let filled = 0;
  let next = FIRST;
  let width = 9;
  let held = 0;
  let bits = 0;
  let before = -1;
  for (const byte of stored) {
    held = ((held << 8) | byte) & 0xff_ffff;
    bits += 8;
    if (bits < width) continue;
    bits -= width;
    const code = (held >> bits) & ((1 << width) - 1);
    if (code === END) break;
    if (code === CLEAR) {
      [next, width, before] = [FIRST, 9, -1];
      continue;
    }
    const start = filled;
    if (code < CLEAR) bytes[filled++] = code;
    else {
      // A code that is only now defined repeats the sequence before it, and its first byte.
      if (code > next || (code === next && before < 0)) throw new GridFault("a block has an invalid LZW code");
      const from = code === next ? before : (starts[code] as number);
      const length = code === next ? start - before + 1 : (lengths[code] as number);
      for (let i = 0; i < length && filled < size; i++) bytes[filled++] = bytes[from + i] as number;
    }
    if (before >= 0 && next < MOST_CODES) {
      // The sequence before and the first byte of this one: they follow each other in the output.
      starts[next] = before;
      lengths[next] = start - before + 1;
      next += 1;
    }
    before = start;
    if (next >= (1 << width) - 1 && width < 12) width += 1;
    if (filled >= size) break;
  }
  return bytes.subarray(0, filled);
}
