import { BoxFilter, type Spread } from "./box-filter.ts";
import { ClassVote } from "./class-vote.ts";
import type { Sighting, TrackBox } from "./mot-tracker.ts";

/** Share of the latest sighting in the usual confidence of a track. */
const CONFIDENCE_SHARE = 0.3;
/** A sighting less confident than usual by 0.25 counts half. */
const DOUBT = 4;
/** Share of the sighting itself in the box shown: the filter is steadier, and late. */
const SHOWN_SHARE = 0.2;

/** One object as the tracker knows it. Its id is 0 until it is first shown. */
export class ObjectTrack {
  readonly filter: BoxFilter;
  readonly bornS: number;
  readonly vote: ClassVote;
  readonly spread: Spread = { x: 1, y: 1, width: 1, height: 1, vagueness: 0 };
  id = 0;
  hits = 1;
  seenS: number;
  /** When it was last seen by more than a weak sighting. */
  sureS: number;
  seenBox: TrackBox;
  confidence: number;
  usualConfidence: number;
  isConfirmed: boolean;

  constructor({ box, confidence, classId }: Sighting, timeS: number, isConfirmed: boolean) {
    this.filter = new BoxFilter(box);
    this.vote = new ClassVote(classId, confidence);
    this.bornS = timeS;
    this.seenS = timeS;
    this.sureS = timeS;
    this.seenBox = box;
    this.confidence = confidence;
    this.usualConfidence = confidence;
    this.isConfirmed = isConfirmed;
  }

  see({ box, confidence, classId }: Sighting, timeS: number, isSure: boolean): void {
    this.filter.correct(box, 1 + DOUBT * Math.max(0, this.usualConfidence - confidence));
    this.vote.cast(classId, confidence, timeS - this.seenS);
    this.hits += 1;
    this.seenS = timeS;
    if (isSure) this.sureS = timeS;
    this.seenBox = box;
    this.confidence = confidence;
    this.usualConfidence += CONFIDENCE_SHARE * (confidence - this.usualConfidence);
  }

  showBox(timeS: number): TrackBox {
    const { box } = this.filter;
    if (this.seenS !== timeS) return box;
    const blend = (i: 0 | 1 | 2 | 3): number => box[i] + SHOWN_SHARE * (this.seenBox[i] - box[i]);
    return [blend(0), blend(1), blend(2), blend(3)];
  }
}
