/** Writes and reads MP4 boxes (ISO/IEC 14496-12, 4.2). */

import { MediaError } from "../access-unit.ts";

/** Numbers stand for single bytes. */
type Content = Uint8Array | readonly number[];

export function writeBox(type: string, ...content: readonly Content[]): Buffer {
  const bytes = content.reduce((sum, { length }) => sum + length, 8);
  const box = Buffer.allocUnsafe(bytes);
  box.writeUInt32BE(bytes, 0);
  box.write(type, 4, 4, "latin1");
  let at = 8;
  for (const piece of content) {
    box.set(piece, at);
    at += piece.length;
  }
  return box;
}

/** Writes a box with version and flags. */
export const writeFullBox = (type: string, version: number, flags: number, ...content: readonly Content[]): Buffer =>
  writeBox(type, u32(version * 2 ** 24 + flags), ...content);

export function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 2);
  values.forEach((value, i) => {
    bytes.writeUInt16BE(value, i * 2);
  });
  return bytes;
}

export const u32 = (...values: readonly number[]): Buffer => u32s(values);

/** Of any number of values. */
export function u32s(values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32BE(value, i * 4);
  });
  return bytes;
}

/** Up to 2^53. */
export const u64 = (value: number): Buffer => u32(Math.floor(value / 2 ** 32), value % 2 ** 32);

export interface Box {
  readonly type: string;
  readonly content: Buffer;
}

/** Reads sibling boxes. Throws a `MediaError` if one is truncated. */
export function readBoxes(bytes: Uint8Array): Box[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const boxes: Box[] = [];
  let at = 0;
  while (at < view.length) {
    const header = readBoxHeader(view.subarray(at, at + 16));
    if (header === null || at + header.bytes > view.length) throw new MediaError("an MP4 box is truncated");
    boxes.push({ type: header.type, content: view.subarray(at + header.headerBytes, at + header.bytes) });
    at += header.bytes;
  }
  return boxes;
}

export interface BoxHeader {
  readonly type: string;
  readonly headerBytes: number;
  /** Of the whole box, header included. */
  readonly bytes: number;
}

/** Null if there are too few bytes, or the length is invalid. */
export function readBoxHeader(view: Buffer): BoxHeader | null {
  if (view.length < 8) return null;
  const type = view.toString("latin1", 4, 8);
  const short = view.readUInt32BE(0);
  if (short !== 1) return short < 8 ? null : { type, headerBytes: 8, bytes: short };
  if (view.length < 16) return null;
  const bytes = view.readUInt32BE(8) * 2 ** 32 + view.readUInt32BE(12);
  return bytes < 16 ? null : { type, headerBytes: 16, bytes };
}

/** Finds the first box with this path: `findBox(bytes, "moov", "trak", "mdia")`. */
export function findBox(bytes: Uint8Array, ...path: readonly string[]): Buffer | null {
  const [type, ...rest] = path;
  for (const box of readBoxes(bytes)) {
    if (box.type === type) return rest.length === 0 ? box.content : findBox(box.content, ...rest);
  }
  return null;
}
