/** The few parts of the protocol-buffer wire format that an ONNX file needs, to be written. */

const VARINT = 0;
const BYTES = 2;
const FIXED32 = 5;

/** One message, field after field. The same calls give the same bytes. */
export class MessageWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  integer(field: number, value: number | bigint): this {
    return this.#key(field, VARINT).#varint(BigInt(value));
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#key(field, FIXED32).#append(bytes);
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#key(field, BYTES).#varint(BigInt(value.length)).#append(value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field: number, value: MessageWriter): this {
    this.#key(field, BYTES).#varint(BigInt(value.#length));
    for (const part of value.#parts) this.#append(part);
    return this;
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  #key(field: number, wireType: number): this {
    return this.#varint(BigInt((field << 3) | wireType));
  }

  #varint(value: bigint): this {
    // Negative numbers are written as 64-bit two's complement.
    let rest = BigInt.asUintN(64, value);
    const bytes: number[] = [];
    while (rest > 0x7fn) {
      bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    return this.#append(Uint8Array.from(bytes));
  }

  #append(part: Uint8Array): this {
    this.#parts.push(part);
    this.#length += part.length;
    return this;
  }
}
