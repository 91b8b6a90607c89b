import { createHash, randomBytes } from "node:crypto";

/** A UUIDv7 (RFC 9562), lower case: the milliseconds of now, then chance. */
export function newUuid(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  return write(bytes, 7);
}

/** A UUIDv8 (RFC 9562), lower case: always the same for these words. */
export function uuidOf(...words: readonly string[]): string {
  return write(createHash("sha256").update(JSON.stringify(words)).digest().subarray(0, 16), 8);
}

function write(bytes: Buffer, version: number): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | (version << 4), 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export const isUuid = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value);
