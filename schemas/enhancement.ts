/**
 * The results of enhancing a track by its image, after its process has finished; and the IPC messages between the server
 * and the enhancer, as JSON over the channel of `fork`. Both sides validate every message.
 */
import { type Static, Type } from "typebox";
import { orNull } from "./api/records.ts";
import { TrackPatch, TrackSummary } from "./track-report.ts";

export const ENHANCE_PROTOCOL = 1;
/** Maximum number of tracks per request. */
const MOST_ENHANCED_TRACKS = 32;

const Channel = Type.Integer({ minimum: 0, maximum: 255 });

export const NamedColour = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 40, description: "Common name: `silver`, `red`." }),
  // A list instead of a tuple, whose syntax differs between the drafts of JSON Schema.
  rgb: Type.Unsafe<[red: number, green: number, blue: number]>(
    Type.Array(Channel, { minItems: 3, maxItems: 3, description: "Colour in the image, sRGB." }),
  ),
  share: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "Share of the analysed area with this colour, from 0 to 1.",
  }),
});
export type NamedColour = Static<typeof NamedColour>;

export const Plate = Type.Object({
  text: Type.String({ pattern: "^[A-Z0-9]{4,10}$", description: "Letters and digits only." }),
  confidence: Type.Number({ minimum: 0, maximum: 100, description: "Percent." }),
});
export type Plate = Static<typeof Plate>;

export const EnhancedData = Type.Object(
  {
    vehicle_type: orNull(
      Type.String({ maxLength: 100, description: "For vehicles: `car`, `van`, `bus`, `truck`, `motorcycle` …" }),
    ),
    colour: orNull(NamedColour),
    plate: orNull(Plate),
    attributes: Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), {
      description:
        "Attributes of the kind of object: `upper_colour` and `lower_colour` for people; `against_sky`, `apparent_shape`, `contrast` and, if legible, `registration` for flying objects.",
    }),
  },
  {
    title: "EnhancedData",
    description: "Attributes from the best image of a track; null if the image does not show them.",
  },
);
export type EnhancedData = Static<typeof EnhancedData>;

/** A track and its best image. */
export const TrackToEnhance = Type.Object({
  id: TrackSummary.properties.id,
  className: TrackSummary.properties.className,
  /** Null if there is no image. */
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
  /** Everything is loaded. `lacks`: unavailable features, for the log. */
  Type.Object({ type: Type.Literal("ready"), lacks: Type.Array(Type.String({ maxLength: 2000 })) }),
  Type.Object({ type: Type.Literal("failed"), detail: Type.String({ maxLength: 2000 }) }),
  /** One message per track, in the order of the request. */
  Type.Object({ type: Type.Literal("enhanced"), track: EnhancedTrack }),
]);
export type EnhanceMessage = Static<typeof EnhanceMessage>;
