import type { Sighting } from "./mot-tracker.ts";
import type { ObjectTrack } from "./object-track.ts";

/**
 * Tails of the distribution (degrees of freedom of Student's t): now and then a detector is far off, as when it sees one
 * half of a person behind a car, and that must not cost the person its id.
 */
const TAILS = 10;
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
  const centres = listCentres(sightings);
  for (let row = 0; row < tracks.length; row++) {
    const track = tracks[row] as ObjectTrack;
    const { filter, spread } = track;
    filter.expect(spread);
    const x = filter.x.position;
    const y = filter.y.position;
    const weightX = 1 / spread.x;
    const weightY = 1 / spread.y;
    // Nothing beyond this distance, in standard deviations squared, can stay within the limit.
    const furthest = TAILS * (Math.exp((2 * limit - spread.vagueness) / TAILS) - 1);
    for (let column = 0; column < length; column++) {
      const right = (centres[2 * column] as number) - x;
      const down = (centres[2 * column + 1] as number) - y;
      const distance = right * right * weightX + down * down * weightY;
      costs[row * length + column] =
        distance < furthest ? rate(track, sightings[column] as Sighting, distance) : Number.POSITIVE_INFINITY;
    }
  }
}

function rate({ filter, spread, vote, usualConfidence }: ObjectTrack, sighting: Sighting, distance: number): number {
  const width = sighting.box[2] - filter.width.position;
  const height = sighting.box[3] - filter.height.position;
  const whole = distance + (width * width) / spread.width + (height * height) / spread.height;
  return (
    spread.vagueness / 2 +
    (TAILS / 2) * Math.log1p(whole / TAILS) +
    CONFIDENCE_WEIGHT * Math.max(0, usualConfidence - sighting.confidence) +
    (sighting.classId === vote.classId ? 0 : OTHER_CLASS)
  );
}

function listCentres(sightings: readonly Sighting[]): Float64Array {
  const centres = new Float64Array(sightings.length * 2);
  sightings.forEach(({ box }, i) => {
    centres[2 * i] = box[0] + box[2] / 2;
    centres[2 * i + 1] = box[1] + box[3] / 2;
  });
  return centres;
}
