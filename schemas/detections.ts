/**
 * Frame metadata of detection and tracking, for all later elements. Boxes are fractions of the frame, so that a resize
 * does not change them.
 */
import { type Static, Type } from "typebox";

/** A fixed-length list instead of a tuple, whose syntax differs between the drafts of JSON Schema. */
const listOf = <T extends readonly number[]>(count: T["length"]) =>
  Type.Unsafe<T>(Type.Array(Type.Number(), { minItems: count, maxItems: count }));

/** `[left, top, width, height]` in fractions of the frame, within it. */
export const Box = listOf<[left: number, top: number, width: number, height: number]>(4);
export type Box = Static<typeof Box>;

/** Values that the graph computes, by name; null if unknown. */
export const Values = Type.Record(
  Type.String(),
  Type.Union([Type.Boolean(), Type.Number(), Type.String(), Type.Null()]),
);
export type Values = Static<typeof Values>;

/** Objects that one `count` of the graph has counted. */
export const ObjectCount = Type.Object({
  total: Type.Integer({ minimum: 0 }),
  /** By class name; only classes that are there. */
  classes: Type.Record(Type.String(), Type.Integer({ minimum: 1 })),
});
export type ObjectCount = Static<typeof ObjectCount>;

/** Metadata key `counts`: the results of `count`, by name. */
export const Counts = Type.Record(Type.String(), ObjectCount);
export type Counts = Static<typeof Counts>;

export const Detection = Type.Object({
  /** Index in the labels of the model. */
  classId: Type.Integer({ minimum: 0 }),
  className: Type.String(),
  /** From 0 to 1. */
  confidence: Type.Number({ minimum: 0, maximum: 1 }),
  box: Box,
  values: Type.Optional(Values),
});
export type Detection = Static<typeof Detection>;

/** Metadata key `detections`: the result of `detect`. */
export const Detections = Type.Object({
  /** False on frames without inference: both lists are empty. */
  inferred: Type.Boolean(),
  /** Without inference because the image has not changed since the last one. */
  still: Type.Optional(Type.Literal(true)),
  /** With several regions or tiles: how many of them were inferred. */
  regions: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Name of the model card. */
  model: Type.String(),
  /** Minimum confidence of `objects`, which are sorted by descending confidence. */
  confidence: Type.Number(),
  objects: Type.Array(Detection),
  /** Below `confidence`: not shown and not enough to start a track, but enough to continue one. */
  weak: Type.Array(Detection),
});
export type Detections = Static<typeof Detections>;

export const Track = Type.Object({
  ...Detection.properties,
  /** From 1, unique during the life of the process. */
  id: Type.Integer({ minimum: 1 }),
  /** The box is extrapolated: no detection of this frame supports it. */
  predicted: Type.Boolean(),
  /** Time since the object was first seen. */
  ageMs: Type.Number({ minimum: 0 }),
  /** Fractions of the frame per second, right and down. */
  velocity: listOf<[right: number, down: number]>(2),
});
export type Track = Static<typeof Track>;

/** Metadata key `tracks`: the result of `track`. */
export const Tracks = Type.Object({
  /** Whether inference ran on this frame. */
  inferred: Type.Boolean(),
  /** Visible tracks, by id. */
  objects: Type.Array(Track),
  /** Ids of tracks that ended with this frame. */
  ended: Type.Array(Type.Integer()),
});
export type Tracks = Static<typeof Tracks>;
