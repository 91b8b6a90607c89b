/**
 * Makes parts and segments of a stream. A segment begins with a key picture, unless the next one is too long in coming:
 * then it begins with any, and its parts say so.
 */

import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { Fragmenter } from "../../media/mp4/fragmenter.ts";
import { writeInitSegment } from "../../media/mp4/init-segment.ts";
import type { Reader } from "../streams.ts";
import type { Window } from "./window.ts";

const SHORTEST_SEGMENT_US = 1_000_000;
/** A picture that lasts longer is a publisher that paused: players skip the gap instead of falling behind. */
const LONGEST_PICTURE_US = 2_000_000;

export class Segmenter implements Reader {
  readonly #window: Window;
  readonly #changed: () => void;
  #fragmenter: Fragmenter | null = null;
  #waitsForKey = true;
  /** Of the first picture of the segment. */
  #captureMs = 0;

  /** `changed` is called when the window has more. */
  constructor(window: Window, changed: () => void) {
    this.#window = window;
    this.#changed = changed;
  }

  begin(tracks: Tracks): void {
    this.#finish();
    this.#window.setInit(writeInitSegment(tracks), tracks);
    this.#fragmenter = new Fragmenter(tracks, { maxSampleUs: LONGEST_PICTURE_US });
    this.#waitsForKey = true;
  }

  take(unit: AccessUnit): void {
    const fragmenter = this.#fragmenter;
    if (fragmenter === null) return;
    if (this.#waitsForKey) {
      if (unit.kind === "audio" || !unit.isKey) return;
      this.#waitsForKey = false;
      this.#captureMs = unit.captureMs;
    }
    fragmenter.add(unit);
    if (unit.kind === "audio") return;
    this.#keepPartShort(fragmenter);
    if (this.#endsSegment(unit, fragmenter)) {
      this.#cut(fragmenter);
      this.#window.endSegment(unit.isKey);
      this.#captureMs = unit.captureMs;
      this.#changed();
    } else if (fragmenter.readyUs + fragmenter.stepUs > this.#window.longestPartUs) {
      this.#cut(fragmenter);
      this.#changed();
    }
  }

  end(): void {
    this.#finish();
    this.#window.end();
    this.#changed();
  }

  /** This picture is not in it any more. */
  #endsSegment(unit: AccessUnit, { readyUs, stepUs, bytes }: Fragmenter): boolean {
    const { growing, longestSegmentUs, largestSegmentBytes } = this.#window;
    const durationUs = (growing?.durationUs ?? 0) + readyUs;
    if (unit.isKey && durationUs >= SHORTEST_SEGMENT_US) return true;
    // The picture before this one is in it, this one would not fit.
    if (durationUs > 0 && durationUs + stepUs > longestSegmentUs) return true;
    return (growing?.bytes ?? 0) + bytes > largestSegmentBytes;
  }

  /** The picture before this one lasted longer than was to be expected: it is for the next part. */
  #keepPartShort(fragmenter: Fragmenter): void {
    const { readyUs, stepUs } = fragmenter;
    if (readyUs <= this.#window.longestPartUs || stepUs >= readyUs) return;
    this.#cut(fragmenter, 1);
    this.#changed();
  }

  #cut(fragmenter: Fragmenter, except = 0): void {
    const part = fragmenter.cut(except);
    if (part !== null) this.#window.addPart(part, this.#captureMs);
  }

  #finish(): void {
    const rest = this.#fragmenter?.drain() ?? null;
    if (rest !== null) this.#window.addPart(rest, this.#captureMs);
    this.#fragmenter = null;
    this.#window.endSegment(true);
  }
}
