/**
 * The RTP clocks of a publisher's tracks begin anywhere. Here they are put on one time line: by when the first packets came,
 * and as soon as the publisher has told what time it was (sender reports) by that.
 */
import { timestampStep } from "./packet.ts";
import type { SenderReport } from "./rtcp.ts";

/** A publisher whose clock is further off than this does not know the time: then it is ours that counts. */
const CLOCK_TOLERANCE_MS = 60_000;
/** Sound that is off by less stays where it is: a step would be heard, this cannot be seen. */
const STEP_US = 20_000;

export class SenderTimes {
  /** Unix time of its beginning: by arrival, and by the publisher's own clock where that is known. */
  readonly #beginMs: number;
  #toldBeginMs: number | null = null;

  constructor(nowMs: number) {
    this.#beginMs = nowMs;
  }

  /** The leading one stays where it is; the other is moved to fit. */
  addTrack(clockRate: number, isLeading: boolean): TrackTimes {
    return new TrackTimes(clockRate, {
      begin: (nowMs) => (nowMs - this.#beginMs) * 1000,
      lead: (beginMs) => {
        if (isLeading) this.#toldBeginMs = beginMs;
        return this.#toldBeginMs;
      },
    });
  }
}

interface Line {
  begin(nowMs: number): number;
  /** Tells when the line began, by this track; answers when it began by the leading one. */
  lead(beginMs: number): number | null;
}

export class TrackTimes {
  readonly #clockRate: number;
  readonly #line: Line;
  #lastTimestamp: number | null = null;
  #ticks = 0;
  /** What is added to the track's own time to be on the line. */
  #offsetUs = 0;
  /** Unix time of tick 0. */
  #unixMs: number | null = null;

  constructor(clockRate: number, line: Line) {
    this.#clockRate = clockRate;
    this.#line = line;
  }

  place(timestamp: number, nowMs: number): { ptsUs: number; captureMs: number } {
    const isFirst = this.#lastTimestamp === null;
    this.#ticks = this.#ticksOf(timestamp);
    this.#lastTimestamp = timestamp;
    if (isFirst) this.#offsetUs = this.#line.begin(nowMs);
    const ownMs = (this.#ticks * 1000) / this.#clockRate;
    const captureMs = this.#unixMs === null ? nowMs : this.#unixMs + ownMs;
    return { ptsUs: Math.round(ownMs * 1000) + this.#offsetUs, captureMs };
  }

  report(report: SenderReport, nowMs: number): void {
    if (Math.abs(report.unixMs - nowMs) > CLOCK_TOLERANCE_MS) {
      this.#unixMs = null;
      return;
    }
    if (this.#lastTimestamp === null) {
      this.#lastTimestamp = report.timestamp;
      this.#offsetUs = this.#line.begin(nowMs);
    }
    this.#unixMs = report.unixMs - (this.#ticksOf(report.timestamp) * 1000) / this.#clockRate;
    const beginMs = this.#line.lead(this.#unixMs - this.#offsetUs / 1000);
    if (beginMs === null) return;
    const offsetUs = Math.round((this.#unixMs - beginMs) * 1000);
    if (Math.abs(offsetUs - this.#offsetUs) > STEP_US) this.#offsetUs = offsetUs;
  }

  #ticksOf(timestamp: number): number {
    return this.#lastTimestamp === null ? 0 : this.#ticks + timestampStep(this.#lastTimestamp, timestamp);
  }
}
