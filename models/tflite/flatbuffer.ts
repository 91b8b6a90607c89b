/**
 * Reads FlatBuffers without a schema compiler. Every offset and every length is checked against the end of the file
 * before use, so that a damaged file, or one of another format, throws `BadTflite`.
 */

/** Not a usable TFLite model. The message states what was expected and what was found. */
export class BadTflite extends Error {
  override name = "BadTflite";
}

export class FlatFile {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    // A Buffer's slice() shares memory; that of a Uint8Array copies.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** `identifier`: the four letters after the first offset that identify the file format. */
  root(identifier: string): Table {
    const found = new TextDecoder("latin1").decode(this.#bytes.subarray(4, 8));
    if (found !== identifier) {
      const what = this.#bytes.length < 8 ? `${this.#bytes.length} bytes` : JSON.stringify(found);
      throw new BadTflite(`this is not a TFLite file: expected "${identifier}" at its fifth byte, found ${what}`);
    }
    return new Table(this, this.follow(0));
  }

  /** The target of the offset that is stored at `position`. */
  follow(position: number): number {
    return position + this.uint32(position);
  }

  uint8(position: number): number {
    return this.#view.getUint8(this.#check(position, 1));
  }

  int8(position: number): number {
    return this.#view.getInt8(this.#check(position, 1));
  }

  uint16(position: number): number {
    return this.#view.getUint16(this.#check(position, 2), true);
  }

  int32(position: number): number {
    return this.#view.getInt32(this.#check(position, 4), true);
  }

  uint32(position: number): number {
    return this.#view.getUint32(this.#check(position, 4), true);
  }

  float32(position: number): number {
    return this.#view.getFloat32(this.#check(position, 4), true);
  }

  int64(position: number): bigint {
    return this.#view.getBigInt64(this.#check(position, 8), true);
  }

  bytes(position: number, length: number): Uint8Array {
    this.#check(position, length);
    return this.#bytes.subarray(position, position + length);
  }

  #check(position: number, size: number): number {
    if (position < 0 || position + size > this.#bytes.length) {
      throw new BadTflite(
        `the TFLite file is damaged or truncated: it refers to byte ${position + size} and has ${this.#bytes.length}`,
      );
    }
    return position;
  }
}

/** One table of a FlatBuffer. Fields are addressed by their number in the schema; absent fields have their default. */
export class Table {
  readonly #file: FlatFile;
  readonly #position: number;
  readonly #fields: number;
  readonly #fieldCount: number;

  constructor(file: FlatFile, position: number) {
    this.#file = file;
    this.#position = position;
    const layout = position - file.int32(position);
    this.#fieldCount = Math.floor((file.uint16(layout) - 4) / 2);
    this.#fields = layout + 4;
  }

  uint8(field: number): number {
    return this.#number(field, 0, (at) => this.#file.uint8(at));
  }

  int8(field: number): number {
    return this.#number(field, 0, (at) => this.#file.int8(at));
  }

  int32(field: number, fallback = 0): number {
    return this.#number(field, fallback, (at) => this.#file.int32(at));
  }

  uint32(field: number): number {
    return this.#number(field, 0, (at) => this.#file.uint32(at));
  }

  table(field: number): Table | null {
    const at = this.#find(field);
    return at === null ? null : new Table(this.#file, this.#file.follow(at));
  }

  tables(field: number): Table[] {
    return this.#list(field, 4, (at) => new Table(this.#file, this.#file.follow(at)));
  }

  int32s(field: number): number[] {
    return this.#list(field, 4, (at) => this.#file.int32(at));
  }

  float32s(field: number): number[] {
    return this.#list(field, 4, (at) => this.#file.float32(at));
  }

  int64s(field: number): bigint[] {
    return this.#list(field, 8, (at) => this.#file.int64(at));
  }

  bytes(field: number): Uint8Array {
    const { start, length } = this.#span(field, 1);
    return this.#file.bytes(start, length);
  }

  text(field: number): string {
    return new TextDecoder().decode(this.bytes(field));
  }

  #number(field: number, fallback: number, read: (position: number) => number): number {
    const at = this.#find(field);
    return at === null ? fallback : read(at);
  }

  #find(field: number): number | null {
    if (field >= this.#fieldCount) return null;
    const offset = this.#file.uint16(this.#fields + 2 * field);
    return offset === 0 ? null : this.#position + offset;
  }

  #span(field: number, size: number): { start: number; length: number } {
    const at = this.#find(field);
    if (at === null) return { start: 0, length: 0 };
    const vector = this.#file.follow(at);
    const length = this.#file.uint32(vector);
    // Checked before anything is allocated: a damaged length must not request gigabytes.
    this.#file.bytes(vector + 4, length * size);
    return { start: vector + 4, length };
  }

  #list<T>(field: number, size: number, read: (position: number) => T): T[] {
    const { start, length } = this.#span(field, size);
    return Array.from({ length }, (_, i) => read(start + i * size));
  }
}
