/**
 * Puts the packets of one sender back into order and tells of those that are missing. A gap is waited for until `waitMs`
 * have passed or `mostPackets` wait behind it; over TCP there is none, and everything passes at once.
 */
import { type RtpPacket, sequenceStep } from "./packet.ts";

export interface ReorderLimits {
  readonly mostPackets: number;
  readonly waitMs: number;
}

/** A packet so far from the last one is not late or early: its sender has begun anew. */
const RESTART_STEP = 1000;

export class Reorder {
  readonly #limits: ReorderLimits;
  readonly #emit: (packet: RtpPacket, isAfterLoss: boolean) => void;
  /** Sorted, all after `#next`. */
  #waiting: RtpPacket[] = [];
  #waitingSinceMs = 0;
  #next: number | null = null;
  #ssrc = 0;
  received = 0;
  lost = 0;
  /** With the times that the number has wrapped, as receiver reports want it. */
  highest = 0;

  constructor(limits: ReorderLimits, emit: (packet: RtpPacket, isAfterLoss: boolean) => void) {
    this.#limits = limits;
    this.#emit = emit;
  }

  get ssrc(): number {
    return this.#ssrc;
  }

  /** When `flush` has something to do, or null. */
  get deadlineMs(): number | null {
    return this.#waiting.length === 0 ? null : this.#waitingSinceMs + this.#limits.waitMs;
  }

  take(packet: RtpPacket, nowMs: number): void {
    this.received++;
    if (this.#next === null) {
      this.#begin(packet, false);
      return;
    }
    const step = sequenceStep(this.#next, packet.sequence);
    if (packet.ssrc !== this.#ssrc || Math.abs(step) > RESTART_STEP) {
      this.#release();
      this.#begin(packet, true);
    } else if (step === 0) {
      this.#pass(packet, false);
      this.#passReady();
      this.#waitingSinceMs = nowMs;
    } else if (step > 0) {
      this.#wait(packet, nowMs);
    }
    // The rest came twice, or so late that it is counted as lost already.
  }

  /** Gives up waiting for what should have come by now. */
  flush(nowMs: number): void {
    if (this.#waiting.length > 0 && nowMs >= this.#waitingSinceMs + this.#limits.waitMs) this.#release();
  }

  #begin(packet: RtpPacket, isAfterLoss: boolean): void {
    this.#ssrc = packet.ssrc;
    this.highest = packet.sequence;
    this.#pass(packet, isAfterLoss);
  }

  #wait(packet: RtpPacket, nowMs: number): void {
    if (this.#waiting.length === 0) this.#waitingSinceMs = nowMs;
    let at = this.#waiting.length;
    while (at > 0 && sequenceStep((this.#waiting[at - 1] as RtpPacket).sequence, packet.sequence) < 0) at--;
    if (at > 0 && (this.#waiting[at - 1] as RtpPacket).sequence === packet.sequence) return;
    this.#waiting.splice(at, 0, packet);
    if (this.#limits.waitMs === 0 || this.#waiting.length >= this.#limits.mostPackets) this.#release();
  }

  /** All that wait, gaps and all. */
  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const packet of waiting) {
      const missing = sequenceStep(this.#next as number, packet.sequence);
      this.lost += missing;
      this.#pass(packet, missing > 0);
    }
  }

  #passReady(): void {
    while (this.#waiting[0]?.sequence === this.#next) this.#pass(this.#waiting.shift() as RtpPacket, false);
  }

  #pass(packet: RtpPacket, isAfterLoss: boolean): void {
    this.highest += sequenceStep(this.highest & 0xffff, packet.sequence);
    this.#next = (packet.sequence + 1) & 0xffff;
    this.#emit(packet, isAfterLoss);
  }
}
