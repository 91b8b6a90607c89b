import { BoxFilter } from "./box-filter.ts";
import { ClassVote } from "./class-vote.ts";
import type { Sighting, TrackBox } from "./mot-tracker.ts";

/** One object as the tracker knows it. Its id is 0 until it is first shown. */
export class ObjectTrack {
  readonly filter: BoxFilter;
  readonly bornS: number;
  readonly vote: ClassVote;
  id = 0;
  hits = 1;
  seenS: number;
  seenBox: TrackBox;
  confidence: number;
  isConfirmed: boolean;

  constructor({ box, confidence, classId }: Sighting, timeS: number, isConfirmed: boolean) {
    this.filter = new BoxFilter(box);
    this.vote = new ClassVote(classId, confidence);
    this.bornS = timeS;
    this.seenS = timeS;
    this.seenBox = box;
    this.confidence = confidence;
    this.isConfirmed = isConfirmed;
  }

  see({ box, confidence, classId }: Sighting, timeS: number): void {
    this.filter.correct(box);
    this.vote.cast(classId, confidence);
    this.hits += 1;
    this.seenS = timeS;
    this.seenBox = box;
    this.confidence = confidence;
  }
}
