/** The variables of expressions: what elements upstream have written about an object or its frame, by name. */
import type { Detection, Track } from "../schemas/detections.ts";
import type { ExpressionScope, NodeVariables, Scalar, ValueType, Variables } from "../schemas/expression.ts";
import type { Place } from "../schemas/places.ts";

type ObjectReader = (object: Detection | Track, place: Place | null) => Scalar;

interface Variable {
  readonly type: ValueType;
  /** The metadata that it comes from; null: every frame has it. */
  readonly from: "detections" | "tracks" | "places" | null;
  readonly about: string;
}

export interface ObjectVariable extends Variable {
  readonly read: ObjectReader;
}

const number = (from: Variable["from"], about: string, read: ObjectReader): ObjectVariable => ({
  ...{ type: "number", from, about, read },
});

const ofTrack =
  (read: (track: Track) => number): ObjectReader =>
  (object) =>
    "id" in object ? read(object) : Number.NaN;
const ofPlace =
  (read: (place: Place) => number | null): ObjectReader =>
  (_, place) =>
    place === null ? Number.NaN : (read(place) ?? Number.NaN);
const ofSpot = (read: (spot: NonNullable<Place["spot"]>) => number | null): ObjectReader =>
  ofPlace(({ spot }) => (spot === null ? null : read(spot)));

/** The names are those of the detection message, where it has the value. */
export const OBJECT_VARIABLES: Readonly<Record<string, ObjectVariable>> = {
  class_name: {
    ...{ type: "text", from: "detections", about: "Name of the class." },
    read: ({ className }) => className,
  },
  class_id: number("detections", "Index of the class in the labels of the model.", ({ classId }) => classId),
  confidence: number("detections", "From 0 to 1.", ({ confidence }) => confidence),
  left: number("detections", "Left edge of the box, as a fraction of the frame.", ({ box }) => box[0]),
  top: number("detections", "Upper edge of the box, as a fraction of the frame.", ({ box }) => box[1]),
  width: number("detections", "Width of the box, as a fraction of the frame.", ({ box }) => box[2]),
  height: number("detections", "Height of the box, as a fraction of the frame.", ({ box }) => box[3]),
  x: number("detections", "Middle of the box, as a fraction of the frame.", ({ box }) => box[0] + box[2] / 2),
  y: number("detections", "Lower edge of the box, as a fraction of the frame.", ({ box }) => box[1] + box[3]),
  track_id: number(
    "tracks",
    "Number of the track.",
    ofTrack(({ id }) => id),
  ),
  age_s: number(
    "tracks",
    "Seconds since the object was first detected.",
    ofTrack(({ ageMs }) => ageMs / 1000),
  ),
  predicted: {
    ...{ type: "bool", from: "tracks", about: "The box is extrapolated: no detection of this frame supports it." },
    read: (object) => "id" in object && object.predicted,
  },
  velocity_x: number(
    "tracks",
    "Motion to the right, in fractions of the frame per second.",
    ofTrack(({ velocity }) => velocity[0]),
  ),
  velocity_y: number(
    "tracks",
    "Motion downwards, in fractions of the frame per second.",
    ofTrack(({ velocity }) => velocity[1]),
  ),
  distance: number(
    "places",
    "Metres from the camera.",
    ofPlace(({ distance }) => distance),
  ),
  azimuth: number(
    "places",
    "Degrees from the line of sight, positive to the right.",
    ofPlace(({ azimuth }) => azimuth),
  ),
  elevation: number(
    "places",
    "Degrees from the line of sight, positive above it.",
    ofPlace(({ elevation }) => elevation),
  ),
  latitude: number(
    "places",
    "Degrees, WGS-84.",
    ofSpot(({ latitude }) => latitude),
  ),
  longitude: number(
    "places",
    "Degrees, WGS-84.",
    ofSpot(({ longitude }) => longitude),
  ),
  altitude: number(
    "places",
    "Metres above mean sea level.",
    ofSpot(({ altitude }) => altitude),
  ),
  position_error_m: number(
    "places",
    "One standard deviation of the position on the ground, in metres.",
    ofSpot(({ errorM }) => errorM),
  ),
  speed_mps: number(
    "places",
    "Speed over the ground of a track, in metres per second.",
    ofSpot(({ speedMps }) => speedMps),
  ),
  heading: number(
    "places",
    "Direction of motion of a track, degrees from true north, clockwise.",
    ofSpot(({ heading }) => heading),
  ),
};

/** What an expression reads of a frame. */
export interface FrameSource {
  readonly format: { readonly width: number; readonly height: number };
}

interface FrameVariable extends Variable {
  readonly read: (frame: FrameSource) => Scalar;
}

export const FRAME_VARIABLES: Readonly<Record<string, FrameVariable>> = {
  frame_width: {
    ...{ type: "number", from: null, about: "Width of the frame in pixels." },
    read: ({ format }) => format.width,
  },
  frame_height: {
    ...{ type: "number", from: null, about: "Height of the frame in pixels." },
    read: ({ format }) => format.height,
  },
};

const BUILT_IN = { object: OBJECT_VARIABLES, frame: FRAME_VARIABLES };

/** Values that elements of the graph define, such as those of `map`. */
export const NO_VALUES: NodeVariables = { object: {}, frame: {} };

/** The variables where frames have these keys of metadata, and these values of the graph. */
export function listVariables(keys: ReadonlySet<string>, values: NodeVariables): NodeVariables {
  // A track is an object as a detection is, but nothing gives a detection what only tracks have.
  const has = ({ from }: Variable) => from === null || keys.has(from) || (from === "detections" && keys.has("tracks"));
  const available = (scope: ExpressionScope): Variables => ({
    ...Object.fromEntries(
      Object.entries<Variable>(BUILT_IN[scope])
        .filter(([, variable]) => has(variable))
        .map(([name, { type }]) => [name, type] as const),
    ),
    ...values[scope],
  });
  return { object: available("object"), frame: available("frame") };
}

/** The variables of an expression: those of the frame, and for an object also its own. */
export const inScope = (variables: NodeVariables, scope: ExpressionScope): Variables =>
  scope === "frame" ? variables.frame : { ...variables.frame, ...variables.object };

export const isBuiltIn = (name: string): boolean =>
  Object.hasOwn(OBJECT_VARIABLES, name) || Object.hasOwn(FRAME_VARIABLES, name);

/** The metadata that a variable needs; null if there is no such variable, or it needs none. */
export const metadataOf = (name: string): string | null =>
  Object.hasOwn(OBJECT_VARIABLES, name) ? (OBJECT_VARIABLES[name]?.from ?? null) : null;
