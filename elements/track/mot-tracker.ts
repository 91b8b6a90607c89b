/** `[left, top, width, height]`, in any common unit. */
export type TrackBox = readonly [number, number, number, number];

/** One detection, as input of a tracker. */
export interface Sighting {
  readonly box: TrackBox;
  readonly confidence: number;
  readonly classId: number;
}

export interface TrackedBox {
  readonly id: number;
  readonly box: TrackBox;
  readonly confidence: number;
  /** No sighting of this frame supports the box. */
  readonly predicted: boolean;
}

/** The interface of a tracker for evaluation: one call per frame, with increasing times. */
export interface MotTracker {
  update(timeNs: bigint, sightings: readonly Sighting[]): readonly TrackedBox[];
}
