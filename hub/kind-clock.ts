/**
 * The times of one kind of units, made fit: strictly increasing, without the jumps of a publisher's clock that was set
 * anew. Microseconds.
 */

/** RTMP tells milliseconds and RTP ticks of 11 µs: two times nearer than this are one to somebody. */
export const LEAST_STEP_US = 1000;
/** A clock that goes back by more, or forward by so much more than has passed, was set. */
const BACK_US = 500_000;
export const FORWARD_US = 5_000_000;
const MOST_STEP_US = 1_000_000;
/** Before anything is known. */
const STEP_US = 33_333;

export class KindClock {
  #offset: number | null = null;
  #lastIn = 0;
  #lastOut = 0;
  #arrivedUs = 0;
  #step: number | null = null;

  get offsetUs(): number | null {
    return this.#offset;
  }

  get lastOutUs(): number {
    return this.#lastOut;
  }

  /** From one unit to the next, as learnt. */
  get stepUs(): number {
    return this.#step ?? STEP_US;
  }

  /** For a unit that has no time: by what was learnt, else by when it comes. */
  guess(nowUs: number): number {
    if (this.#offset === null) return 0;
    return this.#lastIn + (this.#step ?? Math.max(nowUs - this.#arrivedUs, LEAST_STEP_US));
  }

  isJump(timeUs: number, nowUs: number, backUs = BACK_US): boolean {
    if (this.#offset === null) return false;
    const step = timeUs - this.#lastIn;
    return step < -backUs || step > FORWARD_US + (nowUs - this.#arrivedUs);
  }

  /** The time on the publication's time line. `peer`: of the other kind, which it is to stay in step with. */
  place(timeUs: number, nowUs: number, peer: KindClock, isJump = this.isJump(timeUs, nowUs)): number {
    const first = this.#offset === null;
    if (this.#offset === null) this.#offset = this.#beginAt(timeUs, peer);
    else if (isJump) this.#offset = this.#bridge(timeUs, peer);
    const passedUs = nowUs - this.#arrivedUs;
    const step = timeUs - this.#lastIn;
    let out = timeUs + this.#offset;
    if (!first && out < this.#lastOut + LEAST_STEP_US) {
      // A clock that stands still is replaced by ours.
      const pace = step === 0 ? Math.min(passedUs, this.stepUs) : 0;
      out = this.#lastOut + Math.max(Math.round(pace), LEAST_STEP_US);
    }
    if (!first && !isJump && step > 0 && step < MOST_STEP_US)
      this.#step = Math.max(this.#step === null ? step : (this.#step * 7 + step) / 8, LEAST_STEP_US);
    this.#lastIn = timeUs;
    this.#lastOut = out;
    this.#arrivedUs = nowUs;
    return out;
  }

  /** What was placed is forgotten. */
  reset(): void {
    this.#offset = null;
  }

  #beginAt(timeUs: number, peer: KindClock): number {
    if (peer.#offset === null) return -timeUs;
    return this.#isNear(timeUs + peer.#offset, peer.#lastOut) ? peer.#offset : peer.#lastOut - timeUs;
  }

  #bridge(timeUs: number, peer: KindClock): number {
    const next = this.#lastOut + Math.round(this.stepUs);
    // The other kind has jumped already, and with its offset both stay in step.
    if (peer.#offset !== null && this.#isNear(timeUs + peer.#offset, next)) return peer.#offset;
    return next - timeUs;
  }

  #isNear(a: number, b: number): boolean {
    return Math.abs(a - b) < FORWARD_US;
  }
}
