/** Reads bits, most significant first, and Exp-Golomb codes (ITU-T H.264, 9.1). Throws a `MediaError` at the end. */
import { MediaError } from "./access-unit.ts";

export class BitReader {
  readonly #bytes: Uint8Array;
  readonly #name: string;
  #at = 0;

  /** `name` is the subject of error texts: "the SPS is truncated". */
  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = bytes;
    this.#name = name;
  }

  bit(): number {
    const byte = this.#bytes[this.#at >> 3];
    if (byte === undefined) throw this.#truncated();
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
    if (this.#at + count > this.#bytes.length * 8) throw this.#truncated();
    this.#at += count;
  }

  /** Exp-Golomb, ue(v). Throws above `max`. */
  unsigned(max = 2 ** 32 - 2): number {
    let zeros = 0;
    while (this.bit() === 0)
      if (++zeros > 31) throw new MediaError(`${this.#name} contains a number of more than 32 bits`);
    const value = 2 ** zeros - 1 + this.bits(zeros);
    if (value > max) throw new MediaError(`${this.#name} contains ${value} where at most ${max} is allowed`);
    return value;
  }

  /** Exp-Golomb, se(v). */
  signed(): number {
    const value = this.unsigned();
    return value % 2 === 1 ? (value + 1) / 2 : -value / 2;
  }
  #truncated(): MediaError {
    return new MediaError(`${this.#name} is truncated`);
  }
}
