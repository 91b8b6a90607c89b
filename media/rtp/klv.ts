/** KLV metadata over RTP (RFC 6597): the packets of a unit have the same timestamp, and the last one has the marker. */
import { NO_HEAD, type RtpPacket, type RtpPayload } from "./packet.ts";

export interface RtpKlv {
  readonly timestamp: number;
  readonly data: Buffer;
}

/** A unit is much smaller; one that is larger is damaged. */
const MAX_UNIT_BYTES = 2 ** 18;
const UNIVERSAL_LABEL = Buffer.from([0x06, 0x0e, 0x2b, 0x34]);

export class KlvDepayloader {
  readonly #emit: (unit: RtpKlv) => void;
  #parts: Buffer[] = [];
  #bytes = 0;
  #timestamp: number | null = null;

  constructor(emit: (unit: RtpKlv) => void) {
    this.#emit = emit;
  }

  /** A unit with a lost packet is dropped. */
  push({ timestamp, marker, payload }: RtpPacket, isAfterLoss: boolean): void {
    if (timestamp !== this.#timestamp || isAfterLoss) this.#begin(timestamp);
    this.#bytes += payload.length;
    if (this.#bytes > MAX_UNIT_BYTES) this.#begin(timestamp);
    this.#parts.push(Buffer.from(payload));
    if (!marker) return;
    const data = Buffer.concat(this.#parts);
    this.#begin(null);
    // Otherwise its beginning was lost.
    if (UNIVERSAL_LABEL.equals(data.subarray(0, UNIVERSAL_LABEL.length))) this.#emit({ timestamp, data });
  }

  #begin(timestamp: number | null): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#timestamp = timestamp;
  }
}

export function payloadKlv(data: Uint8Array, maxBytes: number): RtpPayload[] {
  const payloads: RtpPayload[] = [];
  for (let at = 0; at < data.length; at += maxBytes)
    payloads.push({ head: NO_HEAD, body: data.subarray(at, at + maxBytes) });
  return payloads;
}
