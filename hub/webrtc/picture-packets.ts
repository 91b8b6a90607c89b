/** The payloads of a picture, made once however many watch it. */
import { packetise } from "../../media/rtp/h264-payload.ts";
import { joinPayload } from "../../media/rtp/payload.ts";
import type { Unit } from "../../media/unit.ts";

/** With the headers of IPv6, UDP, RTP and the seal of SRTP it stays below what browsers themselves send (1200). */
const PAYLOAD_BYTES = 1150;

const made = new WeakMap<Unit, readonly Buffer[]>();

export function packetisePicture(unit: Unit): readonly Buffer[] {
  const known = made.get(unit);
  if (known !== undefined) return known;
  const payloads = packetise(unit.parts, PAYLOAD_BYTES).map((payload) => {
    const bytes = joinPayload(payload);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  });
  made.set(unit, payloads);
  return payloads;
}
