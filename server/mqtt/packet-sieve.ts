/**
 * Looks at how long the packets of a broker are (MQTT, 2.1: one byte, then the length in up to four) and leaves out
 * messages that are too long before anybody gathers them. Messages come with quality of service 0, which is what is
 * subscribed to: one of another quality would be kept until the broker confirms it, which it need never do.
 */
const PUBLISH = 0x30;
const KIND = 0b1111_0000;
const QUALITY = 0b0000_0110;
const MOST_LENGTH_BYTES = 4;

export interface SieveOptions {
  readonly mostBytes: number;
  onLeftOut(bytes: number): void;
}

export class PacketSieve {
  readonly #options: SieveOptions;
  /** Of a packet whose length is not known yet. */
  #head: number[] = [];
  /** Still to come of the present packet. */
  #missing = 0;
  #isKept = true;

  constructor(options: SieveOptions) {
    this.#options = options;
  }

  /** What is left of it, as parts of it wherever that will do. Throws for what is no MQTT. */
  sift(chunk: Buffer): readonly Buffer[] {
    const kept: Buffer[] = [];
    let at = 0;
    let keptFrom = 0;
    while (at < chunk.length) {
      if (this.#missing > 0) {
        const bytes = Math.min(this.#missing, chunk.length - at);
        this.#missing -= bytes;
        at += bytes;
        if (!this.#isKept) keptFrom = at;
        continue;
      }
      const headFrom = at - this.#head.length;
      let length: number | null = null;
      while (at < chunk.length && length === null) length = this.#readHead(chunk[at++] ?? 0);
      if (length === null) {
        // The head goes on in the next chunk.
        if (headFrom > keptFrom) kept.push(chunk.subarray(keptFrom, headFrom));
        return kept;
      }
      this.#begin(length);
      if (headFrom < 0 && this.#isKept) kept.push(Buffer.from(this.#head.slice(0, -headFrom)));
      if (!this.#isKept && headFrom > keptFrom) kept.push(chunk.subarray(keptFrom, headFrom));
      if (!this.#isKept) keptFrom = at;
      this.#head = [];
    }
    if (at > keptFrom) kept.push(chunk.subarray(keptFrom, at));
    return kept;
  }

  /** The length that the packet has after its head, once that is whole. */
  #readHead(byte: number): number | null {
    this.#head.push(byte);
    if (this.#head.length === 1) return null;
    if (byte < 128) return this.#head.slice(1).reduceRight((length, part) => length * 128 + (part & 127), 0);
    if (this.#head.length > MOST_LENGTH_BYTES) throw new Error("what it sends is not MQTT");
    return null;
  }

  #begin(length: number): void {
    const { mostBytes, onLeftOut } = this.#options;
    const [first = 0] = this.#head;
    const isMessage = (first & KIND) === PUBLISH;
    if (isMessage && (first & QUALITY) !== 0)
      throw new Error("it sends messages of a quality of service that was not asked for; that is 0");
    this.#missing = length;
    this.#isKept = length <= mostBytes;
    if (this.#isKept) return;
    if (!isMessage) throw new Error(`it sends a packet of ${length} bytes that is no message`);
    onLeftOut(length);
  }
}
