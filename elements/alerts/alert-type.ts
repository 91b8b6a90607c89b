/** The contract of a type of alert: one folder below this one. Evaluation is pure: it knows no time but that of the pictures. */
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
