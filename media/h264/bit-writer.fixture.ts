/** Counterpart of `BitReader`: writes parameter sets that available encoders do not produce. */
export class BitWriter {
  readonly #bits: number[] = [];

  bits(value: number, count: number): this {
    for (let i = count - 1; i >= 0; i--) this.#bits.push(Math.floor(value / 2 ** i) & 1);
    return this;
  }

  ue(value: number): this {
    const length = Math.floor(Math.log2(value + 1));
    return this.bits(0, length).bits(value + 1, length + 1);
  }

  se(value: number): this {
    return this.ue(value > 0 ? value * 2 - 1 : -value * 2);
  }

  /** A NAL unit: with the trailing bit, and escaped. */
  nal(header: number): Uint8Array {
    const bits = [...this.#bits, 1];
    while (bits.length % 8 !== 0) bits.push(0);
    const bytes = [header];
    let zeros = 0;
    for (let i = 0; i < bits.length; i += 8) {
      const byte = bits.slice(i, i + 8).reduce((sum, bit) => sum * 2 + bit, 0);
      if (zeros >= 2 && byte <= 3) {
        bytes.push(3);
        zeros = 0;
      }
      bytes.push(byte);
      zeros = byte === 0 ? zeros + 1 : 0;
    }
    return Uint8Array.from(bytes);
  }
}
