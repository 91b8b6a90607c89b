/**
 * Sends the pictures of a stream to one WebRTC viewer: numbered, encrypted, paced in small bursts so that no buffer on the
 * way has to hold a whole keyframe, and kept briefly for retransmission. Pictures that cannot be sent in time are dropped up
 * to the next keyframe.
 */
import { randomBytes } from "node:crypto";
import { type AccessUnit, byteLength } from "../../media/access-unit.ts";
import type { Codec } from "../../media/codec.ts";
import { payloadNals } from "../../media/rtp/nal-units.ts";
import { joinPayload } from "../../media/rtp/packet.ts";
import type { Guard } from "../errors.ts";
import { squeeze } from "../live-stream.ts";
import type { SecureChannel } from "./dtls.ts";

export interface SenderOptions {
  readonly codec: Codec;
  readonly payloadType: number;
  readonly ssrc: number;
  readonly channel: Pick<SecureChannel, "protectRtp">;
  /** Bytes that may be queued. */
  readonly queueBytes: number;
  readonly send: (data: Buffer, onSent: () => void) => void;
  readonly guard: Guard;
}

interface QueuedPacket {
  readonly payload: Buffer;
  readonly timestamp: number;
  readonly isLast: boolean;
}

/** With IPv6, UDP, RTP and SRTP overhead, this stays below the packet size of browsers (1200). */
const PAYLOAD_BYTES = 1150;
/** Packets at once, and per millisecond after that: about 150 Mbit/s. */
const BURST = 40;
const PER_MS = 16;
/** Retry interval while the system accepts no packets. */
const BLOCKED_MS = 20;
/** Packets kept for retransmission; a power of two. */
const KEPT = 512;
const RETRANSMISSIONS_PER_SECOND = 2 * KEPT;
const CLOCK_HZ = 90_000;

export class Sender {
  readonly #options: SenderOptions;
  readonly #kept = new Array<{ sequence: number; data: Buffer } | undefined>(KEPT);
  readonly #origin = randomBytes(4).readUInt32BE(0);
  /** In the lower half, so that the first packets do not wrap, which receivers could mistake for reordering. */
  #sequence = randomBytes(2).readUInt16BE(0) & 0x7fff;
  #queue: QueuedPacket[] = [];
  #next = 0;
  #queuedBytes = 0;
  #inFlight = 0;
  #allowance = BURST;
  #allowedAtMs = performance.now();
  #retransmissions = RETRANSMISSIONS_PER_SECOND;
  #timer: NodeJS.Timeout | null = null;
  #needsKey = true;
  #last: { readonly timestamp: number; readonly captureMs: number } | null = null;
  #packets = 0;
  #bytes = 0;
  /** Pictures dropped. */
  missed = 0;
  readonly #resume: () => void;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#resume = options.guard(() => {
      this.#timer = null;
      this.#flush();
    });
  }

  /** Sends the pictures from before the viewer joined, squeezed into the moment before the last of them. */
  sendCached(units: readonly AccessUnit[]): void {
    const bytes = units.reduce((sum, unit) => sum + byteLength(unit), 0);
    // At most half of the queue, to leave room for live pictures. Otherwise the viewer waits for the next keyframe.
    if (bytes > this.#options.queueBytes / 2) return;
    for (const { unit, timeUs } of squeeze(units)) this.send(unit, timeUs);
  }

  send(unit: AccessUnit, timeUs = unit.ptsUs): void {
    if (this.#needsKey && !unit.isKey) {
      this.missed++;
      return;
    }
    const payloads = payloadsOf(unit, this.#options.codec);
    const bytes = payloads.reduce((sum, payload) => sum + payload.length, 0);
    if (this.#queuedBytes + bytes > this.#options.queueBytes) {
      // Without this picture, the queued ones are useless too.
      this.missed += 1 + this.#queue.slice(this.#next).filter(({ isLast }) => isLast).length;
      this.#clear();
      return;
    }
    this.#needsKey = false;
    const timestamp = (this.#origin + Math.round((timeUs * CLOCK_HZ) / 1e6)) | 0;
    this.#last = { timestamp, captureMs: unit.captureMs };
    payloads.forEach((payload, i) => {
      this.#queue.push({ payload, timestamp, isLast: i === payloads.length - 1 });
    });
    this.#queuedBytes += bytes;
    this.#flush();
  }

  #clear(): void {
    this.#queue = [];
    this.#next = 0;
    this.#queuedBytes = 0;
    this.#needsKey = true;
  }

  #flush(): void {
    if (this.#timer !== null) return;
    this.#earn();
    while (this.#next < this.#queue.length && this.#allowance >= 1 && this.#inFlight < KEPT) {
      this.#allowance--;
      const { payload, timestamp, isLast } = this.#queue[this.#next++] as QueuedPacket;
      this.#queuedBytes -= payload.length;
      this.#protect(payload, timestamp, isLast);
    }
    if (this.#next === this.#queue.length) {
      this.#queue = [];
      this.#next = 0;
      return;
    }
    this.#timer = setTimeout(this.#resume, this.#inFlight < KEPT ? 1 : BLOCKED_MS);
  }

  /** Refills the allowances by the time passed. */
  #earn(): void {
    const nowMs = performance.now();
    const passedMs = nowMs - this.#allowedAtMs;
    this.#allowedAtMs = nowMs;
    this.#allowance = Math.min(BURST, this.#allowance + passedMs * PER_MS);
    const earned = (passedMs * RETRANSMISSIONS_PER_SECOND) / 1000;
    this.#retransmissions = Math.min(RETRANSMISSIONS_PER_SECOND, this.#retransmissions + earned);
  }

  #protect(payload: Buffer, timestamp: number, isLast: boolean): void {
    const sequence = this.#sequence;
    this.#sequence = (sequence + 1) & 0xffff;
    const { payloadType, ssrc, channel } = this.#options;
    const data = channel.protectRtp({ marker: isLast, payloadType, sequence, timestamp, ssrc }, payload);
    if (data === null) return;
    this.#packets++;
    this.#bytes += payload.length;
    this.#kept[sequence % KEPT] = { sequence, data };
    this.#transmit(data);
  }

  readonly #onSent = (): void => {
    this.#inFlight--;
  };

  #transmit(data: Buffer): void {
    this.#inFlight++;
    this.#options.send(data, this.#onSent);
  }

  /** Sends identical bytes again: the receiver accepts them at most once. */
  retransmit(sequences: readonly number[]): void {
    this.#earn();
    for (const sequence of sequences) {
      const kept = this.#kept[sequence % KEPT];
      if (kept?.sequence !== sequence || this.#retransmissions < 1) continue;
      this.#retransmissions--;
      this.#transmit(kept.data);
    }
  }

  /** For a sender report: capture time and timestamp of the last picture. Null before the first. */
  get progress() {
    if (this.#last === null) return null;
    return { ...this.#last, packets: this.#packets >>> 0, bytes: this.#bytes % 2 ** 32 };
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#clear();
    this.#kept.fill(undefined);
  }
}

const payloadCache = new WeakMap<AccessUnit, readonly Buffer[]>();

/** The payloads of a picture, created once for all viewers. */
function payloadsOf(unit: AccessUnit, codec: Codec): readonly Buffer[] {
  const cached = payloadCache.get(unit);
  if (cached !== undefined) return cached;
  const payloads = payloadNals(codec, unit.parts, PAYLOAD_BYTES).map((payload) => {
    const bytes = joinPayload(payload);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  });
  payloadCache.set(unit, payloads);
  return payloads;
}
