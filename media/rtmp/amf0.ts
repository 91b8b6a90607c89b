/** Reads and writes AMF0, the subset that RTMP commands use. Input is untrusted: depth, values and bytes are limited. */
import { MediaError } from "../access-unit.ts";

export type AmfValue = number | boolean | string | null | readonly AmfValue[] | AmfObject;
export interface AmfObject {
  readonly [name: string]: AmfValue;
}

const MARKER = {
  number: 0,
  boolean: 1,
  string: 2,
  object: 3,
  null: 5,
  undefined: 6,
  map: 8,
  objectEnd: 9,
  array: 10,
  date: 11,
  longString: 12,
} as const;
const MAX_DEPTH = 8;
/** In one message, nested ones included. */
const MAX_VALUES = 512;

export const isAmfObject = (value: AmfValue | undefined): value is AmfObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function readAmf(bytes: Buffer): AmfValue[] {
  const reader = new AmfReader(bytes);
  const values: AmfValue[] = [];
  while (!reader.isAtEnd) values.push(reader.readValue(0));
  return values;
}

class AmfReader {
  readonly #bytes: Buffer;
  #at = 0;
  #values = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  readValue(depth: number): AmfValue {
    if (depth > MAX_DEPTH) throw new MediaError(`AMF: values are nested deeper than ${MAX_DEPTH}`);
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new MediaError(`AMF: more than ${MAX_VALUES} values`);
    const marker = this.#bytes.readUInt8(this.#take(1));
    switch (marker) {
      case MARKER.number:
        return this.#bytes.readDoubleBE(this.#take(8));
      case MARKER.boolean:
        return this.#bytes.readUInt8(this.#take(1)) !== 0;
      case MARKER.string:
        return this.#readText(2);
      case MARKER.longString:
        return this.#readText(4);
      case MARKER.null:
      case MARKER.undefined:
        return null;
      case MARKER.map:
        // Skips the count, which several encoders get wrong: an end marker follows.
        this.#take(4);
        return this.#readObject(depth);
      case MARKER.object:
        return this.#readObject(depth);
      case MARKER.array:
        return this.#readArray(depth);
      case MARKER.date:
        // Milliseconds, then a time zone, which is ignored.
        return this.#bytes.readDoubleBE(this.#take(10));
      default:
        throw new MediaError(`AMF: unknown type marker ${marker}`);
    }
  }

  /** Consumes `count` bytes and returns their position. */
  #take(count: number): number {
    const at = this.#at;
    if (count > this.#bytes.length - at) throw new MediaError("AMF: a value is truncated");
    this.#at += count;
    return at;
  }

  #readText(lengthBytes: number): string {
    const length = this.#bytes.readUIntBE(this.#take(lengthBytes), lengthBytes);
    const at = this.#take(length);
    return this.#bytes.toString("utf8", at, at + length);
  }

  #readObject(depth: number): AmfObject {
    // Without a prototype: names are untrusted.
    const object: Record<string, AmfValue> = Object.create(null);
    for (;;) {
      const name = this.#readText(2);
      if (name === "" && this.#bytes[this.#at] === MARKER.objectEnd) {
        this.#take(1);
        return object;
      }
      object[name] = this.readValue(depth + 1);
    }
  }

  #readArray(depth: number): AmfValue[] {
    const count = this.#bytes.readUInt32BE(this.#take(4));
    const values: AmfValue[] = [];
    for (let i = 0; i < count; i += 1) values.push(this.readValue(depth + 1));
    return values;
  }
}

export function writeAmf(...values: readonly AmfValue[]): Buffer {
  return Buffer.concat(values.map(writeValue));
}

function writeValue(value: AmfValue): Buffer {
  if (value === null) return Buffer.of(MARKER.null);
  if (typeof value === "boolean") return Buffer.of(MARKER.boolean, value ? 1 : 0);
  if (typeof value === "number") {
    const bytes = Buffer.alloc(9, MARKER.number);
    bytes.writeDoubleBE(value, 1);
    return bytes;
  }
  if (typeof value === "string") return writeString(value);
  if (isAmfObject(value)) {
    const entries = Object.entries(value).flatMap(([name, entry]) => [writeText(name, 2), writeValue(entry)]);
    return Buffer.concat([Buffer.of(MARKER.object), ...entries, Buffer.of(0, 0, MARKER.objectEnd)]);
  }
  const head = Buffer.alloc(5, MARKER.array);
  head.writeUInt32BE(value.length, 1);
  return Buffer.concat([head, ...value.map(writeValue)]);
}

function writeString(text: string): Buffer {
  const isLong = Buffer.byteLength(text) > 0xffff;
  return Buffer.concat([Buffer.of(isLong ? MARKER.longString : MARKER.string), writeText(text, isLong ? 4 : 2)]);
}

function writeText(text: string, lengthBytes: number): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(bytes.length, 0, lengthBytes);
  return Buffer.concat([length, bytes]);
}
