/** Reads one file of a tar archive as a stream: ustar with the pax and GNU extensions for long names. */

const BLOCK = 512;
/** Limit for a name and for a pax header. */
const MOST_NAME_BYTES = 64 * 1024;
const NAMED = 8;

/** Throws an Error when the file is not a tar archive, is truncated, or does not contain the member. */
export async function* readMember(
  archive: AsyncIterable<Uint8Array>,
  member: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = new BlockReader(archive);
  try {
    yield* findMember(reader, member);
  } finally {
    await reader.close();
  }
}

async function* findMember(reader: BlockReader, member: string): AsyncGenerator<Uint8Array, void, undefined> {
  const others: string[] = [];
  let longName: string | null = null;
  for (let header = await reader.header(); header !== null; header = await reader.header()) {
    const { type, size } = header;
    if (type === "x" || type === "L") {
      const bytes = await reader.take(size, MOST_NAME_BYTES);
      longName = type === "L" ? cutAtZero(bytes.toString("utf8")) : (readPath(bytes) ?? longName);
    } else {
      const name: string = longName ?? header.name;
      longName = null;
      if (isFile(type) && name === member) {
        yield* reader.chunks(size);
        return;
      }
      if (isFile(type)) others.push(name);
      for await (const _ of reader.chunks(size));
    }
    await reader.align(size);
  }
  throw new Error(`the archive does not contain ${member}${describeOthers(member, others)}`);
}

const isFile = (type: string): boolean => type === "0" || type === "\0" || type === "7";

function describeOthers(member: string, others: readonly string[]): string {
  const ending = /\.[^./]*$/.exec(member)?.[0] ?? "";
  const alike = others.filter((name) => ending !== "" && name.endsWith(ending)).slice(0, NAMED);
  return alike.length === 0 ? `, only ${others.length} other files` : `; it contains ${alike.join(", ")}`;
}

interface Header {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

class BlockReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#source = archive[Symbol.asyncIterator]();
  }

  /** Null at the end of the archive: a block of zeros, or the end of the stream. */
  async header(): Promise<Header | null> {
    if (this.#held.length === 0 && !(await this.#fetch())) return null;
    const block = await this.take(BLOCK, BLOCK);
    if (block.every((byte) => byte === 0)) return null;
    const expected = Number.parseInt(textAt(block, 148, 8), 8);
    const sum = block.reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 0x20 : byte), 0);
    if (sum !== expected) throw new Error("not a tar archive, or a damaged one");
    const prefix = block.toString("latin1", 257, 262) === "ustar" ? textAt(block, 345, 155) : "";
    const name = textAt(block, 0, 100);
    return {
      name: prefix === "" ? name : `${prefix}/${name}`,
      type: String.fromCharCode(block[156] ?? 0),
      size: readSize(block),
    };
  }

  async take(size: number, most: number): Promise<Buffer> {
    if (size > most) throw new Error(`the archive is damaged: ${size} bytes, expected at most ${most}`);
    const pieces: Uint8Array[] = [];
    for await (const chunk of this.chunks(size)) pieces.push(chunk);
    return Buffer.concat(pieces);
  }

  async *chunks(size: number): AsyncGenerator<Uint8Array, void, undefined> {
    let left = size;
    while (left > 0) {
      if (this.#held.length === 0 && !(await this.#fetch()))
        throw new Error("the archive is truncated: it ends in the middle of a file");
      const piece = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  /** Skips the padding after a file of this size. */
  async align(size: number): Promise<void> {
    const rest = (BLOCK - (size % BLOCK)) % BLOCK;
    await this.take(rest, BLOCK);
  }

  /** Closes the archive, also if it was not read to its end. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #fetch(): Promise<boolean> {
    for (;;) {
      const next = await this.#source.next();
      if (next.done) return false;
      if (next.value.length === 0) continue;
      this.#held = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length);
      return true;
    }
  }
}

const cutAtZero = (text: string): string => text.split("\0", 1)[0] ?? "";
const textAt = (block: Buffer, offset: number, length: number): string =>
  cutAtZero(block.toString("utf8", offset, offset + length)).trim();

/** Octal; from 8 GB on, big-endian binary with the top bit set. */
function readSize(block: Buffer): number {
  const isBinary = ((block[124] ?? 0) & 0x80) !== 0;
  const size = isBinary ? Number(block.readBigUInt64BE(128)) : Number.parseInt(textAt(block, 124, 12) || "0", 8);
  if (!Number.isSafeInteger(size) || size < 0) throw new Error("the archive is damaged: a file has no size");
  return size;
}

/** `path` of a pax header, whose records are `LENGTH KEY=VALUE\n`. */
function readPath(bytes: Buffer): string | null {
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number.parseInt(bytes.toString("latin1", at, space), 10);
    if (space < 0 || !(length > 0)) return null;
    const record = bytes.toString("utf8", space + 1, at + length - 1);
    if (record.startsWith("path=")) return record.slice("path=".length);
    at += length;
  }
  return null;
}
