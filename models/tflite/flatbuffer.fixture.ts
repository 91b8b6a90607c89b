/** Writes FlatBuffers for tests: tables by field number, followed by everything they refer to. */

export type Field =
  | { readonly uint8: number }
  | { readonly int32: number }
  | { readonly table: Fields }
  | { readonly tables: readonly Fields[] }
  | { readonly int32s: readonly number[] }
  | { readonly float32s: readonly number[] }
  | { readonly int64s: readonly number[] }
  | { readonly bytes: Uint8Array }
  | { readonly text: string };
export type Fields = Readonly<Record<number, Field>>;

export function writeFlatFile(root: Fields, identifier = "TFL3"): Uint8Array {
  const writer = new Writer();
  const start = writer.reserve(4);
  writer.append(new TextEncoder().encode(identifier));
  writer.point(start, writer.table(root));
  return writer.finish();
}

class Writer {
  #bytes = new Uint8Array(1 << 12);
  #length = 0;

  reserve(size: number): number {
    while (this.#length + size > this.#bytes.length) {
      const grown = new Uint8Array(this.#bytes.length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#length += size;
    return this.#length - size;
  }

  append(bytes: Uint8Array): number {
    const at = this.reserve(Math.ceil(bytes.length / 4) * 4);
    this.#bytes.set(bytes, at);
    return at;
  }

  point(from: number, to: number): void {
    this.#view.setUint32(from, to - from, true);
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  table(fields: Fields): number {
    const numbers = Object.keys(fields).map(Number);
    const count = Math.max(-1, ...numbers) + 1;
    const layout = this.reserve(Math.ceil((4 + 2 * count) / 4) * 4);
    const table = this.reserve(4 + 4 * numbers.length);
    this.#view.setUint16(layout, 4 + 2 * count, true);
    this.#view.setUint16(layout + 2, 4 + 4 * numbers.length, true);
    this.#view.setInt32(table, table - layout, true);
    numbers.forEach((number, i) => {
      const slot = table + 4 + 4 * i;
      this.#view.setUint16(layout + 4 + 2 * number, slot - table, true);
      this.#field(slot, fields[number] as Field);
    });
    return table;
  }

  get #view(): DataView {
    return new DataView(this.#bytes.buffer);
  }

  #field(slot: number, field: Field): void {
    if ("uint8" in field) this.#view.setUint8(slot, field.uint8);
    else if ("int32" in field) this.#view.setInt32(slot, field.int32, true);
    else if ("table" in field) this.point(slot, this.table(field.table));
    else if ("tables" in field) this.#tables(slot, field.tables);
    else if ("int32s" in field) this.#vector(slot, field.int32s.length, bytesOf(Int32Array.from(field.int32s)));
    else if ("float32s" in field) this.#vector(slot, field.float32s.length, bytesOf(Float32Array.from(field.float32s)));
    else if ("int64s" in field)
      this.#vector(slot, field.int64s.length, bytesOf(BigInt64Array.from(field.int64s, BigInt)));
    else if ("bytes" in field) this.#vector(slot, field.bytes.length, field.bytes);
    else this.#vector(slot, field.text.length, new TextEncoder().encode(field.text));
  }

  #vector(slot: number, count: number, items: Uint8Array): number {
    const at = this.reserve(4);
    this.#view.setUint32(at, count, true);
    this.point(slot, at);
    return this.append(items);
  }

  #tables(slot: number, tables: readonly Fields[]): void {
    const items = this.#vector(slot, tables.length, new Uint8Array(tables.length * 4));
    tables.forEach((fields, i) => {
      this.point(items + 4 * i, this.table(fields));
    });
  }
}

const bytesOf = (values: Int32Array | Float32Array | BigInt64Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
