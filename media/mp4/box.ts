/** Boxes of ISO/IEC 14496-12, 4.2: a length, four letters, and what is in them. */

/** Numbers are single bytes. */
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

/** With a version and flags. */
export const writeFullBox = (type: string, version: number, flags: number, ...content: readonly Content[]): Buffer =>
  writeBox(type, u32(version * 2 ** 24 + flags), ...content);

export function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 2);
  values.forEach((value, i) => {
    bytes.writeUInt16BE(value, i * 2);
  });
  return bytes;
}

export function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32BE(value, i * 4);
  });
  return bytes;
}

/** Up to 2^53. */
export const u64 = (value: number): Buffer => u32(Math.floor(value / 2 ** 32), value % 2 ** 32);
