/** Writes files of heights as real ones are: SRTM, DTED and GeoTIFF. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";

export type HeightAt = (latitude: number, longitude: number) => number;

/** The part of a tile that is computed; the rest is at sea level. */
export interface Around {
  readonly latitude: number;
  readonly longitude: number;
  readonly degrees: number;
}

const isAround = (around: Around | undefined, latitude: number, longitude: number): boolean =>
  around === undefined ||
  (Math.abs(latitude - around.latitude) <= around.degrees && Math.abs(longitude - around.longitude) <= around.degrees);

/** `N52E005.hgt` for the south-western corner 52, 5. NaN is a void. Returns its path. */
export function writeHgt(
  folder: string,
  [south, west]: readonly [number, number],
  samples: 1201 | 3601 | 121,
  heightAt: HeightAt,
  around?: Around,
): string {
  const bytes = Buffer.alloc(samples * samples * 2);
  for (let row = 0; row < samples; row++) {
    const latitude = south + 1 - row / (samples - 1);
    if (around !== undefined && Math.abs(latitude - around.latitude) > around.degrees) continue;
    for (let column = 0; column < samples; column++) {
      const longitude = west + column / (samples - 1);
      if (!isAround(around, latitude, longitude)) continue;
      const height = heightAt(latitude, longitude);
      bytes.writeInt16BE(Number.isNaN(height) ? -32_768 : Math.round(height), 2 * (row * samples + column));
    }
  }
  const name = [south < 0 ? "S" : "N", pad(south, 2), west < 0 ? "W" : "E", pad(west, 3), ".hgt"].join("");
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}

const pad = (value: number, length: number): string => String(Math.abs(value)).padStart(length, "0");

/** A degree with `count` heights along each side. Returns its path. */
export function writeDted(
  folder: string,
  [south, west]: readonly [number, number],
  count: number,
  heightAt: HeightAt,
): string {
  const recordBytes = 12 + 2 * count;
  const bytes = Buffer.alloc(3428 + count * recordBytes, 0x20);
  const interval = String(36_000 / (count - 1)).padStart(4, "0");
  const corner = (value: number, sides: string): string => `${pad(value, 3)}0000${value < 0 ? sides[1] : sides[0]}`;
  const header = `UHL1${corner(west, "EW")}${corner(south, "NS")}${interval}${interval}0010U  `.padEnd(47);
  bytes.write(`${header}${pad(count, 4)}${pad(count, 4)}0`, 0, "latin1");
  for (let column = 0; column < count; column++) {
    const at = 3428 + column * recordBytes;
    bytes[at] = 0xaa;
    for (let row = 0; row < count; row++) {
      const height = Math.round(heightAt(south + row / (count - 1), west + column / (count - 1)));
      const word = Number.isNaN(height) ? 0xffff : height < 0 ? 0x8000 | -height : height;
      bytes.writeUInt16BE(word, at + 8 + 2 * row);
    }
  }
  const path = join(folder, `w${pad(west, 3)}s${pad(south, 2)}.dt1`);
  writeFileSync(path, bytes);
  return path;
}

export interface TiffOptions {
  readonly north: number;
  readonly west: number;
  /** Degrees between samples. */
  readonly step: number;
  readonly columns: number;
  readonly rows: number;
  /** The corner is that of the first sample itself; otherwise that of its area. */
  readonly isPoint?: boolean;
  /** Side of square tiles; 0: strips. */
  readonly tile?: number;
  readonly stripRows?: number;
  readonly compression?: "none" | "deflate";
  readonly predictor?: 1 | 2 | 3;
  readonly samples?: "float32" | "int16";
  readonly isBigEndian?: boolean;
  readonly isBig?: boolean;
  readonly noData?: string;
  readonly geoKeys?: Readonly<Record<number, number>>;
}

type Entry = readonly [tag: number, type: 2 | 3 | 4 | 12, values: readonly number[] | string];

