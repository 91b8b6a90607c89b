/**
 * One player of one stream. It gets the pictures since the last key frame at once and then what comes. What it cannot take
 * in time waits, up to a limit; beyond it pictures are left out up to the next key frame.
 */

import type { AccessUnit, AudioTrack, Tracks } from "../../media/access-unit.ts";
import { RtpSender } from "../../media/rtp/sender.ts";
import { AUDIO_TYPE, VIDEO_CLOCK, VIDEO_TYPE } from "../../media/rtsp/sdp.ts";
import { byteLength } from "../live-stream.ts";
import type { Reader } from "../streams.ts";
import type { Delivery } from "./delivery.ts";
import { payloadsOf } from "./packets.ts";
import { squeeze, type Timed } from "./squeeze.ts";

export const VIDEO = 0;
export const AUDIO = 1;

export interface PlayerLimits {
  readonly readerBytes: number;
  readonly stalledMs: number;
}

interface PlayerTrack {
  readonly sender: RtpSender;
  /** As the client wrote it. */
  readonly url: string;
  lastUs: number;
}

/** A sender report that is older than this is followed by another. */
const REPORT_MS = 5000;
/** By UDP the good-bye goes another way than the last packets, and would overtake them. */
const GOOD_BYE_MS = 200;

export class Player implements Reader {
  readonly path: string;
  readonly tracks: Tracks;
  readonly delivery: Delivery;
  /** The publication is over, or it cannot go on. */
  onEnd: (reason: string, isStalled: boolean) => void = () => {};
  missed = 0;

  readonly #limits: PlayerLimits;
  readonly #tracks = new Map<number, PlayerTrack>();
  #audio: AudioTrack | null;
  #joining: AccessUnit[] | null = null;
  #queue: Timed[] = [];
  #queuedBytes = 0;
  #needsKey = false;
  #leave: (() => void) | null = null;
  /** Unix time at which the stream's time line began; the earliest that a picture tells, for it was delayed least. */
  #beginMs = Number.POSITIVE_INFINITY;
  #reportedAtMs = 0;
  #goneBytes = 0;
  #goneAtMs = 0;
  #goodBye: NodeJS.Timeout | undefined;

  constructor(path: string, tracks: Tracks, delivery: Delivery, limits: PlayerLimits) {
    this.path = path;
    this.tracks = tracks;
    this.#audio = tracks.audio;
    this.delivery = delivery;
    this.#limits = limits;
  }

  get isPlaying(): boolean {
    return this.#leave !== null;
  }

  hasTrack(track: number): boolean {
    return track === VIDEO || (track === AUDIO && this.tracks.audio !== null);
  }

  addTrack(track: number, url: string): number {
    const clockRate = track === VIDEO ? VIDEO_CLOCK : (this.tracks.audio?.sampleRate ?? 0);
    const sender = new RtpSender(track === VIDEO ? VIDEO_TYPE : AUDIO_TYPE, clockRate);
    this.#tracks.set(track, { sender, url, lastUs: 0 });
    return sender.ssrc;
  }

