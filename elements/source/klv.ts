/**
 * KLV metadata of a live stream → telemetry samples at the capture time of the frames that it belongs to, and the units
 * themselves for elements that send the stream on.
 */
import { splitCells } from "../../media/mpegts/klv-cells.ts";
import { KlvDepayloader } from "../../media/rtp/klv.ts";
import { readRtp, sequenceStep } from "../../media/rtp/packet.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { KLV_CHANNEL, type KlvMessage, TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { type Reading, TelemetryFault, type TelemetryFormat } from "../../telemetry/format.ts";
import { createFormat } from "../../telemetry/formats.ts";
import type { DriverServices, MetadataPacket, MetadataTap } from "../element.ts";

/** Of RTSP (RFC 6597), and of MPEG-TS as `tsdemux` outputs it. */
const CAPS = "application/x-rtp,media=application,encoding-name=SMPTE336M;meta/x-klv";
/** Metadata and frames have times of the same clock. */
const ERROR_MS = 5;

/** For one connection. `now`: Unix milliseconds. */
export function tapKlv(services: Pick<DriverServices, "deliver" | "log">, now: () => number = Date.now): MetadataTap {
  const format = createFormat("misb_0601");
  const readRtpUnit = readRtpUnits();
  let hasWarned = false;
  const warn = (reason: string): void => {
    if (!hasWarned) services.log.warn("metadata of the stream ignored", { reason });
    hasWarned = true;
  };
  return {
    caps: CAPS,
    onPacket(packet) {
      const { captureNs, data, caps } = packet;
      const units = caps.startsWith("application/x-rtp") ? readRtpUnit(packet) : splitCells(data);
      if (captureNs === null) return;
      const timeMs = Number(captureNs / 1000n) / 1000;
      for (const unit of units) {
        const message: KlvMessage = {
          captureMs: timeMs,
          isSynchronous: unit.length < data.length && !caps.startsWith("application/x-rtp"),
          data: Buffer.from(unit.buffer, unit.byteOffset, unit.length).toString("base64"),
        };
        services.deliver(KLV_CHANNEL, { ...message });
        const reading = readUnit(format, unit, now(), warn);
        if (reading === null) continue;
        const sample = { ...reading.sample, timeMs, receivedMs: now(), videoErrorMs: ERROR_MS };
        services.deliver(TELEMETRY_CHANNEL, sample as unknown as JsonRecord);
      }
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

/** The units that RTP packets complete, with the time of the last packet. */
function readRtpUnits(): (packet: MetadataPacket) => readonly Uint8Array[] {
  let units: Buffer[] = [];
  let last: number | null = null;
  const depayloader = new KlvDepayloader(({ data }) => units.push(data));
  return ({ data }) => {
    const packet = readRtp(data);
    if (packet === null) return [];
    const isAfterLoss = last !== null && sequenceStep(last, packet.sequence) !== 1;
    last = packet.sequence;
    units = [];
    depayloader.push(packet, isAfterLoss);
    return units;
  };
}
