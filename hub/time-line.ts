/**
 * The time line of a publication: pictures and sound begin at zero with the first picture, whatever the publisher's
 * clocks say; decoding times grow strictly, and nothing is shown before it is decoded.
 */

import { DtsEstimator } from "../media/h264/dts.ts";
import { FORWARD_US, KindClock } from "./kind-clock.ts";

export interface Times {
  readonly dtsUs: number;
  readonly ptsUs: number;
}

/** A picture that is shown so much before one that came earlier is no B picture. */
const B_BACK_US = 3_000_000;
/** H.264 has no more pictures to refer to. */
const MOST_DEPTH = 16;
/** Times are whole numbers in every protocol; beyond this they would not be any more. */
const MOST_US = 2 ** 50;

export class TimeLine {
  readonly #pictures = new KindClock();
  readonly #sound = new KindClock();
  readonly #reorder = new DtsEstimator();
  /** When the last pictures are shown, in the order in which they came. */
  #shown: number[] = [];

  /** Pictures may come so many places before their turn, as the stream itself tells. */
  setDepth(depth: number): void {
    this.#reorder.setDepth(Math.min(depth, MOST_DEPTH));
  }

  /** So many places that pictures come before their turn, as told or learnt. */
  get depth(): number {
    return this.#reorder.depth;
  }

  /** `isB`: it may be shown before pictures that came earlier. Null: the publisher does not tell. */
  picture(pts: number | null, dts: number | null, isB: boolean, nowUs: number): Times {
    const decodeUs = tidy(dts);
    const showUs = tidy(pts) ?? decodeUs ?? Math.round(this.#pictures.guess(nowUs));
    if (isB) this.#learn(showUs);
    this.#shown.push(showUs);
    if (this.#shown.length > MOST_DEPTH) this.#shown.shift();
    return decodeUs === null ? this.#placeShown(showUs, isB, nowUs) : this.#placeTold(showUs, decodeUs, nowUs);
  }

  /** Null before the first picture: it would have nothing to go with. */
  sound(pts: number | null, nowUs: number): Times | null {
    if (this.#pictures.offsetUs === null) return null;
    const isFirst = this.#sound.offsetUs === null;
    const timeUs = tidy(pts) ?? (isFirst ? this.#pictures.lastOutUs : Math.round(this.#sound.guess(nowUs)));
    const outUs = this.#sound.place(timeUs, nowUs, this.#pictures);
    if (isFirst && outUs < 0) {
      this.#sound.reset();
      return null;
    }
    return { dtsUs: outUs, ptsUs: outUs };
  }

  #placeTold(showUs: number, decodeUs: number, nowUs: number): Times {
    const dtsUs = this.#pictures.place(decodeUs, nowUs, this.#sound);
    const isSane = showUs - decodeUs < FORWARD_US;
    return { dtsUs, ptsUs: isSane ? Math.max(showUs + (this.#pictures.offsetUs ?? 0), dtsUs) : dtsUs };
  }

  #placeShown(showUs: number, isB: boolean, nowUs: number): Times {
    const stepUs = Math.round(this.#pictures.stepUs);
    let decodeUs = this.#reorder.estimate(showUs, stepUs);
    const isJump =
      this.#pictures.isJump(decodeUs, nowUs, isB ? B_BACK_US : undefined) || showUs - decodeUs > FORWARD_US;
    if (isJump) {
      this.#reorder.reset();
      decodeUs = this.#reorder.estimate(showUs, stepUs);
    }
    const dtsUs = this.#pictures.place(decodeUs, nowUs, this.#sound, isJump);
    return { dtsUs, ptsUs: Math.max(showUs + (this.#pictures.offsetUs ?? 0), dtsUs) };
  }

  #learn(showUs: number): void {
    const overtaken = this.#shown.filter((other) => other > showUs && other - showUs < B_BACK_US).length;
    if (overtaken > 0) this.#reorder.deepen(Math.min(overtaken, MOST_DEPTH));
  }
}

const tidy = (timeUs: number | null): number | null =>
  timeUs === null || !(Math.abs(timeUs) < MOST_US) ? null : Math.round(timeUs);
