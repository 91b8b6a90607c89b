/**
 * JPEG frames on the socket between a runner and the server. Each has a header with `length` (of everything after it, 32
 * bits), `captureMs` (a double), the length of the attachment's name (8 bits) and that name. Big-endian.
 */
export interface StreamedPicture {
  /** Unix time of the frame. */
  readonly captureMs: number;
  /** The attachment of the slot `feed` that sent it. */
  readonly attachment: string;
  readonly bytes: Uint8Array;
}

/** Larger than any reasonable JPEG. */
export const MOST_PICTURE_BYTES = 16 * 2 ** 20;
const LENGTH_BYTES = 4;
const FIXED_BYTES = 8 + 1;

/** The header of a frame. */
export function encodePictureHead({ captureMs, attachment, bytes }: StreamedPicture): Buffer {
  const name = Buffer.from(attachment, "utf8").subarray(0, 255);
  const head = Buffer.alloc(LENGTH_BYTES + FIXED_BYTES);
  head.writeUInt32BE(FIXED_BYTES + name.length + bytes.length, 0);
  head.writeDoubleBE(captureMs, LENGTH_BYTES);
  head.writeUInt8(name.length, LENGTH_BYTES + 8);
  return Buffer.concat([head, name]);
}

/** Splits a stream into frames; chunks may have any size. */
export class PictureReader {
  #pieces: Buffer[] = [];
  #held = 0;

  /** The frames completed by this chunk. Throws for an invalid stream, which cannot be read further. */
  read(piece: Buffer): readonly StreamedPicture[] {
    this.#pieces.push(piece);
    this.#held += piece.length;
    const pictures: StreamedPicture[] = [];
    for (let size = this.#nextSize(); size !== null && this.#held >= size; size = this.#nextSize())
      pictures.push(decode(this.#take(size).subarray(LENGTH_BYTES)));
    return pictures;
  }

  /** Size of the next frame including its length field; null if that is not received yet. */
  #nextSize(): number | null {
    if (this.#held < LENGTH_BYTES) return null;
    if ((this.#pieces[0]?.length ?? 0) < LENGTH_BYTES) this.#join();
    const length = this.#pieces[0]?.readUInt32BE(0) ?? 0;
    if (length < FIXED_BYTES || length > MOST_PICTURE_BYTES)
      throw new Error(`invalid frame of ${length} bytes; expected ${FIXED_BYTES} to ${MOST_PICTURE_BYTES}`);
    return LENGTH_BYTES + length;
  }

  /** Copies, so that the received buffers can be released. */
  #take(size: number): Buffer {
    this.#join();
    const [all = Buffer.alloc(0)] = this.#pieces;
    this.#pieces = size < all.length ? [all.subarray(size)] : [];
    this.#held -= size;
    return Buffer.from(all.subarray(0, size));
  }

  #join(): void {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)];
  }
}

function decode(body: Buffer): StreamedPicture {
  const nameLength = body.readUInt8(8);
  const start = FIXED_BYTES + nameLength;
  if (start > body.length) throw new Error("invalid frame: it ends within the name of its attachment");
  return {
    captureMs: body.readDoubleBE(0),
    attachment: body.toString("utf8", FIXED_BYTES, start),
    bytes: body.subarray(start),
  };
}
