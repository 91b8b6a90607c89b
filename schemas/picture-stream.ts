/**
 * Pictures on the socket between a runner and the server: for each a head of `length` (of all that follows it, 32 bits),
 * `captureMs` (a double), the length of the attachment's name (8 bits) and that name, then the JPEG. Big-endian.
 */
export interface StreamedPicture {
  /** Unix time of the frame. */
  readonly captureMs: number;
  /** Which attachment of the slot `feed` it comes from. */
  readonly attachment: string;
  readonly bytes: Uint8Array;
}

/** No JPEG of a sane picture is larger. */
export const MOST_PICTURE_BYTES = 16 * 2 ** 20;
const LENGTH_BYTES = 4;
const FIXED_BYTES = 8 + 1;

/** Everything before the bytes of the JPEG. */
export function encodePictureHead({ captureMs, attachment, bytes }: StreamedPicture): Buffer {
  const name = Buffer.from(attachment, "utf8").subarray(0, 255);
  const head = Buffer.alloc(LENGTH_BYTES + FIXED_BYTES);
  head.writeUInt32BE(FIXED_BYTES + name.length + bytes.length, 0);
  head.writeDoubleBE(captureMs, LENGTH_BYTES);
  head.writeUInt8(name.length, LENGTH_BYTES + 8);
  return Buffer.concat([head, name]);
}

/** Takes a stream apart, in pieces of whatever size. */
export class PictureReader {
  #pieces: Buffer[] = [];
  #held = 0;

  /** Pictures that are whole by now. Throws when what comes is no such stream; nothing after that makes sense. */
  read(piece: Buffer): readonly StreamedPicture[] {
    this.#pieces.push(piece);
    this.#held += piece.length;
    const pictures: StreamedPicture[] = [];
    for (let size = this.#nextSize(); size !== null && this.#held >= size; size = this.#nextSize())
      pictures.push(decode(this.#take(size).subarray(LENGTH_BYTES)));
    return pictures;
  }

  /** With its length; null while that has not come. */
  #nextSize(): number | null {
    if (this.#held < LENGTH_BYTES) return null;
    if ((this.#pieces[0]?.length ?? 0) < LENGTH_BYTES) this.#join();
    const length = this.#pieces[0]?.readUInt32BE(0) ?? 0;
    if (length < FIXED_BYTES || length > MOST_PICTURE_BYTES)
      throw new Error(`a picture of ${length} bytes; expected ${FIXED_BYTES} to ${MOST_PICTURE_BYTES}`);
    return LENGTH_BYTES + length;
  }

  /** A copy that is the picture's own: what it was read from is free to go. */
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
  if (start > body.length) throw new Error("a picture ends within the name of its attachment");
  return {
    captureMs: body.readDoubleBE(0),
    attachment: body.toString("utf8", FIXED_BYTES, start),
    bytes: body.subarray(start),
  };
}
