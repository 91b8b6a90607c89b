/** The contract of an alert type: one folder below this one. Evaluation is pure and uses only the time of the frames. */
import { Type } from "typebox";
import type { AlertConfiguration, AlertEventName, AlertTypeDefinition } from "../../schemas/alerts.ts";
import type { Track } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Place } from "../../schemas/places.ts";

/** One object in one frame. */
export interface Sighting {
  readonly track: Track;
  readonly place: Place | null;
}

/** One frame, as every rule sees it. */
export interface Scene {
  /** Unix time of the frame. Never goes back, except after `Evaluator.forget`. */
  readonly timeMs: number;
  /** Inference ran on this frame. */
  readonly inferred: boolean;
  /** Includes predicted tracks; rules ignore their positions. */
  readonly sightings: readonly Sighting[];
  /** Ids of tracks that ended with this frame and will not return. */
  readonly ended: readonly number[];
}

/** A match found by a rule, before the handler adds the rule's name and the image. */
export interface AlertEvent {
  readonly event: AlertEventName;
  /** In this frame, or in an earlier one if the object has left since. */
  readonly sightings: readonly Sighting[];
  readonly data: JsonRecord;
  /** The track whose best image is added as `data.patch`. */
  readonly patchTrackId?: number;
}

/** A running rule. Its state is bounded by the number of tracks in the frame and by its time windows. */
export interface Evaluator {
  /** Returns events in the order in which they are sent. */
  see(scene: Scene): readonly AlertEvent[];
  /** Frames were discarded or skipped: drop all state; time may start again from an earlier value. */
  forget(): void;
  /** Adds the tracks that may soon cause an event with an image. */
  listCandidates?(into: Set<number>): void;
}

export interface AlertType extends AlertTypeDefinition {
  /** The configuration was checked by the schemas and `check`, with defaults filled in. */
  create(configuration: Required<AlertConfiguration>): Evaluator;
}

export const NO_EVENTS: readonly AlertEvent[] = [];

/** A track that is not detected keeps its last position for this time: detectors miss single frames. */
export const HOLD_MS = 1_000;
/** `track` ends tracks earlier; this bounds the state if an end is missed. */
export const FORGOTTEN_MS = 120_000;
/** Limit of tracks, cells or crossings listed in one event. */
export const MAX_LISTED = 100;

// Schema fields used by several types. Fields with a default are optional in the published schemas; evaluators receive
// them filled in.

export const seconds = (description: string, fallback: number, minimum = 0) =>
  Type.Optional(Type.Number({ default: fallback, minimum, maximum: 86_400, description }));

export const count = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ default: fallback, minimum: 1, maximum: 1000, description }));

/** For a part of the configuration that a type does not use. */
export const none = (description: string) => Type.Object({}, { additionalProperties: false, description });

export const exampleOutput = (topic: string) => [{ type: "mqtt", config: { host: "192.168.1.10:1883", topic } }];
