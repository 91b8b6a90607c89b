/** Units as RTP payloads, made once for all players of a stream and kept for as long as the unit is. */
import { packetiseAac } from "../../media/rtp/aac-payload.ts";
import { packetise } from "../../media/rtp/h264-payload.ts";
import { PAYLOAD_BYTES, type RtpPayload } from "../../media/rtp/payload.ts";
import type { Unit } from "../../media/unit.ts";

const made = new WeakMap<Unit, readonly RtpPayload[]>();

export function payloadsOf(unit: Unit): readonly RtpPayload[] {
  const known = made.get(unit);
  if (known !== undefined) return known;
  const payloads =
    unit.kind === "video"
      ? packetise(unit.parts, PAYLOAD_BYTES)
      : unit.parts.flatMap((frame) => packetiseAac(frame, PAYLOAD_BYTES));
  made.set(unit, payloads);
  return payloads;
}
