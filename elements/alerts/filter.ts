/** Which tracks a rule is about. */
import { type Static, Type } from "typebox";
import type { ConfigurationFault } from "../../schemas/alerts.ts";
import type { Sighting } from "./alert-type.ts";

const fraction = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: `${description}, as a fraction of the frame's.` }));
const speed = (description: string) =>
  Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 10_000,
      description: `${description}, in metres a second over the ground. A track whose speed is not known does not match.`,
    }),
  );

export const Filter = Type.Object(
  {
    class_names: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        maxItems: 1000,
        description: "Names of classes of the model, such as `person`. Left out or empty: all of them.",
      }),
    ),
    min_confidence: Type.Optional(
      Type.Number({
        default: 0,
        minimum: 0,
        maximum: 1,
        description: "From 0 to 1. A sighting that is less sure counts as none.",
      }),
    ),
    min_area: fraction("Area of the box at least"),
    max_area: fraction("Area of the box at most"),
    min_track_age_seconds: Type.Optional(
      Type.Number({
        default: 0,
        minimum: 0,
        maximum: 86_400,
        description: "Seconds since the track was first seen, at least.",
      }),
    ),
    min_speed_mps: speed("Speed at least"),
    max_speed_mps: speed("Speed at most"),
  },
  { additionalProperties: false, description: "Which tracks count. All conditions must hold. Left out: all tracks." },
);
export type Filter = Static<typeof Filter>;

export function checkFilter(filter: Filter): readonly ConfigurationFault[] {
  return [
    ...checkOrder("min_area", filter.min_area, "max_area", filter.max_area),
    ...checkOrder("min_speed_mps", filter.min_speed_mps, "max_speed_mps", filter.max_speed_mps),
  ];
}

function checkOrder(
  leastName: string,
  least: number | undefined,
  mostName: string,
  most: number | undefined,
): readonly ConfigurationFault[] {
  if (least === undefined || most === undefined || least <= most) return [];
  return [
    { path: `/filter/${leastName}`, message: `is ${least}; expected no more than ${mostName}, which is ${most}` },
  ];
}

/** A filter at work. */
export class Sieve {
  readonly #minConfidence: number;
  readonly #classNames: ReadonlySet<string> | null;
  readonly #minArea: number;
  readonly #maxArea: number;
  readonly #minAgeMs: number;
  /** Null where speed does not matter. */
  readonly #speed: readonly [least: number, most: number] | null;

  constructor(filter: Filter) {
    const names = filter.class_names ?? [];
    const { min_speed_mps: leastMps, max_speed_mps: mostMps } = filter;
    this.#minConfidence = filter.min_confidence ?? 0;
    this.#classNames = names.length === 0 ? null : new Set(names);
    this.#minArea = filter.min_area ?? 0;
    this.#maxArea = filter.max_area ?? Number.POSITIVE_INFINITY;
    this.#minAgeMs = (filter.min_track_age_seconds ?? 0) * 1000;
    this.#speed =
      leastMps === undefined && mostMps === undefined ? null : [leastMps ?? 0, mostMps ?? Number.POSITIVE_INFINITY];
  }

  /** Whether it was seen at all: detections of this very picture show it, surely enough. */
  isSeen({ track }: Sighting): boolean {
    return !track.predicted && track.confidence >= this.#minConfidence;
  }

  /** Everything else. */
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
