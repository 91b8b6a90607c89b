/** How the tracker weighs what it sees. Lengths are in heights of the object, times in seconds: no frame is counted. */
export interface TrackerSettings {
  /** Sightings at or above it are sure: they begin tracks and find lost ones. Below it they only hold on to a track. */
  readonly confidence: number;
  /** Below it a sighting is not looked at. */
  readonly weak: number;
  /** How far above `confidence` a sighting must be to begin a track. */
  readonly birthMargin: number;
  /** A track that has not been seen for so long is given up. */
  readonly maxAgeS: number;
  /** A track that was never confirmed is given up after this time without a sighting. */
  readonly tentativeAgeS: number;
  /** Sightings that confirm a track. */
  readonly confirmHits: number;
  /** A lost track is shown where it should be for so long. */
  readonly showPredictedS: number;
  /** Least likeness of a track and a sure sighting, of a track and a weak one, and of a new track and its second sighting. */
  readonly minLikeness: number;
  readonly minLikenessWeak: number;
  readonly minLikenessTentative: number;
  /** A new track that overlaps a seen one by more is a second sighting of it. */
  readonly duplicateOverlap: number;
  /** What likeness costs when the classes differ. */
  readonly classPenalty: number;
  readonly firstId: number;
}

export const DEFAULT_SETTINGS: TrackerSettings = {
  confidence: 0.6,
  weak: 0.1,
  birthMargin: 0.1,
  maxAgeS: 1.5,
  tentativeAgeS: 0.2,
  confirmHits: 2,
  showPredictedS: 0,
  minLikeness: 0.1,
  minLikenessWeak: 0.5,
  minLikenessTentative: 0.3,
  duplicateOverlap: 0.8,
  classPenalty: 0.2,
  firstId: 1,
};
