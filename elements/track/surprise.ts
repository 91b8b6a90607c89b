import type { Sighting } from "./mot-tracker.ts";
import type { ObjectTrack } from "./object-track.ts";

/**
 * Tails of the distribution (degrees of freedom of Student's t): now and then a detector is far off, as when it sees one
 * half of a person behind a car, and that must not cost the person its id.
 */
const TAILS = 12;
/** Surprise at a sighting that is less confident by 1 than the track is used to. */
const CONFIDENCE_WEIGHT = 3;
/** Surprise at another class: detectors take cars for trucks, and less often people for cars. */
const OTHER_CLASS = 3;

/**
 * How surprising each sighting would be if it were of each track: the negative logarithm of its likelihood. It weighs place
 * and size by how well each is known, so that a track lost for a second may be found further off than one just seen, but
 * yields to one that fits as well and is surer. That holds at any frame rate. What is far beyond `limit` is Infinity.
 */
export function fillSurprise(
  costs: Float64Array,
  tracks: readonly ObjectTrack[],
  sightings: readonly Sighting[],
  limit: number,
): void {
  const { length } = sightings;
  tracks.forEach((track, row) => {
    const { filter, spread, usualConfidence } = track;
    filter.expect(spread);
    const { classId } = track.vote;
    const atX = filter.x.position;
    const atY = filter.y.position;
    const base = spread.vagueness / 2;
    // Nothing beyond this distance, in standard deviations squared, can stay within the limit.
    const furthest = TAILS * (Math.exp((2 * (limit - base)) / TAILS) - 1);
    for (let column = 0; column < length; column++) {
      const sighting = sightings[column] as Sighting;
      const { box } = sighting;
      const x = box[0] + box[2] / 2 - atX;
      const y = box[1] + box[3] / 2 - atY;
      let distance = (x * x) / spread.x + (y * y) / spread.y;
      let cost = Number.POSITIVE_INFINITY;
      if (distance < furthest) {
        const width = box[2] - filter.width.position;
        const height = box[3] - filter.height.position;
        distance += (width * width) / spread.width + (height * height) / spread.height;
        cost = base + (TAILS / 2) * Math.log1p(distance / TAILS);
        cost += CONFIDENCE_WEIGHT * Math.max(0, usualConfidence - sighting.confidence);
        if (sighting.classId !== classId) cost += OTHER_CLASS;
      }
      costs[row * length + column] = cost;
    }
  });
}
