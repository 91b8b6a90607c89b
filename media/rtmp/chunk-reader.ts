/**
 * Messages out of chunks. Nothing is kept that was not asked for, and memory is taken as bytes come, not as lengths are
 * claimed.
 */
import { MediaFault } from "../fault.ts";
import { FIRST_CHUNK_SIZE, MESSAGE, type Message } from "./message.ts";

export interface ChunkLimits {
  readonly chunkStreams: number;
  /** One command. */
  readonly commandBytes: number;
  /** One message of video or audio. */
  readonly mediaBytes: number;
}

/** Chunk sizes, windows and pings have no more to say. */
const CONTROL_BYTES = 64;
/** The specification allows 1; nobody sends so little in earnest, and it costs much to read. */
const SMALLEST_CHUNK = 128;
const LARGEST_CHUNK = 2 ** 24;
/** A message takes so much at first, and twice as much whenever it needs more. */
const FIRST_BYTES = 64 * 1024;
const EXTENDED = 0xff_ffff;
const HEADER_BYTES = [11, 7, 3, 0];
const NO_BYTES = Buffer.alloc(0);

/** What the chunks of one chunk stream have in common. */
interface ChunkStream {
  length: number;
  type: number;
  streamId: number;
  timestamp: number;
  /** As last written: after a full header the time itself, as the specification wants it. */
  delta: number;
  isExtended: boolean;
  isInMessage: boolean;
  received: number;
  /** Null: nothing yet, or its bytes are passed over. */
  body: Buffer | null;
  isKept: boolean;
}

export class ChunkReader {
  /** Until this is set, video and audio are passed over. */
  takesMedia = false;
  readonly #limits: ChunkLimits;
  readonly #streams = new Map<number, ChunkStream>();
  #chunkSize = FIRST_CHUNK_SIZE;
  #pending: Buffer = NO_BYTES;
  #offset = 0;
  /** The chunk whose payload is being read, and how much of it is to come. */
  #current: ChunkStream | null = null;
  #left = 0;
  /** Taken by messages that are not whole yet. */
  #heldBytes = 0;

  constructor(limits: ChunkLimits) {
    this.#limits = limits;
  }

  push(bytes: Buffer): void {
    const rest = this.#pending.subarray(this.#offset);
    this.#pending = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    this.#offset = 0;
  }

  /** The next whole message, in the order in which they end; null: more bytes are needed. */
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

  /** Null: the header is not there as a whole yet, and nothing was taken. */
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
    // Some leave the extended time out of the chunks that go on: there it is what was said before, or it is payload.
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
      if (known.isInMessage && format < 3) throw new MediaFault(`chunk stream ${id}: a message begins inside another`);
      return known;
    }
    if (format > 1) throw new MediaFault(`chunk stream ${id} begins with a header that refers to an earlier one`);
    if (this.#streams.size >= this.#limits.chunkStreams) {
      throw new MediaFault(`more than ${this.#limits.chunkStreams} chunk streams`);
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
    const most = this.#mostBytes(chunk.type);
    chunk.isKept = most > 0;
    if (chunk.isKept && chunk.length > most) {
      throw new MediaFault(`a message of type ${chunk.type} with ${chunk.length} bytes; ${most} are allowed`);
    }
  }

  /** 0: messages of this type are passed over. */
  #mostBytes(type: number): number {
    if (type >= MESSAGE.setChunkSize && type <= MESSAGE.peerBandwidth) return CONTROL_BYTES;
    if (type === MESSAGE.command || type === MESSAGE.commandAmf3) return this.#limits.commandBytes;
    if (type === MESSAGE.video || type === MESSAGE.audio) return this.takesMedia ? this.#limits.mediaBytes : 0;
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
    const size = Math.min(length, Math.max(needed, FIRST_BYTES, 2 * (body?.length ?? 0)));
    this.#hold(size - (body?.length ?? 0));
    // Of its own memory: a few bytes that live long must not keep a whole pool alive.
    const grown = Buffer.allocUnsafeSlow(size);
    body?.copy(grown, 0, 0, chunk.received);
    chunk.body = grown;
    return grown;
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    const most = this.#limits.commandBytes + (this.takesMedia ? 2 * this.#limits.mediaBytes : 0);
    if (this.#heldBytes > most) throw new MediaFault(`more than ${most} bytes in messages that do not end`);
  }

  /** Null: it was for us, or passed over. */
  #finish(chunk: ChunkStream): Message | null {
    const { type, streamId, timestamp } = chunk;
    const body = chunk.body ?? NO_BYTES;
    this.#drop(chunk);
    if (!chunk.isKept) return null;
    if (type !== MESSAGE.setChunkSize && type !== MESSAGE.abort) return { type, streamId, timestamp, body };
    if (body.length < 4) throw new MediaFault(`a message of type ${type} has 4 bytes, not ${body.length}`);
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
    if (size < SMALLEST_CHUNK || size > LARGEST_CHUNK) {
      throw new MediaFault(`a chunk size of ${size}; ${SMALLEST_CHUNK} to ${LARGEST_CHUNK} are allowed`);
    }
    this.#chunkSize = size;
  }

  #abort(id: number): void {
    const chunk = this.#streams.get(id);
    if (chunk !== undefined) this.#drop(chunk);
  }
}
