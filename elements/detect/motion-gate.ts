/**
 * Decides by the image which frames need inference: those that differ visibly from the frame of the last one, however
 * slowly that came about. While everything changes, as for a camera that moves, inference runs at a fixed rate.
 */
import type { Candidates } from "../../models/decode/decoder.ts";
import type { Grey } from "../../vision/grey.ts";
import { type Change, countChanged, PictureChange } from "../../vision/picture-change.ts";
import type { Frame } from "../element.ts";
import type { DetectionFilter, Region } from "./request.ts";
import { hasSameObjects } from "./same-objects.ts";

/** Rounding of timestamps. */
const SLACK_NS = 1_000_000n;

export interface GateProperties {
  /** Inference runs after this time also without a change. */
  readonly refreshSeconds: number;
  /** While the image changes. */
  readonly maxPerSecond: number;
}

/** Inference is needed on this frame; pass it to `refer` when inference starts. */
export interface Due {
  readonly captureNs: bigint;
  readonly picture: Grey | null;
  /** Since the last inference; null: everything must be inferred. */
  readonly change: Change | null;
}

/** `still`: nothing has changed since the last inference. `passed`: something has, but that inference is too recent. */
type Verdict = Due | "still" | "passed";

type GatedFrame = Pick<Frame, "captureNs" | "discontinuity" | "planes">;

/** Depends on the frames, their times and the results only: no clock. */
export class MotionGate {
  readonly #change = new PictureChange();
  readonly #refreshNs: bigint;
  readonly #intervalNs: bigint;
  #inferredNs: bigint | null = null;
  /** The last inference of all regions. */
  #completeNs: bigint | null = null;
  #found: Candidates | null = null;
  /** Objects have appeared or disappeared, of which another inference can be sure. */
  #isUnsure = false;
  #isFollowUp = false;

  constructor({ refreshSeconds, maxPerSecond }: GateProperties) {
    this.#refreshNs = BigInt(Math.round(refreshSeconds * 1e9));
    this.#intervalNs = BigInt(Math.round(1e9 / maxPerSecond));
  }

  /** Call for every frame, in order. Changes outside of the region do not count. */
  judge({ captureNs, discontinuity, planes: [plane] }: GatedFrame, within: Region): Verdict {
    if (discontinuity) this.forget();
    if (plane === undefined) return { captureNs, picture: null, change: null };
    const { picture, change } = this.#change.next(plane);
    const sinceNs = captureNs - (this.#inferredNs ?? captureNs) + SLACK_NS;
    if (change === null || sinceNs < 0n || sinceNs >= this.#refreshNs) return { captureNs, picture, change: null };
    if (countChanged(change, within) === 0) return "still";
    if (sinceNs < this.#intervalNs && !this.#isUnsure) return "passed";
    const isOld = captureNs - (this.#completeNs ?? captureNs) + SLACK_NS >= this.#refreshNs;
    return { captureNs, picture, change: isOld ? null : change };
  }

  /** Inference starts on this frame; `regions`: only on these. */
  refer({ captureNs, picture, change }: Due, regions?: readonly Region[]): void {
    this.#isFollowUp = this.#isUnsure;
    this.#isUnsure = false;
    this.#inferredNs = captureNs;
    if (change === null || regions === undefined) this.#completeNs = captureNs;
    if (picture !== null) this.#change.refer(picture, change === null ? undefined : regions);
  }

  /** The result of that inference. One that follows up another is not followed up. */
  note(found: Candidates, filter: DetectionFilter): void {
    this.#isUnsure = !this.#isFollowUp && this.#found !== null && !hasSameObjects(this.#found, found, filter);
    this.#found = found;
  }

  forget(): void {
    this.#change.forget();
    this.#inferredNs = null;
    this.#completeNs = null;
    this.#found = null;
    this.#isUnsure = false;
    this.#isFollowUp = false;
  }
}
