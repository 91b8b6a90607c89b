/**
 * The timeline of a publication, in microseconds: it starts at zero with the first picture for any publisher clock, DTS
 * strictly increases, and PTS is not before DTS. Jumps of a publisher's clock are bridged.
 */
import { DtsEstimator } from "../media/h264/dts.ts";

export interface Times {
  readonly dtsUs: number;
  readonly ptsUs: number;
}

/** A picture displayed this long before an earlier one is not a B picture. */
const B_BACK_US = 3_000_000;
/** The largest reorder depth of H.264. */
const MAX_DEPTH = 16;
/** Beyond this, timestamps of some protocols would no longer be whole numbers. */
const MAX_US = 2 ** 50;
/** RTMP has milliseconds and RTP ticks of 11 µs: closer timestamps would become equal. */
export const MIN_STEP_US = 1000;
/** A clock that steps back by more, or ahead of real time by more, was set. */
const BACK_US = 500_000;
export const FORWARD_US = 5_000_000;
const MAX_STEP_US = 1_000_000;
/** Before a step is measured. */
const DEFAULT_STEP_US = 33_333;

export class Timeline {
  readonly #video = new TrackTimeline();
  readonly #audio = new TrackTimeline();
  readonly #dts = new DtsEstimator();
  /** PTS of the last pictures, in arrival order. */
  #shown: number[] = [];
  /** The publisher displays B pictures before it decodes them: its DTS are those of another order, and estimated instead. */
  #ignoresDts = false;

  /** Sets the reorder depth that the stream states. */
  setDepth(depth: number): void {
    this.#dts.setDepth(Math.min(depth, MAX_DEPTH));
  }

  /** The stated or learnt reorder depth. */
  get depth(): number {
    return this.#dts.depth;
  }

