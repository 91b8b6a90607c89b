/**
 * Splits RTMP messages into chunks and reassembles them. The reader keeps only message types that its user needs, and
 * allocates memory as bytes arrive, not by the length that a peer claims.
 */
import { MediaError } from "../access-unit.ts";
import { MESSAGE, type Message, type OutgoingMessage } from "./message.ts";

export interface ChunkLimits {
  readonly chunkStreams: number;
  /** Of one command. */
  readonly commandBytes: number;
  /** Of one video or audio message. */
  readonly mediaBytes: number;
}

export const INITIAL_CHUNK_SIZE = 128;
/** Enough for chunk sizes, windows and pings. */
const CONTROL_BYTES = 64;
/** The specification allows 1; real peers send more, and small chunks are expensive to read. */
const MIN_CHUNK_SIZE = 128;
const MAX_CHUNK_SIZE = 2 ** 24;
/** Initial allocation of a message, doubled when needed. */
const INITIAL_BYTES = 64 * 1024;
const EXTENDED = 0xff_ffff;
const HEADER_BYTES = [11, 7, 3, 0];
const NO_BYTES = Buffer.alloc(0);

/** State of one chunk stream. */
interface ChunkStream {
  length: number;
  type: number;
  streamId: number;
  timestamp: number;
  /** As last received; after a full header the absolute time, as specified. */
  delta: number;
  isExtended: boolean;
  isInMessage: boolean;
  received: number;
  /** Null: no bytes yet, or the message is skipped. */
  body: Buffer | null;
  isKept: boolean;
}

export class ChunkReader {
  /** Until this is set, video and audio messages are skipped. */
  readsMedia = false;
  readonly #limits: ChunkLimits;
  readonly #streams = new Map<number, ChunkStream>();
  #chunkSize = INITIAL_CHUNK_SIZE;
  #pending: Buffer = NO_BYTES;
  #offset = 0;
  /** The chunk whose payload is being read, and how many bytes are missing. */
  #current: ChunkStream | null = null;
  #left = 0;
  /** Allocated for incomplete messages. */
  #heldBytes = 0;

  constructor(limits: ChunkLimits) {
    this.#limits = limits;
  }

  push(bytes: Buffer): void {
    const rest = this.#pending.subarray(this.#offset);
    this.#pending = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    this.#offset = 0;
  }

  /** Copies what is left of the last bytes, so that their memory can be used again. */
  keepRest(): void {
    const rest = this.#pending.length - this.#offset;
    this.#pending = rest === 0 ? NO_BYTES : Buffer.from(this.#pending.subarray(this.#offset));
    this.#offset = 0;
  }

  /** The next complete message, in order of completion; null: more bytes are needed. */
  next(): Message | null {
    for (;;) {
      const chunk = this.#current ?? this.#readHeader();
      if (chunk === null) return null;
      this.#current = chunk;
      this.#readPayload(chunk);
      if (this.#left > 0) return null;
      this.#current = null;
      if (chunk.received < chunk.length) continue;
      const message = this.#finish(chunk);
      if (message !== null) return message;
    }
  }

  /** Null: the header is incomplete, and nothing was consumed. */
  #readHeader(): ChunkStream | null {
    const bytes = this.#pending;
    const first = bytes[this.#offset];
    if (first === undefined) return null;
    const format = first >> 6;
    const idBytes = (first & 63) === 0 ? 2 : (first & 63) === 1 ? 3 : 1;
    const fieldsAt = this.#offset + idBytes;
    const fieldsEnd = fieldsAt + (HEADER_BYTES[format] ?? 0);
    if (bytes.length < fieldsEnd) return null;
    const id =
      idBytes === 1 ? first : 64 + (idBytes === 2 ? bytes.readUInt8(fieldsAt - 1) : bytes.readUInt16LE(fieldsAt - 2));

    const chunk = this.#findStream(idBytes === 1 ? id & 63 : id, format);
    const time = format < 3 ? bytes.readUIntBE(fieldsAt, 3) : chunk.delta;
    const isExtended = format < 3 ? time === EXTENDED : chunk.isExtended;
    if (isExtended && bytes.length < fieldsEnd + 4) return null;
    const extended = isExtended ? bytes.readUInt32BE(fieldsEnd) : time;
    // Some peers omit the extended time in continuation chunks: it is present only if it repeats the last value.
    const hasExtended = isExtended && (format < 3 || extended === chunk.delta);

    if (format < 2) {
      chunk.length = bytes.readUIntBE(fieldsAt + 3, 3);
      chunk.type = bytes.readUInt8(fieldsAt + 6);
    }
    if (format === 0) chunk.streamId = bytes.readUInt32LE(fieldsAt + 7);
    if (format < 3) {
      chunk.delta = extended;
      chunk.isExtended = isExtended;
    }
    if (!chunk.isInMessage) this.#begin(chunk, format === 0);
    this.#offset = fieldsEnd + (hasExtended ? 4 : 0);
    this.#left = Math.min(this.#chunkSize, chunk.length - chunk.received);
    return chunk;
  }

  #findStream(id: number, format: number): ChunkStream {
    const known = this.#streams.get(id);
    if (known !== undefined) {
      if (known.isInMessage && format < 3)
        throw new MediaError(`chunk stream ${id}: a message starts before the previous one is complete`);
      return known;
    }
    if (format > 1) throw new MediaError(`chunk stream ${id} starts with a header that refers to an earlier one`);
    if (this.#streams.size >= this.#limits.chunkStreams) {
      throw new MediaError(`more than ${this.#limits.chunkStreams} chunk streams`);
    }
    const chunk = {
      ...{ length: 0, type: 0, streamId: 0, timestamp: 0, delta: 0, isExtended: false },
      ...{ isInMessage: false, received: 0, body: null, isKept: false },
    };
    this.#streams.set(id, chunk);
    return chunk;
  }

