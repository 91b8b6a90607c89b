/** `[left, top, width, height]`, in any unit that is the same for all. */
export type TrackBox = readonly [number, number, number, number];

/** What a detector saw, in the form in which trackers are compared. */
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

/** A tracker as an evaluation sees it: one call a frame, times ever later. */
export interface MotTracker {
  update(timeNs: bigint, sightings: readonly Sighting[]): readonly TrackedBox[];
}
