/** Units as RTP payloads, made once for all players of a stream and kept for as long as the unit is. */
import type { AccessUnit } from "../../media/access-unit.ts";
import { payloadAac } from "../../media/rtp/aac.ts";
import { payloadH264 } from "../../media/rtp/h264.ts";
import { PAYLOAD_BYTES, type RtpPayload } from "../../media/rtp/packet.ts";

const made = new WeakMap<AccessUnit, readonly RtpPayload[]>();

export function payloadsOf(unit: AccessUnit): readonly RtpPayload[] {
  const known = made.get(unit);
  if (known !== undefined) return known;
  const payloads =
    unit.kind === "video"
      ? payloadH264(unit.parts, PAYLOAD_BYTES)
      : unit.parts.flatMap((frame) => payloadAac(frame, PAYLOAD_BYTES));
  made.set(unit, payloads);
  return payloads;
}
