/** KLV metadata of a live stream → telemetry samples at the capture time of the frames that it belongs to. */
import type { JsonRecord } from "../../schemas/json.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { type Reading, TelemetryFault, type TelemetryFormat } from "../../telemetry/format.ts";
import { createFormat } from "../../telemetry/formats.ts";
import type { DriverServices, MetadataPacket, MetadataTap } from "../element.ts";

/** Of RTSP (RFC 6597), and of MPEG-TS as `tsdemux` outputs it. */
const CAPS = "application/x-rtp,media=application,encoding-name=SMPTE336M;meta/x-klv";
/** Metadata and frames have times of the same clock. */
const ERROR_MS = 5;
/** A unit is much smaller; one that is larger is damaged. */
const MAX_UNIT_BYTES = 2 ** 18;
const UNIVERSAL_LABEL = Buffer.from([0x06, 0x0e, 0x2b, 0x34]);
const CELL_BYTES = 5;

/** For one connection. `now`: Unix milliseconds. */
export function tapKlv(services: Pick<DriverServices, "deliver" | "log">, now: () => number = Date.now): MetadataTap {
  const format = createFormat("misb_0601");
  const rtp = new RtpUnits();
  let hasWarned = false;
  const warn = (reason: string): void => {
    if (!hasWarned) services.log.warn("metadata of the stream ignored", { reason });
    hasWarned = true;
  };
  return {
    caps: CAPS,
    onPacket(packet) {
      const unit = packet.caps.startsWith("application/x-rtp")
        ? rtp.take(packet)
        : { ...packet, data: trimCell(packet.data) };
      if (unit === null || unit.captureNs === null) return;
      const reading = readUnit(format, unit.data, now(), warn);
      if (reading === null) return;
      const timeMs = Number(unit.captureNs / 1000n) / 1000;
      const sample = { ...reading.sample, timeMs, receivedMs: now(), videoErrorMs: ERROR_MS };
      services.deliver(TELEMETRY_CHANNEL, sample as unknown as JsonRecord);
    },
  };
}

function readUnit(
  format: TelemetryFormat,
  data: Uint8Array,
  receivedMs: number,
  warn: (reason: string) => void,
): Reading | null {
  try {
    return format.read(data, receivedMs);
  } catch (error) {
    if (!(error instanceof TelemetryFault)) throw error;
    warn(error.message);
    return null;
  }
}

/** A unit of synchronous metadata in MPEG-TS begins with the header of its cell. */
function trimCell(data: Uint8Array): Uint8Array {
  const isAt = (at: number): boolean => UNIVERSAL_LABEL.every((byte, index) => data[at + index] === byte);
  return !isAt(0) && isAt(CELL_BYTES) ? data.subarray(CELL_BYTES) : data;
}

/** Units of several packets, which have the same timestamp; the last one has the marker. */
class RtpUnits {
  #parts: Buffer[] = [];
  #bytes = 0;
  #timestamp: number | null = null;
  #sequence: number | null = null;

  /** The unit that the packet completes, with the time of its first packet. */
  take({ data, captureNs, caps }: MetadataPacket): MetadataPacket | null {
    const packet = Buffer.from(data.buffer, data.byteOffset, data.length);
    const payload = readPayload(packet);
    if (payload === null) return null;
    const [timestamp, sequence] = [packet.readUInt32BE(4), packet.readUInt16BE(2)];
    const isNext = this.#sequence === null || sequence === ((this.#sequence + 1) & 0xffff);
    this.#sequence = sequence;
    // A unit with a lost packet is not used.
    if (timestamp !== this.#timestamp || !isNext) this.#begin(timestamp);
    this.#bytes += payload.length;
    if (this.#bytes > MAX_UNIT_BYTES) this.#begin(null);
    this.#parts.push(payload);
    if (((packet[1] ?? 0) & 0x80) === 0) return null;
    const unit = Buffer.concat(this.#parts);
    this.#begin(null);
    return { data: unit, captureNs, caps };
  }

  #begin(timestamp: number | null): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#timestamp = timestamp;
  }
}

/** Null: not RTP. */
function readPayload(packet: Buffer): Buffer | null {
  const first = packet[0] ?? 0;
  if (packet.length < 12 || first >> 6 !== 2) return null;
  let from = 12 + (first & 15) * 4;
  if ((first & 0x10) !== 0) {
    if (from + 4 > packet.length) return null;
    from += 4 + packet.readUInt16BE(from + 2) * 4;
  }
  const padding = (first & 0x20) === 0 ? 0 : (packet.at(-1) ?? 0);
  return from <= packet.length - padding ? packet.subarray(from, packet.length - padding) : null;
}