  /** `isB`: it may be displayed before earlier pictures. Null: the publisher does not send this timestamp. */
  placePicture(pts: number | null, dts: number | null, isB: boolean, nowUs: number): Times {
    const stated = normalize(dts);
    const showUs = normalize(pts) ?? stated ?? Math.round(this.#video.guess(nowUs));
    if (isB && stated !== null && stated - showUs > 0 && stated - showUs < B_BACK_US) this.#ignoresDts = true;
    const decodeUs = this.#ignoresDts ? null : stated;
    if (isB) this.#learnDepth(showUs);
    this.#shown.push(showUs);
    if (this.#shown.length > MAX_DEPTH) this.#shown.shift();
    return decodeUs === null ? this.#estimateDts(showUs, isB, nowUs) : this.#useDts(showUs, decodeUs, nowUs);
  }

  /** Null before the first picture. */
  placeAudio(pts: number | null, nowUs: number): Times | null {
    if (this.#video.offsetUs === null) return null;
    const isFirst = this.#audio.offsetUs === null;
    const timeUs = normalize(pts) ?? (isFirst ? this.#video.lastOutUs : Math.round(this.#audio.guess(nowUs)));
    const outUs = this.#audio.place(timeUs, nowUs, this.#video);
    if (isFirst && outUs < 0) {
      this.#audio.offsetUs = null;
      return null;
    }
    return { dtsUs: outUs, ptsUs: outUs };
  }

  #useDts(showUs: number, decodeUs: number, nowUs: number): Times {
    const dtsUs = this.#video.place(decodeUs, nowUs, this.#audio);
    const isSane = showUs - decodeUs < FORWARD_US;
    return { dtsUs, ptsUs: isSane ? Math.max(showUs + (this.#video.offsetUs ?? 0), dtsUs) : dtsUs };
  }

  #estimateDts(showUs: number, isB: boolean, nowUs: number): Times {
    const stepUs = Math.round(this.#video.stepUs);
    let decodeUs = this.#dts.estimate(showUs, stepUs);
    const isJump = this.#video.isJump(decodeUs, nowUs, isB ? B_BACK_US : undefined) || showUs - decodeUs > FORWARD_US;
    if (isJump) {
      this.#dts.reset();
      decodeUs = this.#dts.estimate(showUs, stepUs);
    }
    const dtsUs = this.#video.place(decodeUs, nowUs, this.#audio, isJump);
    return { dtsUs, ptsUs: Math.max(showUs + (this.#video.offsetUs ?? 0), dtsUs) };
  }

  #learnDepth(showUs: number): void {
    const overtaken = this.#shown.filter((other) => other > showUs && other - showUs < B_BACK_US).length;
    if (overtaken > 0) this.#dts.deepen(Math.min(overtaken, MAX_DEPTH));
  }
}

const normalize = (timeUs: number | null): number | null =>
  timeUs === null || !(Math.abs(timeUs) < MAX_US) ? null : Math.round(timeUs);

/** Maps the clock of one track to the timeline. */
class TrackTimeline {
  /** Null before the first unit. */
  offsetUs: number | null = null;
  lastOutUs = 0;
  #lastIn = 0;
  #arrivedUs = 0;
  #step: number | null = null;

  /** Learnt duration of a unit. */
  get stepUs(): number {
    return this.#step ?? DEFAULT_STEP_US;
  }

  /** Time of a unit without a timestamp: by the learnt step, otherwise by arrival. */
  guess(nowUs: number): number {
    if (this.offsetUs === null) return 0;
    return this.#lastIn + (this.#step ?? Math.max(nowUs - this.#arrivedUs, MIN_STEP_US));
  }

  isJump(timeUs: number, nowUs: number, backUs = BACK_US): boolean {
    if (this.offsetUs === null) return false;
    const step = timeUs - this.#lastIn;
    return step < -backUs || step > FORWARD_US + (nowUs - this.#arrivedUs);
  }

  /** `peer`: the other track, which this one stays in sync with. */
  place(timeUs: number, nowUs: number, peer: TrackTimeline, isJump = this.isJump(timeUs, nowUs)): number {
    const isFirst = this.offsetUs === null;
    if (this.offsetUs === null) this.offsetUs = this.#startAt(timeUs, peer);
    else if (isJump) this.offsetUs = this.#bridge(timeUs, peer, nowUs);
    const step = timeUs - this.#lastIn;
    let out = timeUs + this.offsetUs;
    if (!isFirst && out < this.lastOutUs + MIN_STEP_US) {
      // The local clock replaces a publisher clock that stands still.
      const pace = step === 0 ? this.#paceOf(nowUs) : 0;
      out = this.lastOutUs + Math.max(Math.round(pace), MIN_STEP_US);
    }
    if (!isFirst && !isJump && step > 0 && step < MAX_STEP_US)
      this.#step = Math.max(this.#step === null ? step : (this.#step * 7 + step) / 8, MIN_STEP_US);
    this.#lastIn = timeUs;
    this.lastOutUs = out;
    this.#arrivedUs = nowUs;
    return out;
  }

  #startAt(timeUs: number, peer: TrackTimeline): number {
    if (peer.offsetUs === null) return -timeUs;
    return isNear(timeUs + peer.offsetUs, peer.lastOutUs) ? peer.offsetUs : peer.lastOutUs - timeUs;
  }

  /** Duration of the last unit, if the publisher's clock does not give it: as learnt, otherwise by arrival. */
  #paceOf(nowUs: number): number {
    return Math.max(Math.min(nowUs - this.#arrivedUs, this.#step ?? MAX_STEP_US), MIN_STEP_US);
  }

  #bridge(timeUs: number, peer: TrackTimeline, nowUs: number): number {
    const next = this.lastOutUs + Math.round(this.#step ?? this.#paceOf(nowUs));
    // If the other track has jumped already, its offset keeps both in sync.
    if (peer.offsetUs !== null && isNear(timeUs + peer.offsetUs, next)) return peer.offsetUs;
    return next - timeUs;
  }
}

const isNear = (a: number, b: number): boolean => Math.abs(a - b) < FORWARD_US;
