/** What follows the header of an RTP packet, in two pieces so that the coded bytes need not be copied. */
export interface RtpPayload {
  /** A few bytes of the payload format; often none. */
  readonly head: Uint8Array;
  /** Shared with the unit it was made of. */
  readonly body: Uint8Array;
}

export const NO_HEAD = new Uint8Array(0);

/** Fits into one Ethernet frame with the headers of IPv6, UDP and RTP, and a tunnel around them. */
export const PAYLOAD_BYTES = 1388;

export const payloadLength = ({ head, body }: RtpPayload): number => head.length + body.length;

/** In one piece, for those who need it so. */
export const joinPayload = ({ head, body }: RtpPayload): Uint8Array =>
  head.length === 0 ? body : Buffer.concat([head, body]);
