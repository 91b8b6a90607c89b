/** Which tracks a rule applies to. */
import { type Static, Type } from "typebox";
import type { ConfigurationFault } from "../../schemas/alerts.ts";
import type { Sighting } from "./alert-type.ts";

const fraction = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: `${description}, as a fraction of the frame.` }));
const speed = (description: string) =>
  Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 10_000,
      description: `${description} over the ground, in metres per second. A track of unknown speed does not match.`,
    }),
  );

export const Filter = Type.Object(
  {
    class_names: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        maxItems: 1000,
        description: "Class names of the model, such as `person`. Default or empty: all classes.",
      }),
    ),
    min_confidence: Type.Optional(
      Type.Number({
        default: 0,
        minimum: 0,
        maximum: 1,
        description: "Minimum confidence, from 0 to 1. Detections below it are ignored.",
      }),
    ),
    min_area: fraction("Minimum area of the box"),
    max_area: fraction("Maximum area of the box"),
    min_track_age_seconds: Type.Optional(
      Type.Number({
        default: 0,
        minimum: 0,
        maximum: 86_400,
        description: "Minimum time since the track was first detected, in seconds.",
      }),
    ),
    min_speed_mps: speed("Minimum speed"),
    max_speed_mps: speed("Maximum speed"),
  },
  { additionalProperties: false, description: "Which tracks count. All conditions must hold. Default: all tracks." },
);
export type Filter = Static<typeof Filter>;

export function checkFilter(filter: Filter): readonly ConfigurationFault[] {
  return (["area", "speed_mps"] as const).flatMap((name) => {
    const [minimum, maximum] = [filter[`min_${name}`], filter[`max_${name}`]];
    if (minimum === undefined || maximum === undefined || minimum <= maximum) return [];
    const message = `is ${minimum}; expected no more than max_${name}, which is ${maximum}`;
    return [{ path: `/filter/min_${name}`, message }];
  });
}

/** A compiled filter. */
export class TrackFilter {
  readonly #minConfidence: number;
  readonly #classNames: ReadonlySet<string> | null;
  readonly #minArea: number;
  readonly #maxArea: number;
  readonly #minAgeMs: number;
  /** Null: any speed, also an unknown one. */
  readonly #speed: readonly [minimum: number, maximum: number] | null;

  constructor(filter: Filter) {
    const names = filter.class_names ?? [];
    const { min_speed_mps: minMps, max_speed_mps: maxMps } = filter;
    this.#minConfidence = filter.min_confidence ?? 0;
    this.#classNames = names.length === 0 ? null : new Set(names);
    this.#minArea = filter.min_area ?? 0;
    this.#maxArea = filter.max_area ?? Number.POSITIVE_INFINITY;
    this.#minAgeMs = (filter.min_track_age_seconds ?? 0) * 1000;
    this.#speed =
      minMps === undefined && maxMps === undefined ? null : [minMps ?? 0, maxMps ?? Number.POSITIVE_INFINITY];
  }

  /** Detected in this frame with enough confidence. */
  isSeen({ track }: Sighting): boolean {
    return !track.predicted && track.confidence >= this.#minConfidence;
  }

  /** All other conditions. */
  passes({ track, place }: Sighting): boolean {
    if (this.#classNames !== null && !this.#classNames.has(track.className)) return false;
    if (track.ageMs < this.#minAgeMs) return false;
    const area = track.box[2] * track.box[3];
    if (area < this.#minArea || area > this.#maxArea) return false;
    if (this.#speed === null) return true;
    const mps = place?.spot?.speedMps ?? Number.NaN;
    return mps >= this.#speed[0] && mps <= this.#speed[1];
  }
}
