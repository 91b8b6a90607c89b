/** The contract of a type of alert: one folder below this one. Evaluation is pure: it knows no time but that of the pictures. */

import { Type } from "typebox";
import type { AlertConfiguration, AlertEventName, AlertTypeDefinition } from "../../schemas/alerts.ts";
import type { Track } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Place } from "../../schemas/places.ts";

/** One object on one picture. */
export interface Sighting {
  readonly track: Track;
  readonly place: Place | null;
}

/** One picture, as every rule sees it. */
export interface Scene {
  /** Unix time of the picture. Never goes back but after a seek, of which `Evaluator.forget` tells. */
  readonly timeMs: number;
  /** Whether detections of this very picture went into it. */
  readonly inferred: boolean;
  /** Rules go by those that were seen. A track that was only predicted to be somewhere is nowhere new. */
  readonly sightings: readonly Sighting[];
  /** Ids that were given up with this picture and will not come again. */
  readonly ended: readonly number[];
}

export interface Verdict {
  readonly event: AlertEventName;
  /** Of this picture, or of one before where the object has gone since. */
  readonly sightings: readonly Sighting[];
  readonly data: JsonRecord;
  /** The track whose best picture goes with it, as `patch` of its data. */
  readonly patchOf?: number;
}

/** One rule at work. What it remembers is bounded by what is in the picture and by its windows. */
export interface Evaluator {
  /** In the order in which they are to be told. */
  see(scene: Scene): readonly Verdict[];
  /** Pictures were discarded, or skipped: nothing that was seen before goes on, and time may begin anew. */
  forget(): void;
  /** Adds those tracks of which a verdict with a picture may come. */
  listSuspects?(into: Set<number>): void;
}

export interface AlertType extends AlertTypeDefinition {
  /** The configuration has passed the schemas, with defaults filled in, and `check`. */
  create(configuration: Required<AlertConfiguration>): Evaluator;
}

export const NO_VERDICTS: readonly Verdict[] = [];

/** A track that was looked for and not seen is taken to be where it was, for so long: detectors blink. */
export const HOLD_MS = 1_000;
/** `track` gives everything up before; what it forgot must not stay here for ever. */
export const FORGOTTEN_MS = 120_000;
/** Of what makes up a verdict, so much is told at most. */
export const MOST_TOLD = 100;

/**
 * Fields that several types have, each with what it means there. Whatever has a default may be left out, which the
 * published schemas say; evaluators get it filled in.
 */
const DAY_SECONDS = 86_400;

export const seconds = (description: string, fallback: number, least = 0) =>
  Type.Optional(Type.Number({ default: fallback, minimum: least, maximum: DAY_SECONDS, description }));

export const count = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ default: fallback, minimum: 1, maximum: 1000, description }));

/** Of a type that has nothing to say here. */
export const none = (description: string) => Type.Object({}, { additionalProperties: false, description });

/** Where the notices of an example go. */
export const exampleOutput = (topic: string) => [{ type: "mqtt", config: { host: "192.168.1.10:1883", topic } }];
