/** Pictures of `multipart/x-mixed-replace`, as they come in pieces of whatever size. Pure. */

export interface FeedPicture {
  /** As detection messages say it: UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly jpeg: Uint8Array;
}

/** A head that is longer is none. */
const MOST_HEAD_BYTES = 4096;
const MOST_PICTURE_BYTES = 16 * 2 ** 20;
const HEAD_END = [13, 10, 13, 10];

/** Heads say how long their picture is, so boundaries need not be looked for in pictures. */
export class PartReader {
  #held = new Uint8Array(0);

  /** Those that are whole by now. Throws when what comes is no such stream. */
  read(piece: Uint8Array): readonly FeedPicture[] {
    this.#held = join(this.#held, piece);
    const pictures: FeedPicture[] = [];
    for (let picture = this.#take(); picture !== null; picture = this.#take()) pictures.push(picture);
    return pictures;
  }

  #take(): FeedPicture | null {
    const end = findEnd(this.#held);
    if (end === null) {
      if (this.#held.length > MOST_HEAD_BYTES) throw new Error("the feed is none: a part without a head");
      return null;
    }
    const head = new TextDecoder().decode(this.#held.subarray(0, end));
    const length = Number(/^content-length:\s*(\d+)/im.exec(head)?.[1] ?? Number.NaN);
    if (!(length > 0 && length <= MOST_PICTURE_BYTES)) throw new Error("the feed is none: a part without a length");
    if (this.#held.length < end + length) return null;
    const jpeg = this.#held.slice(end, end + length);
    this.#held = this.#held.slice(end + length);
    return { timestamp: /^x-timestamp:\s*(\S+)/im.exec(head)?.[1] ?? "", jpeg };
  }
}

function findEnd(bytes: Uint8Array): number | null {
  const most = Math.min(bytes.length - HEAD_END.length, MOST_HEAD_BYTES);
  for (let i = 0; i <= most; i++) if (HEAD_END.every((value, j) => bytes[i + j] === value)) return i + HEAD_END.length;
  return null;
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
