/**
 * KLV of SMPTE ST 336 as the MISB standards use it: BER lengths, BER-OID tags, local sets, and the mappings between numbers
 * and bytes. Everything that reads is safe for any bytes: it returns null or stops, and never throws.
 */

/** Where a value ends: its number, and the bytes that it took. */
interface Read {
  readonly value: number;
  readonly size: number;
}

/** Longer lengths would not fit into a number, and nothing is that long. */
const MAX_LENGTH_BYTES = 6;
const MAX_TAG_BYTES = 4;

export function writeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = writeUnsigned(length);
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

/** Null: cut off, of indefinite length, or longer than anything that is sent. */
export function readLength(bytes: Buffer, at = 0): Read | null {
  const first = bytes[at];
  if (first === undefined) return null;
  if (first < 0x80) return { value: first, size: 1 };
  const count = first & 0x7f;
  if (count === 0 || count > MAX_LENGTH_BYTES || at + 1 + count > bytes.length) return null;
  return { value: bytes.readUIntBE(at + 1, count), size: 1 + count };
}

/** BER-OID, for tags and target ids: seven bits per byte, the high bit means that another byte follows. */
export function writeTag(tag: number): Buffer {
  const bytes = [tag & 0x7f];
  for (let rest = Math.floor(tag / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift((rest & 0x7f) | 0x80);
  return Buffer.from(bytes);
}

export function readTag(bytes: Buffer, at = 0): Read | null {
  let value = 0;
  for (let size = 1; size <= MAX_TAG_BYTES; size++) {
    const byte = bytes[at + size - 1];
    if (byte === undefined) return null;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, size };
  }
  return null;
}

export interface Item {
  readonly tag: number;
  readonly value: Buffer;
}

/** The items of a local set, up to the first one that is damaged or longer than the set. */
export function* readItems(bytes: Buffer): Generator<Item> {
  for (let at = 0; at < bytes.length; ) {
    const tag = readTag(bytes, at);
    const length = tag === null ? null : readLength(bytes, at + tag.size);
    if (tag === null || length === null) return;
    const from = at + tag.size + length.size;
    if (from + length.value > bytes.length) return;
    yield { tag: tag.value, value: bytes.subarray(from, from + length.value) };
    at = from + length.value;
  }
}

export const writeItem = (tag: number, value: Buffer): Buffer =>
  Buffer.concat([writeTag(tag), writeLength(value.length), value]);

/** Big-endian, in as few bytes as possible. */
export function writeUnsigned(value: number): Buffer {
  let size = 1;
  while (size < MAX_LENGTH_BYTES && value >= 256 ** size) size++;
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
}

/** Of up to six bytes; longer values lose precision. */
export const readUnsigned = (bytes: Buffer): number =>
  bytes.length <= MAX_LENGTH_BYTES
    ? bytes.length === 0
      ? 0
      : bytes.readUIntBE(0, bytes.length)
    : Number(BigInt(`0x${bytes.toString("hex")}`));

/** How a kind of value is written. */
export interface Codec<T> {
  /** Null: the bytes stand for no value, such as "out of range", or have a wrong length. */
  read(bytes: Buffer): T | null;
  /** Values outside of the range become "out of range" where the format has that, else the nearest value. */
  write(value: T): Buffer;
}

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));

/** `least + raw * range / (2^n - 1)`. */
export function unsigned(size: number, least: number, most: number): Codec<number> {
  const steps = 2 ** (8 * size) - 1;
  return {
    read: (bytes) => (bytes.length === size ? least + (bytes.readUIntBE(0, size) * (most - least)) / steps : null),
    write(value) {
      const bytes = Buffer.alloc(size);
      bytes.writeUIntBE(Math.round(((clamp(value, least, most) - least) * steps) / (most - least)), 0, size);
      return bytes;
    },
  };
}

/** `raw * 2 * most / (2^n - 2)`; the lowest number means "out of range". */
export function signed(size: number, most: number): Codec<number> {
  const steps = 2 ** (8 * size) - 2;
  const outOfRange = -(2 ** (8 * size - 1));
  return {
    read(bytes) {
      if (bytes.length !== size) return null;
      const raw = bytes.readIntBE(0, size);
      return raw === outOfRange ? null : (raw * 2 * most) / steps;
    },
    write(value) {
      const bytes = Buffer.alloc(size);
      bytes.writeIntBE(Math.abs(value) > most ? outOfRange : Math.round((value * steps) / (2 * most)), 0, size);
      return bytes;
    },
  };
}

/** A whole number of a fixed size. */
export const integer = (size: number): Codec<number> => ({
  read: (bytes) => (bytes.length === size ? bytes.readUIntBE(0, size) : null),
  write(value) {
    const bytes = Buffer.alloc(size);
    bytes.writeUIntBE(clamp(Math.round(value), 0, 2 ** (8 * size) - 1), 0, size);
    return bytes;
  },
});

/** A whole number of up to four bytes, as short as possible. */
export const count: Codec<number> = {
  read: (bytes) => (bytes.length > 0 && bytes.length <= 4 ? readUnsigned(bytes) : null),
  write: (value) => writeUnsigned(clamp(Math.round(value), 0, 2 ** 32 - 1)),
};

/** Longer texts are cut: the standards limit them to 127 bytes. */
const MAX_TEXT_BYTES = 127;
export const text: Codec<string> = {
  read: (bytes) => bytes.toString("utf8", 0, MAX_TEXT_BYTES),
  write: (value) => Buffer.from(value, "utf8").subarray(0, MAX_TEXT_BYTES),
};

/** Microseconds since 1970. */
export const microseconds: Codec<bigint> = {
  read: (bytes) => (bytes.length === 8 ? bytes.readBigUInt64BE(0) : null),
  write(value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt.asUintN(64, value));
    return bytes;
  },
};

/** IMAPB of ST 1201; the length is that of the bytes that were received. */
export function imapb(least: number, most: number, size: number): Codec<number> {
  const power = Math.ceil(Math.log2(most - least));
  const scaleOf = (bytes: number): number => 2 ** (8 * bytes - 1 - power);
  const zeroOf = (scale: number): number => (least < 0 && most > 0 ? scale * least - Math.floor(scale * least) : 0);
  return {
    read(bytes) {
      if (bytes.length === 0 || bytes.length > MAX_LENGTH_BYTES) return null;
      const raw = readUnsigned(bytes);
      // Infinities, NaN and reserved numbers have the highest bit set, and others with it.
      if (raw > 2 ** (8 * bytes.length - 1)) return null;
      const scale = scaleOf(bytes.length);
      return clamp((raw - zeroOf(scale)) / scale + least, least, most);
    },
    write(value) {
      const scale = scaleOf(size);
      const bytes = Buffer.alloc(size);
      bytes.writeUIntBE(Math.trunc(scale * (clamp(value, least, most) - least) + zeroOf(scale)), 0, size);
      return bytes;
    },
  };
}
