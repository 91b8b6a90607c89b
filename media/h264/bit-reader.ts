/** Bits of a NAL unit's payload (ITU-T H.264, 7.2 and 9.1). Throws a `MediaFault` when there are no more. */
import { MediaFault } from "../fault.ts";

export class BitReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  /** `nal` as it travels: its header byte is left out, and so are the bytes that keep start codes from appearing. */
  constructor(nal: Uint8Array, most = 4096) {
    this.#bytes = stripEscapes(nal, most);
  }

  bit(): number {
    const byte = this.#bytes[this.#at >> 3];
    if (byte === undefined) throw new MediaFault("it is cut off");
    return (byte >> (7 - (this.#at++ & 7))) & 1;
  }

  flag(): boolean {
    return this.bit() === 1;
  }

  bits(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++) value = value * 2 + this.bit();
    return value;
  }

  skip(count: number): void {
    if (this.#at + count > this.#bytes.length * 8) throw new MediaFault("it is cut off");
    this.#at += count;
  }

  /** Exp-Golomb, ue(v). No more than `most`, if it is to make sense. */
  unsigned(most = 2 ** 32 - 2): number {
    let zeros = 0;
    while (this.bit() === 0) if (++zeros > 31) throw new MediaFault("a number in it is too large");
    const value = 2 ** zeros - 1 + this.bits(zeros);
    if (value > most) throw new MediaFault(`${value} in it where ${most} is the most there can be`);
    return value;
  }

  /** Exp-Golomb, se(v). */
  signed(): number {
    const value = this.unsigned();
    return value % 2 === 1 ? (value + 1) / 2 : -value / 2;
  }
}

function stripEscapes(nal: Uint8Array, most: number): Uint8Array {
  const length = Math.min(nal.length, most);
  const bytes = new Uint8Array(length);
  let end = 0;
  let zeros = 0;
  for (let i = 1; i < length; i++) {
    const byte = nal[i] as number;
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    zeros = byte === 0 ? zeros + 1 : 0;
    bytes[end++] = byte;
  }
  return bytes.subarray(0, end);
}
