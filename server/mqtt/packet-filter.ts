/**
 * Drops oversized messages of a broker before they are buffered. Reads only the fixed header of each packet (MQTT, 2.1: one
 * byte, then the length in up to four). We subscribe with QoS 0; a message of another QoS is a protocol error, because the
 * client would store it until the broker confirms it, which may never happen.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";

const PUBLISH = 0x30;
const TYPE_MASK = 0b1111_0000;
const QOS_MASK = 0b0000_0110;
const MAX_LENGTH_BYTES = 4;

export interface PacketFilterOptions {
  readonly maxPacketBytes: number;
  onOversized(bytes: number): void;
}

export class PacketFilter {
  readonly #options: PacketFilterOptions;
  /** The header of the next packet, while it is incomplete. */
  #header: number[] = [];
  /** Bytes of the current packet that have not arrived. */
  #missing = 0;
  #isKept = true;

  constructor(options: PacketFilterOptions) {
    this.#options = options;
  }

  /** The bytes to pass on, as slices of the chunk where possible. Throws for data that is not MQTT. */
  filter(chunk: Buffer): readonly Buffer[] {
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
      const headerFrom = at - this.#header.length;
      let length: number | null = null;
      while (at < chunk.length && length === null) length = this.#readHeader(chunk[at++] ?? 0);
      if (length === null) {
        // The header continues in the next chunk.
        if (headerFrom > keptFrom) kept.push(chunk.subarray(keptFrom, headerFrom));
        return kept;
      }
      this.#startPacket(length);
      if (headerFrom < 0 && this.#isKept) kept.push(Buffer.from(this.#header.slice(0, -headerFrom)));
      if (!this.#isKept && headerFrom > keptFrom) kept.push(chunk.subarray(keptFrom, headerFrom));
      if (!this.#isKept) keptFrom = at;
      this.#header = [];
    }
    if (at > keptFrom) kept.push(chunk.subarray(keptFrom, at));
    return kept;
  }

  /** The length of the packet after its header; null while the header is incomplete. */
  #readHeader(byte: number): number | null {
    this.#header.push(byte);
    if (this.#header.length === 1) return null;
    if (byte < 128) return this.#header.slice(1).reduceRight((length, part) => length * 128 + (part & 127), 0);
    if (this.#header.length > MAX_LENGTH_BYTES) throw new Error("what it sends is not MQTT");
    return null;
  }

  #startPacket(length: number): void {
    const { maxPacketBytes, onOversized } = this.#options;
    const [first = 0] = this.#header;
    const isMessage = (first & TYPE_MASK) === PUBLISH;
    if (isMessage && (first & QOS_MASK) !== 0)
      throw new Error("it sends messages with a quality of service other than the subscribed 0");
    this.#missing = length;
    this.#isKept = length <= maxPacketBytes;
    if (this.#isKept) return;
    if (!isMessage) throw new Error(`it sends a packet of ${length} bytes that is not a message`);
    onOversized(length);
  }
}

/** A socket whose incoming packets pass the filter. Owns the socket. */
export class FilteredSocket extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket, filter: PacketFilter) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const piece of filter.filter(chunk)) if (!this.push(piece)) socket.pause();
      } catch (error) {
        // The MQTT client reports only errors that have a code.
        this.destroy(Object.assign(error as Error, { code: "EPROTO" }));
      }
    });
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
