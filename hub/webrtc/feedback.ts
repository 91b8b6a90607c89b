/** What a viewer tells by RTCP (RFC 3550, 4585, 5104), as far as it changes what we do. */

export interface Feedback {
  /** Sequence numbers of packets it has missed. */
  readonly lost: readonly number[];
  readonly saysGoodbye: boolean;
}

const BYE = 203;
const TRANSPORT_FEEDBACK = 205;
const GENERIC_NACK = 1;
/** Of one compound packet. */
const MAX_LOST = 512;

/** Of a compound packet that has been authenticated; reads as far as it is sound. */
export function readFeedback(packet: Buffer): Feedback {
  const lost: number[] = [];
  let saysGoodbye = false;
  for (let at = 0; at + 4 <= packet.length; ) {
    const count = (packet[at] as number) & 0x1f;
    const type = packet[at + 1];
    const end = at + 4 + packet.readUInt16BE(at + 2) * 4;
    if (end > packet.length) break;
    if (type === BYE) saysGoodbye = true;
    else if (type === TRANSPORT_FEEDBACK && count === GENERIC_NACK) readLost(packet, at + 12, end, lost);
    at = end;
  }
  return { lost, saysGoodbye };
}

/** RFC 4585, 6.2.1: a sequence number, and a bit for each of the 16 after it. */
function readLost(packet: Buffer, begin: number, end: number, lost: number[]): void {
  for (let at = begin; at + 4 <= end; at += 4) {
    const first = packet.readUInt16BE(at);
    const others = packet.readUInt16BE(at + 2);
    for (let i = 0; i <= 16; i++) {
      const isLost = i === 0 || (others >> (i - 1)) & 1;
      if (isLost && lost.length < MAX_LOST) lost.push((first + i) & 0xffff);
    }
  }
}
