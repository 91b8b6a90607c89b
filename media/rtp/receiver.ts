/** The receiving side of an RTP stream: puts packets in order, and reports reception to the sender. */
import { randomBytes } from "node:crypto";
import { type RtpPacket, sequenceStep, timestampStep } from "./packet.ts";
import { type SenderReport, writeReceiverReport } from "./rtcp.ts";

export interface JitterBufferLimits {
  readonly maxPackets: number;
  readonly waitMs: number;
}

/** A larger jump in sequence numbers is a restarted sender and not a late or early packet. */
const RESTART_STEP = 1000;

/**
 * Reorders the packets of one sender and marks losses. It waits for a missing packet until `waitMs` have passed or
 * `maxPackets` are queued behind it. Over TCP nothing is missing and every packet passes immediately.
 */
export class JitterBuffer {
  readonly #limits: JitterBufferLimits;
  readonly #emit: (packet: RtpPacket, isAfterLoss: boolean) => void;
  /** Sorted, all after `#next`. */
  #queue: RtpPacket[] = [];
  #queuedSinceMs = 0;
  #next: number | null = null;
  #ssrc = 0;
  received = 0;
  lost = 0;
  /** Extended sequence number: wraps are counted, as receiver reports need it. */
  highest = 0;

  constructor(limits: JitterBufferLimits, emit: (packet: RtpPacket, isAfterLoss: boolean) => void) {
    this.#limits = limits;
    this.#emit = emit;
  }

  get ssrc(): number {
    return this.#ssrc;
  }

  /** When to call `flush`; null if nothing is queued. */
  get deadlineMs(): number | null {
    return this.#queue.length === 0 ? null : this.#queuedSinceMs + this.#limits.waitMs;
  }

  push(packet: RtpPacket, nowMs: number): void {
    this.received++;
    if (this.#next === null) {
      this.#start(packet, false);
      return;
    }
    const step = sequenceStep(this.#next, packet.sequence);
    if (packet.ssrc !== this.#ssrc || Math.abs(step) > RESTART_STEP) {
      this.#release();
      this.#start(packet, true);
    } else if (step === 0) {
      this.#pass(packet, false);
      while (this.#queue[0]?.sequence === this.#next) this.#pass(this.#queue.shift() as RtpPacket, false);
      this.#queuedSinceMs = nowMs;
    } else if (step > 0) {
      this.#enqueue(packet, nowMs);
    } else if (this.#limits.waitMs === 0) {
      // Over TCP no packet is late or a duplicate: the sender does not count them.
      this.#pass(packet, false);
    }
    // Other packets are duplicates, or so late that they already count as lost.
  }

  /** Stops waiting for packets that are overdue. */
  flush(nowMs: number): void {
    if (this.#queue.length > 0 && nowMs >= this.#queuedSinceMs + this.#limits.waitMs) this.#release();
  }

  #start(packet: RtpPacket, isAfterLoss: boolean): void {
    this.#ssrc = packet.ssrc;
    this.highest = packet.sequence;
    this.#pass(packet, isAfterLoss);
  }

  #enqueue(packet: RtpPacket, nowMs: number): void {
    if (this.#queue.length === 0) this.#queuedSinceMs = nowMs;
    let at = this.#queue.length;
    while (at > 0 && sequenceStep((this.#queue[at - 1] as RtpPacket).sequence, packet.sequence) < 0) at--;
    if (at > 0 && (this.#queue[at - 1] as RtpPacket).sequence === packet.sequence) return;
    this.#queue.splice(at, 0, packet);
    if (this.#limits.waitMs === 0 || this.#queue.length >= this.#limits.maxPackets) this.#release();
  }

  /** Passes everything that is queued and counts the gaps as losses. */
  #release(): void {
    const queue = this.#queue;
    this.#queue = [];
    for (const packet of queue) {
      const missing = sequenceStep(this.#next as number, packet.sequence);
      this.lost += missing;
      this.#pass(packet, missing > 0);
    }
  }

  #pass(packet: RtpPacket, isAfterLoss: boolean): void {
    this.highest += sequenceStep(this.highest & 0xffff, packet.sequence);
    this.#next = (packet.sequence + 1) & 0xffff;
    this.#emit(packet, isAfterLoss);
  }
}

/** Receiver reports (RFC 3550, 6.4.2) for a sender over UDP: senders adapt to them, and some wait for them. */
export class ReceptionReporter {
  /** Null: no reports are sent. */
  send: ((report: Uint8Array) => void) | null = null;
  readonly #buffer: JitterBuffer;
  readonly #clockRate: number;
  readonly #intervalMs: number;
  readonly #ssrc = randomBytes(4).readUInt32BE();
  #jitter = 0;
  #last: { readonly timestamp: number; readonly atMs: number } | null = null;
  #senderReport: { readonly stamp: number; readonly atMs: number } | null = null;
  #reported = { received: 0, lost: 0, atMs: performance.now() };

  constructor(buffer: JitterBuffer, clockRate: number, intervalMs: number) {
    this.#buffer = buffer;
    this.#clockRate = clockRate;
    this.#intervalMs = intervalMs;
  }

  handlePacket({ timestamp }: RtpPacket): void {
    if (this.send === null) return;
    const atMs = performance.now();
    if (this.#last !== null) {
      const expected = timestampStep(this.#last.timestamp, timestamp);
      const late = Math.abs(((atMs - this.#last.atMs) * this.#clockRate) / 1000 - expected);
      this.#jitter += (late - this.#jitter) / 16;
    }
    this.#last = { timestamp, atMs };
  }

  handleSenderReport({ stamp }: SenderReport): void {
    this.#senderReport = { stamp, atMs: performance.now() };
  }

  /** Sends a report when one is due. */
  tick(nowMs: number): void {
    if (this.send === null || this.#last === null || nowMs - this.#reported.atMs < this.#intervalMs) return;
    const { received, lost, ssrc: senderSsrc, highest } = this.#buffer;
    const lostNow = lost - this.#reported.lost;
    const expected = received - this.#reported.received + lostNow;
    this.#reported = { received, lost, atMs: nowMs };
    this.send(
      writeReceiverReport({
        ssrc: this.#ssrc,
        senderSsrc,
        fractionLost: expected <= 0 ? 0 : Math.floor((lostNow * 256) / expected),
        lost,
        highest,
        jitter: this.#jitter,
        stamp: this.#senderReport?.stamp ?? 0,
        sinceMs: this.#senderReport === null ? 0 : nowMs - this.#senderReport.atMs,
      }),
    );
  }
}
