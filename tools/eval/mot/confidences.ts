/**
 * Confidences of public detections. Trackers expect 0 to 1; detectors such as ACF and DPM have scales of their own, so
 * their values are replaced by ranks: the better half of the file is confident enough to start tracks.
 */

/** Confidence of the worst and of the best detection. */
const WORST = 0.6;
const BEST = 1;

/** Maps the confidences of a file: as they are if all are from 0 to 1, else by rank. Equal values stay equal. */
export function rankConfidences(confidences: readonly number[]): (confidence: number) => number {
  if (confidences.every((one) => one >= 0 && one <= 1)) return (confidence) => confidence;
  const sorted = Float64Array.from(confidences).sort();
  const last = Math.max(1, sorted.length - 1);
  const ranks = new Map<number, number>();
  for (const [index, one] of sorted.entries()) ranks.set(one, WORST + (BEST - WORST) * (index / last));
  return (confidence) => ranks.get(confidence) ?? WORST;
}
