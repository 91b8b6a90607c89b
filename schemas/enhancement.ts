/**
 * What can be said of a track by its picture, once its process has finished; and what the server and the child that looks
 * at pictures tell each other, as JSON over the channel of `fork`. Both check every message.
 */
import { type Static, Type } from "typebox";
import { TrackPatch, TrackSummary } from "./track-report.ts";

export const ENHANCE_PROTOCOL = 1;
/** Tracks that are handed to the child at once. */
export const MOST_ENHANCED_TRACKS = 32;

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()]);
const Channel = Type.Integer({ minimum: 0, maximum: 255 });

export const NamedColour = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 40, description: "As people call it: `silver`, `red`." }),
  // A list and no tuple, which is spelt differently in the drafts of JSON Schema.
  rgb: Type.Unsafe<[red: number, green: number, blue: number]>(
    Type.Array(Channel, { minItems: 3, maxItems: 3, description: "As it is in the picture, sRGB." }),
  ),
  share: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "How much of what was looked at has this colour, from 0 to 1.",
  }),
});
export type NamedColour = Static<typeof NamedColour>;

export const Plate = Type.Object({
  text: Type.String({ pattern: "^[A-Z0-9]{4,10}$", description: "Letters and digits alone." }),
  confidence: Type.Number({ minimum: 0, maximum: 100, description: "Percent." }),
});
export type Plate = Static<typeof Plate>;

export const EnhancedData = Type.Object(
  {
    vehicle_type: orNull(
      Type.String({ maxLength: 100, description: "Of vehicles: `car`, `van`, `bus`, `truck`, `motorcycle` …" }),
    ),
    colour: orNull(NamedColour),
    plate: orNull(Plate),
    attributes: Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), {
      description:
        "What there is to say of this kind of object: of people `upper_colour` and `lower_colour`, of what flies `against_sky`, `apparent_shape`, `contrast` and, where it can be read, `registration`.",
    }),
  },
  { title: "EnhancedData", description: "What the best picture of a track shows; null where it does not show it." },
);
export type EnhancedData = Static<typeof EnhancedData>;

/** A track and its best picture. */
export const TrackToEnhance = Type.Object({
  id: TrackSummary.properties.id,
  className: TrackSummary.properties.className,
  /** Null: there is no picture of it. */
  jpeg: orNull(TrackPatch.properties.jpeg),
});
export type TrackToEnhance = Static<typeof TrackToEnhance>;

export const EnhanceRequest = Type.Object({
  type: Type.Literal("enhance"),
  tracks: Type.Array(TrackToEnhance, { minItems: 1, maxItems: MOST_ENHANCED_TRACKS }),
});
export type EnhanceRequest = Static<typeof EnhanceRequest>;

export const EnhancedTrack = Type.Object({ id: TrackSummary.properties.id, data: EnhancedData });
export type EnhancedTrack = Static<typeof EnhancedTrack>;

export const EnhanceMessage = Type.Union([
  Type.Object({ type: Type.Literal("hello"), protocol: Type.Integer(), pid: Type.Integer() }),
  /** Everything is loaded. `lacks`: what it does without, for the log. */
  Type.Object({ type: Type.Literal("ready"), lacks: Type.Array(Type.String({ maxLength: 2000 })) }),
  Type.Object({ type: Type.Literal("failed"), detail: Type.String({ maxLength: 2000 }) }),
  /** One after the other, in the order of the request. */
  Type.Object({ type: Type.Literal("enhanced"), track: EnhancedTrack }),
]);
export type EnhanceMessage = Static<typeof EnhanceMessage>;
