/**
 * Sends the pictures of one stream to one viewer: numbered, sealed, in small bursts so that no buffer on the way has to hold
 * a whole key picture, and kept for a moment in case a packet must be sent again. What cannot be sent in time is dropped up
 * to the next key picture.
 */

import { randomBytes } from "node:crypto";
import type { AccessUnit } from "../../media/access-unit.ts";
import type { Guard } from "../guard.ts";
import { packetisePicture } from "./picture-packets.ts";
import type { SecureChannel } from "./secure.ts";

export interface SenderParts {
  readonly payloadType: number;
  readonly ssrc: number;
  readonly channel: Pick<SecureChannel, "protectRtp">;
  /** Bytes that may wait. */
  readonly waitingBytes: number;
  readonly send: (data: Buffer, onSent: () => void) => void;
  readonly guard: Guard;
}

interface Waiting {
  readonly payload: Buffer;
  readonly timestamp: number;
  readonly isLast: boolean;
}

/** Packets at once, and in each millisecond after that: some 150 Mbit/s. */
const BURST = 40;
const PER_MS = 16;
/** Until it is tried again while the system takes none. */
const BLOCKED_MS = 20;
/** Packets that can be sent again; a power of two. */
const KEPT = 512;
/** Of those sent again, in a second. */
const REPEATS_PER_SECOND = 2 * KEPT;
const CLOCK_HZ = 90_000;
/** Between two cached pictures: they are shown as quickly as they can be decoded. */
const SQUEEZED_US = 1000;

export class Sender {
  readonly #parts: SenderParts;
  readonly #kept = new Array<{ sequence: number; data: Buffer } | undefined>(KEPT);
  readonly #origin = randomBytes(4).readUInt32BE(0);
  /** Below half of the range, so that a wrap is never among the first packets, where receivers may take it for disorder. */
  #sequence = randomBytes(2).readUInt16BE(0) & 0x7fff;
  #waiting: Waiting[] = [];
  #next = 0;
  #waitingBytes = 0;
  #underWay = 0;
  #allowance = BURST;
  #allowedAtMs = performance.now();
  #repeats = REPEATS_PER_SECOND;
  #timer: NodeJS.Timeout | null = null;
  #needsKey = true;
  #last: { readonly timestamp: number; readonly captureMs: number } | null = null;
  #packets = 0;
  #bytes = 0;
  /** Pictures that this viewer has not got. */
  missed = 0;

  readonly #goOn: () => void;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#goOn = parts.guard(() => {
      this.#timer = null;
      this.#flush();
    });
  }

  /** Pictures from before the viewer came, from a key picture on: squeezed into the moment before the last of them. */
  sendCached(units: readonly AccessUnit[]): void {
    const bytes = units.reduce((sum, { parts }) => sum + parts.reduce((size, part) => size + part.length, 0), 0);
    // Half, so that live pictures find room behind them. A longer past is not worth its while: a key picture will come.
    if (bytes > this.#parts.waitingBytes / 2) return;
    const lastUs = units.at(-1)?.ptsUs ?? 0;
    units.forEach((unit, i) => {
      this.#add(unit, lastUs - (units.length - 1 - i) * SQUEEZED_US);
    });
  }

  send(unit: AccessUnit): void {
    this.#add(unit, unit.ptsUs);
  }

  #add(unit: AccessUnit, shownUs: number): void {
    if (this.#needsKey && !unit.isKey) {
      this.missed++;
      return;
    }
    const payloads = packetisePicture(unit);
    const bytes = payloads.reduce((sum, payload) => sum + payload.length, 0);
    if (this.#waitingBytes + bytes > this.#parts.waitingBytes) {
      this.#drop();
      this.missed++;
      return;
    }
    this.#needsKey = false;
    const timestamp = (this.#origin + Math.round((shownUs * CLOCK_HZ) / 1e6)) >>> 0;
    this.#last = { timestamp, captureMs: unit.captureMs };
    payloads.forEach((payload, i) => {
      this.#waiting.push({ payload, timestamp, isLast: i === payloads.length - 1 });
    });
    this.#waitingBytes += bytes;
    this.#flush();
  }

  /** What waits is of no use when a picture is missing behind it. */
  #drop(): void {
    for (let i = this.#next; i < this.#waiting.length; i++) if (this.#waiting[i]?.isLast) this.missed++;
    this.#waiting = [];
    this.#next = 0;
    this.#waitingBytes = 0;
    this.#needsKey = true;
  }

  #flush(): void {
    if (this.#timer !== null) return;
    this.#earn();
    while (this.#next < this.#waiting.length && this.#allowance >= 1 && this.#underWay < KEPT) {
      this.#allowance--;
      const { payload, timestamp, isLast } = this.#waiting[this.#next++] as Waiting;
      this.#waitingBytes -= payload.length;
      this.#seal(payload, timestamp, isLast);
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
      return;
    }
    const pauseMs = this.#underWay < KEPT ? 1 : BLOCKED_MS;
    this.#timer = setTimeout(this.#goOn, pauseMs);
  }

  #earn(): void {
    const nowMs = performance.now();
    const passedMs = nowMs - this.#allowedAtMs;
    this.#allowedAtMs = nowMs;
    this.#allowance = Math.min(BURST, this.#allowance + passedMs * PER_MS);
    this.#repeats = Math.min(REPEATS_PER_SECOND, this.#repeats + (passedMs * REPEATS_PER_SECOND) / 1000);
  }

  #seal(payload: Buffer, timestamp: number, isLast: boolean): void {
    const sequence = this.#sequence;
    this.#sequence = (sequence + 1) & 0xffff;
    const { payloadType, ssrc, channel } = this.#parts;
    const data = channel.protectRtp({ marker: isLast, payloadType, sequence, timestamp, ssrc }, payload);
    if (data === null) return;
    this.#packets++;
    this.#bytes += payload.length;
    this.#kept[sequence % KEPT] = { sequence, data };
    this.#transmit(data);
  }

  readonly #onSent = (): void => {
    this.#underWay--;
  };

  #transmit(data: Buffer): void {
    this.#underWay++;
    this.#parts.send(data, this.#onSent);
  }

  /** The same bytes again: the receiver has them once at most. */
  repeat(sequences: readonly number[]): void {
    this.#earn();
    for (const sequence of sequences) {
      const kept = this.#kept[sequence % KEPT];
      if (kept?.sequence !== sequence || this.#repeats < 1) continue;
      this.#repeats--;
      this.#transmit(kept.data);
    }
  }

  /** For a sender report: which moment the last picture shows. Null before the first. */
  get progress() {
    if (this.#last === null) return null;
    return { ...this.#last, packets: this.#packets >>> 0, bytes: this.#bytes % 2 ** 32 };
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#waiting = [];
    this.#next = 0;
    this.#waitingBytes = 0;
    this.#needsKey = true;
    this.#kept.fill(undefined);
  }
}
