/**
 * What detecting and tracking write into the frame metadata, and what every later element reads. Boxes are fractions of
 * the frame, so that a resize changes nothing.
 */
import { type Static, Type } from "typebox";

/** As a list of so many numbers and not as a tuple, which is spelt differently in the drafts of JSON Schema. */
const listOf = <T extends readonly number[]>(count: T["length"]) =>
  Type.Unsafe<T>(Type.Array(Type.Number(), { minItems: count, maxItems: count }));

/** `[left, top, width, height]` in fractions of the frame, within it. */
export const Box = listOf<[left: number, top: number, width: number, height: number]>(4);
export type Box = Static<typeof Box>;

export const Detection = Type.Object({
  /** Place in the labels of the model, from 0. */
  classId: Type.Integer({ minimum: 0 }),
  className: Type.String(),
  /** From 0 to 1. */
  confidence: Type.Number({ minimum: 0, maximum: 1 }),
  box: Box,
});
export type Detection = Static<typeof Detection>;

/** Metadata key `detections`: what `detect` says of a frame. */
export const Detections = Type.Object({
  /** False on frames that passed without inference: nothing was looked for, and both lists are empty. */
  inferred: Type.Boolean(),
  /** Names the model card. */
  model: Type.String(),
  /** What counts as seen: at or above `confidence`, most confident first. */
  confidence: Type.Number(),
  objects: Type.Array(Detection),
  /** Below `confidence`: too weak to be shown or to begin a track, good enough to hold on to one. */
  weak: Type.Array(Detection),
});
export type Detections = Static<typeof Detections>;

export const Track = Type.Object({
  ...Detection.properties,
  /** From 1, never used again while the process lives. */
  id: Type.Integer({ minimum: 1 }),
  /** True where no detection of this frame supports the box: it is where the object should be by now. */
  predicted: Type.Boolean(),
  /** Time since the object was first seen. */
  ageMs: Type.Number({ minimum: 0 }),
  /** Fractions of the frame a second, right and down. */
  velocity: listOf<[right: number, down: number]>(2),
});
export type Track = Static<typeof Track>;

/** Metadata key `tracks`: what `track` says of a frame. */
export const Tracks = Type.Object({
  /** Whether detections of this very frame went into it. */
  inferred: Type.Boolean(),
  /** Those to be shown, by id. */
  objects: Type.Array(Track),
  /** Ids that were given up with this frame and will not come again. */
  ended: Type.Array(Type.Integer()),
});
export type Tracks = Static<typeof Tracks>;
