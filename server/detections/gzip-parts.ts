/**
 * A file of gzip members (RFC 1952), each of which can be inflated without the others: a part of the file. The extra field of
 * its header says how long the part is and which capture times it has, so that a reader skips parts, and after the first
 * part the whole file. These numbers are filled in when a part, or the file, is complete. Other programs ignore the field.
 */
import { promisify } from "node:util";
import { constants, deflateRaw, gunzip } from "node:zlib";
import { crc32 } from "../../media/crc32.ts";

export interface TimeSpan {
  readonly firstMs: number;
  /** Inclusive. */
  readonly lastMs: number;
}

export interface PartInfo {
  /** Null: the part was not completed, and is the last of its file. */
  readonly bytes: number | null;
  /** Null: unknown. */
  readonly span: TimeSpan | null;
  /** Only of the first part: of the whole file. Null: it was not completed. */
  readonly fileSpan: TimeSpan | null;
}

/** Deflate, with an extra field; unknown operating system. */
const MAGIC = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255]);
const FIELD_BYTES = 36;
const NAME = Buffer.from("WD");
export const HEADER_BYTES = MAGIC.length + 2 + 4 + FIELD_BYTES;
const FIELD_AT = HEADER_BYTES - FIELD_BYTES;
/** An empty last block: what was flushed before ends with whole bytes. */
const LAST_BLOCK = [3, 0];

const NO_SPAN: TimeSpan = { firstMs: 0, lastMs: -1 };

export function writePartHeader({ bytes, span, fileSpan }: PartInfo): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.writeUInt16LE(FIELD_BYTES + 4, MAGIC.length);
  NAME.copy(header, MAGIC.length + 2);
  header.writeUInt16LE(FIELD_BYTES, MAGIC.length + 4);
  header.writeUInt32LE(bytes ?? 0, FIELD_AT);
  const times = [span ?? NO_SPAN, fileSpan ?? NO_SPAN].flatMap(({ firstMs, lastMs }) => [firstMs, lastMs]);
  for (const [at, ms] of times.entries()) header.writeBigInt64LE(BigInt(ms), FIELD_AT + 4 + at * 8);
  return header;
}

/** Null: it is not one. */
export function readPartHeader(data: Buffer): PartInfo | null {
  if (data.length < HEADER_BYTES || data.compare(MAGIC, 0, 4, 0, 4) !== 0) return null;
  if (data.compare(NAME, 0, 2, MAGIC.length + 2, MAGIC.length + 4) !== 0) return null;
  const bytes = data.readUInt32LE(FIELD_AT);
  const readSpan = (at: number): TimeSpan | null => {
    const [firstMs, lastMs] = [data.readBigInt64LE(FIELD_AT + at), data.readBigInt64LE(FIELD_AT + at + 8)].map(Number);
    return firstMs === undefined || lastMs === undefined || lastMs < firstMs ? null : { firstMs, lastMs };
  };
  return { bytes: bytes <= HEADER_BYTES ? null : bytes, span: readSpan(4), fileSpan: readSpan(20) };
}

const deflateAsync = promisify(deflateRaw);
/** Of deflate. */
const WINDOW_BYTES = 32_768;

/**
 * Compresses one part in several pieces. Nothing of zlib is kept between two pieces, which may be seconds apart: the text
 * before is the dictionary of the next piece.
 */
export class PartDeflater {
  #before = Buffer.alloc(0);
  #crc = 0;
  #textBytes = 0;

  /** Whole bytes, which can be read at once. */
  async deflate(text: string): Promise<Buffer> {
    const data = Buffer.from(text);
    const dictionary = this.#before;
    const compressed = await deflateAsync(data, {
      ...{ strategy: constants.Z_FILTERED, finishFlush: constants.Z_SYNC_FLUSH },
      ...(dictionary.length > 0 && { dictionary }),
    });
    this.#crc = crc32(data, this.#crc);
    this.#textBytes += data.length;
    this.#before = Buffer.from(Buffer.concat([dictionary, data]).subarray(-WINDOW_BYTES));
    return compressed;
  }

  end(): Buffer {
    const end = Buffer.from([...LAST_BLOCK, ...new Uint8Array(8)]);
    end.writeUInt32LE(this.#crc, LAST_BLOCK.length);
    end.writeUInt32LE(this.#textBytes >>> 0, LAST_BLOCK.length + 4);
    return end;
  }
}

const gunzipAsync = promisify(gunzip);

/** Far more than a part has. */
const MAX_TEXT_BYTES = 64 * 2 ** 20;

/** As far as it was written. Rejects if it is damaged. */
export const inflatePart = (data: Buffer): Promise<Buffer> =>
  gunzipAsync(data, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_TEXT_BYTES });
