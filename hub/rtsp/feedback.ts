/** What a publisher by UDP is told about its packets (RFC 3550, 6.4.2): senders adapt to it, and some wait for it. */
import { randomBytes } from "node:crypto";
import { type RtpPacket, timestampStep } from "../../media/rtp/packet.ts";
import type { Reorder } from "../../media/rtp/reorder.ts";
import { type SenderReport, writeReceiverReport } from "../../media/rtp/rtcp.ts";

export class Feedback {
  /** Null: nobody is told. */
  send: ((report: Uint8Array) => void) | null = null;
  readonly #reorder: Reorder;
  readonly #clockRate: number;
  readonly #reportMs: number;
  readonly #ssrc = randomBytes(4).readUInt32BE();
  #jitter = 0;
  #last: { readonly timestamp: number; readonly atMs: number } | null = null;
  #sender: { readonly stamp: number; readonly atMs: number } | null = null;
  #told = { received: 0, lost: 0, atMs: performance.now() };

  /** `reportMs`: from one report to the next. */
  constructor(reorder: Reorder, clockRate: number, reportMs: number) {
    this.#reorder = reorder;
    this.#clockRate = clockRate;
    this.#reportMs = reportMs;
  }

  count({ timestamp }: RtpPacket): void {
    if (this.send === null) return;
    const atMs = performance.now();
    if (this.#last !== null) {
      const expected = timestampStep(this.#last.timestamp, timestamp);
      const late = Math.abs(((atMs - this.#last.atMs) * this.#clockRate) / 1000 - expected);
      this.#jitter += (late - this.#jitter) / 16;
    }
    this.#last = { timestamp, atMs };
  }

  report({ stamp }: SenderReport): void {
    this.#sender = { stamp, atMs: performance.now() };
  }

  tick(nowMs: number): void {
    if (this.send === null || this.#last === null || nowMs - this.#told.atMs < this.#reportMs) return;
    const { received, lost, ssrc: senderSsrc, highest } = this.#reorder;
    const lostNow = lost - this.#told.lost;
    const expected = received - this.#told.received + lostNow;
    this.#told = { received, lost, atMs: nowMs };
    this.send(
      writeReceiverReport({
        ssrc: this.#ssrc,
        senderSsrc,
        fractionLost: expected <= 0 ? 0 : Math.floor((lostNow * 256) / expected),
        lost,
        highest,
        jitter: this.#jitter,
        stamp: this.#sender?.stamp ?? 0,
        sinceMs: this.#sender === null ? 0 : nowMs - this.#sender.atMs,
      }),
    );
  }
}
