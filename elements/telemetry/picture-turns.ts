import { PictureMotion } from "../../vision/picture-motion.ts";
import type { Frame } from "../element.ts";
import { type Foresee, type Match, TurnMatch } from "./turn-match.ts";

/** So often is enough to see a camera turn, and costs little. */
const LOOK_EVERY_MS = 95;
const MATCH_EVERY_MS = 2000;
const LONGEST_STEP_MS = 500;

/** Looks at some frames, and tells by which offset telemetry explains best how they moved. */
export class PictureTurns {
  readonly #motion = new PictureMotion();
  readonly #match = new TurnMatch();
  #seenMs: number | null = null;
  #matchedMs = Number.NEGATIVE_INFINITY;

  look(frame: Pick<Frame, "format" | "planes" | "discontinuity">, frameMs: number): void {
    const { pixels, width, height } = frame.format;
    if (pixels !== "I420" && pixels !== "NV12") return;
    if (frame.discontinuity) this.forget();
    const lastMs = this.#seenMs;
    if (lastMs !== null && frameMs >= lastMs && frameMs - lastMs < LOOK_EVERY_MS) return;
    const plane = frame.planes[0];
    if (plane === undefined) return;
    this.#seenMs = frameMs;
    const motion = this.#motion.next(plane, []);
    if (motion === null || lastMs === null || frameMs <= lastMs || frameMs - lastMs > LONGEST_STEP_MS) return;
    const { a, b, right, down } = motion;
    const [x, y] = [width / height / 2, 0.5];
    this.#match.see({
      fromMs: lastMs,
      toMs: frameMs,
      right: a * x - b * y + right - x,
      down: b * x + a * y + down - y,
    });
  }

  isDue(frameMs: number): boolean {
    return frameMs < this.#matchedMs || frameMs - this.#matchedMs >= MATCH_EVERY_MS;
  }

  match(nearMs: number, told: { readonly fromMs: number; readonly toMs: number }, foresee: Foresee): Match | null {
    this.#matchedMs = this.#seenMs ?? this.#matchedMs;
    return this.#match.find(nearMs, told, foresee);
  }

  forget(): void {
    this.#motion.forget();
    this.#match.forget();
    this.#seenMs = null;
  }
}