  /** One of the sound alone has no key picture to wait for. */
  get #hasVideo(): boolean {
    return this.#tracks.has(VIDEO);
  }

  /**
   * Joins the stream by `read`. What it is to begin with has been gathered then, and goes when `start` is called: after the
   * answer, which tells of its first packets.
   */
  join(read: (reader: Reader) => () => void): string {
    this.#joining = [];
    try {
      this.#leave = read(this);
    } catch (error) {
      this.#joining = null;
      throw error;
    }
    this.#queue = squeeze(this.#joining);
    this.#joining = null;
    this.#queuedBytes = this.#queue.reduce((sum, { unit }) => sum + byteLength(unit), 0);
    this.#needsKey = this.#hasVideo && this.#queue.length === 0;
    return this.#describeStart();
  }

  start(nowMs: number): void {
    this.#goneAtMs = nowMs;
    this.#flush();
    this.#shed();
    this.#report(nowMs);
  }

  pause(): void {
    this.#leave?.();
    this.#leave = null;
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  begin(tracks: Tracks): void {
    // Players were told of the sound when they came; it cannot become another one. Pictures tell of themselves.
    const { audio } = tracks;
    const isSame =
      audio !== null && this.tracks.audio !== null && Buffer.compare(audio.config, this.tracks.audio.config) === 0;
    this.#audio = isSame ? audio : null;
  }

  take(unit: AccessUnit, isCached: boolean): void {
    const isVideo = unit.kind === "video";
    if (isVideo) this.#beginMs = Math.min(this.#beginMs, unit.captureMs - unit.ptsUs / 1000);
    if (isCached) {
      this.#joining?.push(unit);
      return;
    }
    if (!isVideo && this.#audio === null) return;
    if (!this.#tracks.has(isVideo ? VIDEO : AUDIO)) return;
    if (this.#needsKey) {
      if (!isVideo || !unit.isKey) {
        if (isVideo) this.missed++;
        return;
      }
      this.#needsKey = false;
    }
    this.#queue.push({ unit, timeUs: unit.ptsUs });
    this.#queuedBytes += byteLength(unit);
    this.#flush();
    this.#shed();
  }

  end(reason: string): void {
    this.#leave = null;
    if (this.delivery.kind === "tcp") this.#sayGoodBye();
    else this.#goodBye = setTimeout(() => this.#sayGoodBye(), GOOD_BYE_MS);
    this.onEnd(reason, false);
  }

  /** Something that was written has gone. */
  drained(): void {
    this.#flush();
  }

  tick(nowMs: number): void {
    if (!this.isPlaying) return;
    const { goneBytes, waitingBytes } = this.delivery;
    if (waitingBytes === 0 || goneBytes !== this.#goneBytes) {
      this.#goneBytes = goneBytes;
      this.#goneAtMs = nowMs;
    } else if (nowMs - this.#goneAtMs > this.#limits.stalledMs) {
      this.close();
      this.onEnd(`the player took nothing for ${this.#limits.stalledMs / 1000} s`, true);
      return;
    }
    if (nowMs - this.#reportedAtMs >= REPORT_MS && this.delivery.hasRoom) this.#report(nowMs);
  }

  close(): void {
    this.pause();
    clearTimeout(this.#goodBye);
    this.delivery.close();
  }

  #flush(): void {
    let count = 0;
    for (const { unit, timeUs } of this.#queue) {
      if (!this.delivery.hasRoom) break;
      count++;
      this.#queuedBytes -= byteLength(unit);
      this.#send(unit, timeUs);
    }
    if (count > 0) this.#queue = this.#queue.slice(count);
  }

  #send(unit: AccessUnit, timeUs: number): void {
    const index = unit.kind === "video" ? VIDEO : AUDIO;
    const track = this.#tracks.get(index);
    if (track === undefined) return;
    track.lastUs = timeUs;
    this.delivery.send(index, track.sender.write(payloadsOf(unit), timeUs, this.delivery.channelOf(index)));
  }

  /** Too much waits: it goes on at the last key picture that waits, or at the next that comes. */
  #shed(): void {
    if (this.#queuedBytes + this.delivery.waitingBytes <= this.#limits.readerBytes) return;
    const last = this.#queue.findLastIndex(({ unit }) => unit.kind === "video" && unit.isKey);
    const isUseful = last > 0;
    const dropped = isUseful ? this.#queue.slice(0, last) : this.#queue;
    this.#queue = isUseful ? this.#queue.slice(last) : [];
    this.#needsKey = this.#hasVideo && !isUseful;
    for (const { unit } of dropped) {
      this.#queuedBytes -= byteLength(unit);
      if (unit.kind === "video") this.missed++;
    }
  }

  /** The header `RTP-Info`: with which numbers each track begins. */
  #describeStart(): string {
    const startUs = this.#queue.reduce((least, { timeUs }) => Math.min(least, timeUs), Number.POSITIVE_INFINITY);
    return [...this.#tracks.values()]
      .map(({ sender, url }) => {
        const start = Number.isFinite(startUs) ? `;rtptime=${sender.timestampOf(startUs)}` : "";
        return `url=${url};seq=${sender.sequence}${start}`;
      })
      .join(",");
  }

  #report(nowMs: number): void {
    if (!Number.isFinite(this.#beginMs)) return;
    this.#reportedAtMs = nowMs;
    for (const [index, { sender, lastUs }] of this.#tracks) {
      this.delivery.sendReport(index, sender.report(this.#beginMs + lastUs / 1000, lastUs));
    }
    // Anew for the next report: the clocks of publisher and server drift apart.
    this.#beginMs = Number.POSITIVE_INFINITY;
  }

  #sayGoodBye(): void {
    for (const [index, { sender, lastUs }] of this.#tracks) {
      this.delivery.sendReport(index, sender.bye(Date.now(), lastUs));
    }
  }
}
