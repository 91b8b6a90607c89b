/** What one may want to change about the tracker. Times are in seconds: no frame is counted. */
export interface TrackerSettings {
  /** Sightings at or above it begin tracks. Weaker ones only hold on to one. */
  readonly confidence: number;
  /** A track that has not been seen for so long is given up, but not for the only look that fell into that time. */
  readonly maxAgeS: number;
  /** A track that was looked for and not seen is still shown, where it should be, for so long if it is a second old, else less. */
  readonly showPredictedS: number;
  /** Where the camera's motion is not given: takes what all objects have in common for it. */
  readonly isCameraFollowed: boolean;
}

/**
 * Chosen in the middle of what works about equally well, over sequences played forwards and backwards, at a half and a
 * third of their frame rate, with sightings left out, with boxes shaken and with a camera that pans.
 */
export const DEFAULT_SETTINGS: TrackerSettings = {
  confidence: 0.8,
  maxAgeS: 2,
  showPredictedS: 0.1,
  isCameraFollowed: true,
};