  #begin(chunk: ChunkStream, isAbsolute: boolean): void {
    chunk.timestamp = isAbsolute ? chunk.delta : (chunk.timestamp + chunk.delta) >>> 0;
    chunk.isInMessage = true;
    chunk.received = 0;
    const max = this.#maxBytes(chunk.type);
    chunk.isKept = max > 0;
    if (chunk.isKept && chunk.length > max) {
      throw new MediaError(
        `received a message of type ${chunk.type} with ${chunk.length} bytes; at most ${max} are allowed`,
      );
    }
  }

  /** 0: messages of this type are skipped. */
  #maxBytes(type: number): number {
    if (type >= MESSAGE.setChunkSize && type <= MESSAGE.peerBandwidth) return CONTROL_BYTES;
    if (type === MESSAGE.command || type === MESSAGE.commandAmf3) return this.#limits.commandBytes;
    if (type === MESSAGE.video || type === MESSAGE.audio || type === MESSAGE.aggregate)
      return this.readsMedia ? this.#limits.mediaBytes : 0;
    return 0;
  }

  #readPayload(chunk: ChunkStream): void {
    const count = Math.min(this.#left, this.#pending.length - this.#offset);
    if (chunk.isKept && count > 0) {
      const body = this.#grow(chunk, chunk.received + count);
      this.#pending.copy(body, chunk.received, this.#offset, this.#offset + count);
    }
    chunk.received += count;
    this.#offset += count;
    this.#left -= count;
  }

  #grow(chunk: ChunkStream, needed: number): Buffer {
    const { body, length } = chunk;
    if (body !== null && body.length >= needed) return body;
    const size = Math.min(length, Math.max(needed, INITIAL_BYTES, 2 * (body?.length ?? 0)));
    this.#hold(size - (body?.length ?? 0));
    // Not from the pool: a few long-lived bytes must not keep a whole pool alive.
    const grown = Buffer.allocUnsafeSlow(size);
    body?.copy(grown, 0, 0, chunk.received);
    chunk.body = grown;
    return grown;
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    const max = this.#limits.commandBytes + (this.readsMedia ? 2 * this.#limits.mediaBytes : 0);
    if (this.#heldBytes > max) throw new MediaError(`more than ${max} bytes in incomplete messages`);
  }

  /** Null: the reader itself handled the message, or skipped it. */
  #finish(chunk: ChunkStream): Message | null {
    const { type, streamId, timestamp } = chunk;
    const body = chunk.body ?? NO_BYTES;
    this.#drop(chunk);
    if (!chunk.isKept) return null;
    if (type !== MESSAGE.setChunkSize && type !== MESSAGE.abort) return { type, streamId, timestamp, body };
    if (body.length < 4) throw new MediaError(`expected 4 bytes in a message of type ${type}, received ${body.length}`);
    const value = body.readUInt32BE(0);
    if (type === MESSAGE.setChunkSize) this.#setChunkSize(value);
    else this.#abort(value);
    return null;
  }

  #drop(chunk: ChunkStream): void {
    this.#heldBytes -= chunk.body?.length ?? 0;
    chunk.body = null;
    chunk.isInMessage = false;
  }

  #setChunkSize(size: number): void {
    if (size < MIN_CHUNK_SIZE || size > MAX_CHUNK_SIZE) {
      throw new MediaError(`received chunk size ${size}; ${MIN_CHUNK_SIZE} to ${MAX_CHUNK_SIZE} are allowed`);
    }
    this.#chunkSize = size;
  }

  #abort(id: number): void {
    const chunk = this.#streams.get(id);
    if (chunk !== undefined) this.#drop(chunk);
  }
}

/**
 * Writes every message with a full header: a few more bytes, but no state that both sides must agree on. Returns pieces to
 * write one after the other; the body is not copied.
 */
export function writeChunks(message: OutgoingMessage, chunkSize = INITIAL_CHUNK_SIZE): Uint8Array[] {
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
