/** A number in a picture's own stream, as user data (ITU-T H.264, D.1.7): whoever gets the picture knows which it is. */
import { NAL, nalType } from "../../../media/h264/nal.ts";

const UUID = Buffer.from("9f2d6c1ab0e84f63a1d05b7c2e94d813", "hex");
const USER_DATA = 5;
/** As text: no three bytes of it look like a start code. */
const DIGITS = 12;

export function makeStamp(number: number): Uint8Array {
  const text = Buffer.from(String(number).padStart(DIGITS, "0"));
  return Buffer.concat([Buffer.from([NAL.sei, USER_DATA, UUID.length + DIGITS]), UUID, text, Buffer.from([0x80])]);
}

/** Null when there is none. */
export function readStamp(nals: readonly Uint8Array[]): number | null {
  for (const nal of nals) {
    if (nalType(nal) !== NAL.sei || nal[1] !== USER_DATA) continue;
    const bytes = Buffer.from(nal.buffer, nal.byteOffset, nal.byteLength);
    if (UUID.equals(bytes.subarray(3, 3 + UUID.length)))
      return Number(bytes.toString("latin1", 3 + UUID.length, 3 + UUID.length + DIGITS));
  }
  return null;
}
