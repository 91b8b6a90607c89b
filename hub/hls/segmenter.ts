/**
 * Cuts a stream into parts and segments. A segment starts with a keyframe, unless the next one is too late: then it starts
 * with any picture, and its parts are not marked as independent.
 */

import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { Fragmenter } from "../../media/mp4/fragmenter.ts";
import { writeInitSegment } from "../../media/mp4/init-segment.ts";
import type { Reader } from "../live-stream.ts";
import type { Window } from "./window.ts";

const MIN_SEGMENT_US = 1_000_000;
/** A longer step is a paused publisher: players skip the gap instead of falling behind. */
const MAX_PICTURE_US = 2_000_000;

export class Segmenter implements Reader {
  readonly #window: Window;
  readonly #onChange: () => void;
  #fragmenter: Fragmenter | null = null;
  #needsKey = true;
  /** Of the segment's first picture. */
  #captureMs = 0;

  /** `onChange`: the window has a new part or segment, or has ended. */
  constructor(window: Window, onChange: () => void) {
    this.#window = window;
    this.#onChange = onChange;
  }

  setTracks(tracks: Tracks): void {
    this.#finish();
    this.#window.setInit(writeInitSegment(tracks), tracks);
    this.#fragmenter = new Fragmenter(tracks, { maxSampleUs: MAX_PICTURE_US });
    this.#needsKey = true;
  }

  push(unit: AccessUnit): void {
    const fragmenter = this.#fragmenter;
    if (fragmenter === null) return;
    if (this.#needsKey) {
      if (unit.kind === "audio" || !unit.isKey) return;
      this.#needsKey = false;
      this.#captureMs = unit.captureMs;
    }
    fragmenter.add(unit);
    if (unit.kind === "audio") return;
    this.#keepPartShort(fragmenter);
    if (this.#endsSegment(unit, fragmenter)) {
      this.#cut(fragmenter);
      this.#window.endSegment(unit.isKey);
      this.#captureMs = unit.captureMs;
      this.#onChange();
    } else if (fragmenter.readyUs + fragmenter.stepUs > this.#window.maxPartUs) {
      this.#cut(fragmenter);
      this.#onChange();
    }
  }

  end(): void {
    this.#finish();
    this.#window.end();
    this.#onChange();
  }

  /** Whether the segment ends before this picture. */
  #endsSegment(unit: AccessUnit, { readyUs, stepUs, bytes }: Fragmenter): boolean {
    const { growing, maxSegmentUs, maxSegmentBytes } = this.#window;
    const durationUs = (growing?.durationUs ?? 0) + readyUs;
    if (unit.isKey && durationUs >= MIN_SEGMENT_US) return true;
    // The previous picture is in it, this one would not fit.
    if (durationUs > 0 && durationUs + stepUs > maxSegmentUs) return true;
    return (growing?.bytes ?? 0) + bytes > maxSegmentBytes;
  }

  /** The previous picture lasted longer than expected: it moves to the next part. */
  #keepPartShort(fragmenter: Fragmenter): void {
    const { readyUs, stepUs } = fragmenter;
    if (readyUs <= this.#window.maxPartUs || stepUs >= readyUs) return;
    this.#cut(fragmenter, 1);
    this.#onChange();
  }

  #cut(fragmenter: Fragmenter, keepPictures = 0): void {
    const part = fragmenter.cut(keepPictures);
    if (part !== null) this.#window.addPart(part, this.#captureMs);
  }

  #finish(): void {
    const rest = this.#fragmenter?.drain() ?? null;
    if (rest !== null) this.#window.addPart(rest, this.#captureMs);
    this.#fragmenter = null;
    this.#window.endSegment(true);
  }
}