/** NaN is written as the declared `noData`. */
export function writeTiff(path: string, options: TiffOptions, heightAt: HeightAt): string {
  const { north, west, step, columns, rows, isPoint = false, tile = 0, stripRows = 32 } = options;
  const { compression = "none", predictor = 1, samples = "float32", isBigEndian = false, isBig = false } = options;
  const size = samples === "float32" ? 4 : 2;
  const shift = isPoint ? 0 : 0.5;
  const valueAt = (column: number, row: number): number => {
    const height = heightAt(north - (row + shift) * step, west + (column + shift) * step);
    return Number.isNaN(height) ? Number(options.noData ?? 0) : height;
  };
  const [blockColumns, blockRows] = tile > 0 ? [tile, tile] : [columns, stripRows];
  const blocks: Buffer[] = [];
  for (let top = 0; top < rows; top += blockRows)
    for (let left = 0; left < columns; left += blockColumns) {
      const height = tile > 0 ? tile : Math.min(blockRows, rows - top);
      const lines = Array.from({ length: height }, (_, row) =>
        encodeRow(
          Array.from({ length: blockColumns }, (_, column) =>
            valueAt(Math.min(left + column, columns - 1), Math.min(top + row, rows - 1)),
          ),
          { samples, predictor, isBigEndian },
        ),
      );
      const bytes = Buffer.concat(lines);
      blocks.push(compression === "deflate" ? deflateSync(bytes) : bytes);
    }
  const headBytes = isBig ? 16 : 8;
  let at = headBytes;
  const offsets = blocks.map((block) => {
    const offset = at;
    at += block.length;
    return offset;
  });
  const keys = { 1024: 2, 1025: isPoint ? 2 : 1, 2048: 4326, ...options.geoKeys };
  const directory = [
    1,
    1,
    0,
    Object.keys(keys).length,
    ...Object.entries(keys).flatMap(([key, value]) => [Number(key), 0, 1, value]),
  ];
  const entries: Entry[] = [
    [256, 4, [columns]],
    [257, 4, [rows]],
    [258, 3, [size * 8]],
    [259, 3, [compression === "deflate" ? 8 : 1]],
    [262, 3, [1]],
    ...(tile > 0 ? [] : ([[273, 4, offsets]] as Entry[])),
    [277, 3, [1]],
    ...(tile > 0
      ? []
      : ([
          [278, 4, [stripRows]],
          [279, 4, blocks.map(({ length }) => length)],
        ] as Entry[])),
    [317, 3, [predictor]],
    ...(tile > 0
      ? ([
          [322, 3, [tile]],
          [323, 3, [tile]],
          [324, 4, offsets],
          [325, 4, blocks.map(({ length }) => length)],
        ] as Entry[])
      : []),
    [339, 3, [samples === "float32" ? 3 : 2]],
    [33_550, 12, [step, step, 0]],
    [33_922, 12, [0, 0, 0, west, north, 0]],
    [34_735, 3, directory],
    ...(options.noData === undefined ? [] : ([[42_113, 2, `${options.noData}\0`]] as Entry[])),
  ];
  const directoryBytes = writeDirectory(entries, at, { isBigEndian, isBig });
  const head = Buffer.alloc(headBytes);
  head.write(isBigEndian ? "MM" : "II", 0, "latin1");
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  view.setUint16(2, isBig ? 43 : 42, !isBigEndian);
  if (isBig) {
    view.setUint16(4, 8, !isBigEndian);
    view.setBigUint64(8, BigInt(at), !isBigEndian);
  } else view.setUint32(4, at, !isBigEndian);
  writeFileSync(path, Buffer.concat([head, ...blocks, directoryBytes]));
  return path;
}

interface RowCoding {
  readonly samples: "float32" | "int16";
  readonly predictor: number;
  readonly isBigEndian: boolean;
}

function encodeRow(values: readonly number[], { samples, predictor, isBigEndian }: RowCoding): Buffer {
  const size = samples === "float32" ? 4 : 2;
  const bytes = Buffer.alloc(values.length * size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (predictor === 3) {
    const one = Buffer.alloc(4);
    for (const [i, value] of values.entries()) {
      one.writeFloatBE(value);
      for (let byte = 0; byte < 4; byte++) bytes[byte * values.length + i] = one[byte] ?? 0;
    }
    for (let i = bytes.length - 1; i > 0; i--) bytes[i] = ((bytes[i] ?? 0) - (bytes[i - 1] ?? 0)) & 0xff;
    return bytes;
  }
  for (const [i, value] of values.entries()) {
    const stored = predictor === 2 && i > 0 ? Math.round(value) - Math.round(values[i - 1] ?? 0) : value;
    if (samples === "float32") view.setFloat32(i * 4, stored, !isBigEndian);
    else view.setInt16(i * 2, Math.round(stored), !isBigEndian);
  }
  return bytes;
}

function writeDirectory(
  entries: readonly Entry[],
  at: number,
  { isBigEndian, isBig }: { readonly isBigEndian: boolean; readonly isBig: boolean },
): Buffer {
  const [countBytes, entryBytes, fieldBytes] = isBig ? [8, 20, 8] : [2, 12, 4];
  const head = Buffer.alloc(countBytes + entries.length * entryBytes + fieldBytes);
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const little = !isBigEndian;
  const setField = (where: number, value: number): void =>
    isBig ? view.setBigUint64(where, BigInt(value), little) : view.setUint32(where, value, little);
  if (isBig) view.setBigUint64(0, BigInt(entries.length), little);
  else view.setUint16(0, entries.length, little);
  const tails: Buffer[] = [];
  let tailAt = at + head.length;
  for (const [i, [tag, type, values]] of entries.entries()) {
    const data = encodeValues(type, values, little);
    const where = countBytes + i * entryBytes;
    view.setUint16(where, tag, little);
    view.setUint16(where + 2, type, little);
    setField(where + 4, values.length);
    const fieldAt = where + 4 + fieldBytes;
    if (data.length <= fieldBytes) data.copy(head, fieldAt);
    else {
      setField(fieldAt, tailAt);
      tails.push(data);
      tailAt += data.length;
    }
  }
  return Buffer.concat([head, ...tails]);
}

function encodeValues(type: 2 | 3 | 4 | 12, values: readonly number[] | string, little: boolean): Buffer {
  if (typeof values === "string") return Buffer.from(values, "latin1");
  const size = type === 3 ? 2 : type === 4 ? 4 : 8;
  const bytes = Buffer.alloc(values.length * size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const [i, value] of values.entries()) {
    if (type === 3) view.setUint16(i * 2, value, little);
    else if (type === 4) view.setUint32(i * 4, value, little);
    else view.setFloat64(i * 8, value, little);
  }
  return bytes;
}
