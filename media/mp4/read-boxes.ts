/** Reads what is in our own files back. Throws a `MediaFault` for what is damaged. */
import { MediaFault } from "../fault.ts";

export interface Box {
  readonly type: string;
  readonly content: Buffer;
}

/** Side by side. */
export function readBoxes(bytes: Uint8Array): Box[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const boxes: Box[] = [];
  let at = 0;
  while (at < view.length) {
    const header = readHeader(view.subarray(at, at + 16));
    if (header === null || at + header.bytes > view.length) throw new MediaFault("a box is cut off");
    boxes.push({ type: header.type, content: view.subarray(at + header.headerBytes, at + header.bytes) });
    at += header.bytes;
  }
  return boxes;
}

export interface BoxHeader {
  readonly type: string;
  readonly headerBytes: number;
  /** Of the whole box. */
  readonly bytes: number;
}

/** Null where there are too few bytes, or none that make sense. */
export function readHeader(view: Buffer): BoxHeader | null {
  if (view.length < 8) return null;
  const type = view.toString("latin1", 4, 8);
  const short = view.readUInt32BE(0);
  if (short !== 1) return short < 8 ? null : { type, headerBytes: 8, bytes: short };
  if (view.length < 16) return null;
  const bytes = view.readUInt32BE(8) * 2 ** 32 + view.readUInt32BE(12);
  return bytes < 16 ? null : { type, headerBytes: 16, bytes };
}

/** The first one at this place: `findBox(bytes, "moov", "trak", "mdia")`. */
export function findBox(bytes: Uint8Array, ...path: readonly string[]): Buffer | null {
  const [type, ...rest] = path;
  for (const box of readBoxes(bytes)) {
    if (box.type === type) return rest.length === 0 ? box.content : findBox(box.content, ...rest);
  }
  return null;
}
