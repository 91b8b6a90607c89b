/** Messages into chunks, every one with a full header: a few bytes more, and no state that two sides could disagree on. */
import { FIRST_CHUNK_SIZE } from "./message.ts";

const EXTENDED = 0xff_ffff;

export interface OutgoingMessage {
  /** 2 to 63. */
  readonly chunkStream: number;
  readonly type: number;
  readonly streamId: number;
  /** Milliseconds; the lowest 32 bits are sent. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/** Pieces to be written one after the other; the body is not copied. */
export function writeChunks(message: OutgoingMessage, chunkSize = FIRST_CHUNK_SIZE): Uint8Array[] {
  const { chunkStream, type, streamId, body } = message;
  const timestamp = message.timestamp >>> 0;
  const isExtended = timestamp >= EXTENDED;
  const header = Buffer.allocUnsafe(isExtended ? 16 : 12);
  header[0] = chunkStream;
  header.writeUIntBE(isExtended ? EXTENDED : timestamp, 1, 3);
  header.writeUIntBE(body.length, 4, 3);
  header[7] = type;
  header.writeUInt32LE(streamId, 8);
  if (isExtended) header.writeUInt32BE(timestamp, 12);

  const pieces: Uint8Array[] = [header];
  for (let at = 0; at < body.length; at += chunkSize) {
    if (at > 0) pieces.push(continueChunk(chunkStream, isExtended ? timestamp : null));
    pieces.push(body.subarray(at, at + chunkSize));
  }
  return pieces;
}

function continueChunk(chunkStream: number, extended: number | null): Buffer {
  const header = Buffer.allocUnsafe(extended === null ? 1 : 5);
  header[0] = 0xc0 | chunkStream;
  if (extended !== null) header.writeUInt32BE(extended, 1);
  return header;
}
