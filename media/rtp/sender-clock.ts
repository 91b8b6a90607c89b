/**
 * Maps the RTP clocks of a publisher's tracks, which start at random values, to one timeline: first by packet arrival, then
 * by the publisher's sender reports.
 */
import { timestampStep } from "./packet.ts";
import type { SenderReport } from "./rtcp.ts";

/** A publisher clock that is further off is ignored, and the local clock used. */
const CLOCK_TOLERANCE_MS = 60_000;
/** Smaller offsets of audio that plays are not corrected: a step is audible, the offset is not visible. */
const STEP_US = 20_000;

export class SenderClock {
  /** Unix time of the timeline's start: by arrival, and by the publisher's clock if known. */
  readonly #beginMs: number;
  #reportedBeginMs: number | null = null;
  readonly #tracks: TrackClock[] = [];

  constructor(nowMs: number) {
    this.#beginMs = nowMs;
  }

  /** The leading track keeps its position; the others are aligned to it. `isExact`: also by small steps. */
  addTrack(clockRate: number, isLeading: boolean, isExact = false): TrackClock {
    const track = new TrackClock(clockRate, isExact ? 0 : STEP_US, {
      begin: (nowMs) => (nowMs - this.#beginMs) * 1000,
      onReport: (beginMs) => {
        if (isLeading) this.#reportedBeginMs = beginMs;
        // Reports of a corrected clock arrive one after the other.
        const aligned = isLeading ? this.#tracks : [track];
        if (this.#reportedBeginMs !== null) for (const one of aligned) one.align(this.#reportedBeginMs);
      },
    });
    this.#tracks.push(track);
    return track;
  }
}

interface Timeline {
  /** Position of `nowMs` in microseconds. */
  begin(nowMs: number): number;
  /** The timeline's start by this track's clock. */
  onReport(beginMs: number): void;
}

export class TrackClock {
  readonly #clockRate: number;
  readonly #stepUs: number;
  readonly #timeline: Timeline;
  #lastTimestamp: number | null = null;
  /** It has converted a timestamp. */
  #plays = false;
  #ticks = 0;
  /** From the track's own time to the timeline. */
  #offsetUs = 0;
  /** Unix time of tick 0. */
  #unixMs: number | null = null;

  constructor(clockRate: number, stepUs: number, timeline: Timeline) {
    this.#clockRate = clockRate;
    this.#stepUs = stepUs;
    this.#timeline = timeline;
  }

  convert(timestamp: number, nowMs: number): { ptsUs: number; captureMs: number } {
    const isFirst = this.#lastTimestamp === null;
    this.#ticks = this.#ticksOf(timestamp);
    this.#lastTimestamp = timestamp;
    if (isFirst) this.#offsetUs = this.#timeline.begin(nowMs);
    this.#plays = true;
    const ownMs = (this.#ticks * 1000) / this.#clockRate;
    const captureMs = this.#unixMs === null ? nowMs : this.#unixMs + ownMs;
    return { ptsUs: Math.round(ownMs * 1000) + this.#offsetUs, captureMs };
  }

  handleReport(report: SenderReport, nowMs: number): void {
    if (Math.abs(report.unixMs - nowMs) > CLOCK_TOLERANCE_MS) {
      this.#unixMs = null;
      return;
    }
    if (this.#lastTimestamp === null) {
      this.#lastTimestamp = report.timestamp;
      this.#offsetUs = this.#timeline.begin(nowMs);
    }
    this.#unixMs = report.unixMs - (this.#ticksOf(report.timestamp) * 1000) / this.#clockRate;
    this.#timeline.onReport(this.#unixMs - this.#offsetUs / 1000);
  }

  /** To the timeline's start by the leading track's clock. */
  align(beginMs: number): void {
    if (this.#unixMs === null) return;
    const offsetUs = Math.round((this.#unixMs - beginMs) * 1000);
    if (!this.#plays || Math.abs(offsetUs - this.#offsetUs) > this.#stepUs) this.#offsetUs = offsetUs;
  }

  #ticksOf(timestamp: number): number {
    return this.#lastTimestamp === null ? 0 : this.#ticks + timestampStep(this.#lastTimestamp, timestamp);
  }
}
