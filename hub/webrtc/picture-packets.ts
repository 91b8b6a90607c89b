/** The payloads of a picture, made once however many watch it. */
import type { AccessUnit } from "../../media/access-unit.ts";
import { payloadH264 } from "../../media/rtp/h264.ts";
import { joinPayload } from "../../media/rtp/packet.ts";

/** With the headers of IPv6, UDP, RTP and the seal of SRTP it stays below what browsers themselves send (1200). */
const PAYLOAD_BYTES = 1150;

const made = new WeakMap<AccessUnit, readonly Buffer[]>();

export function packetisePicture(unit: AccessUnit): readonly Buffer[] {
  const known = made.get(unit);
  if (known !== undefined) return known;
  const payloads = payloadH264(unit.parts, PAYLOAD_BYTES).map((payload) => {
    const bytes = joinPayload(payload);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  });
  made.set(unit, payloads);
  return payloads;
}
