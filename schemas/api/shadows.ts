/** Shadows: a variant of a graph beside a running process, on the same source and without outputs. */
import { type Static, Type } from "typebox";
import { GraphName, VersionNumber } from "./graphs.ts";
import { jsonObject, orNull, Timestamp, Uuid } from "./records.ts";

export const MOST_SHADOW_SECONDS = 3_600;
export const SHADOW_SECONDS = 60;

export const ShadowBody = Type.Object({
  graph: Type.Optional(
    Type.String({
      ...{ minLength: 1, maxLength: 80, pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*(@[1-9][0-9]{0,8})?$" },
      description: "As `graph` of `POST /start`: `NAME` or `NAME@VERSION`. Default: the graph that the process runs.",
    }),
  ),
  params: Type.Optional(
    jsonObject("Values of the graph's params. Without `graph`, those of the process apply besides these."),
  ),
  seconds: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: MOST_SHADOW_SECONDS },
      description: `It ends after this time. Default: ${SHADOW_SECONDS}.`,
    }),
  ),
  frames: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: "It ends after this number of compared frames." }),
  ),
});
export type ShadowBody = Static<typeof ShadowBody>;

const Count = Type.Integer({ minimum: 0 });
const Share = orNull(Type.Number({ minimum: 0, maximum: 1 }), {
  description: "Null: there is nothing to compare yet.",
});
const both = { live: Count, shadow: Count };

export const ShadowComparison = Type.Object(
  {
    frames: Type.Object(
      { ...both, compared: Count },
      {
        description:
          "Frames on which inference ran, since the shadow's first one; `compared`: those of both with the same capture time, on which all that follows is based.",
      },
    ),
    speed: orNull(Type.Number({ minimum: 0 }), {
      description: "Frames of the shadow for each frame of the process: below 1, the shadow does not keep up.",
    }),
    recall: Type.Unsafe<number | null>({
      ...Share,
      description:
        "Share of the process's boxes that the shadow has: an overlap (IoU) of at least 0.5, the same class.",
    }),
    precision: Type.Unsafe<number | null>({
      ...Share,
      description: "Share of the shadow's boxes that the process has.",
    }),
    agreement: Type.Unsafe<number | null>({ ...Share, description: "F1 of both." }),
    classes: Type.Array(
      Type.Object({
        name: Type.String(),
        boxes: Type.Object({ ...both, matched: Count }),
        tracks: Type.Object(
          { ...both, matched: Count },
          { description: "`matched`: together in at least half of the frames of the process's track." },
        ),
      }),
    ),
    is_complete: Type.Boolean({ description: "False: there were too many classes or tracks to count them all." }),
  },
  { title: "ShadowComparison" },
);
export type ShadowComparison = Static<typeof ShadowComparison>;

export const ShadowRecord = Type.Object(
  {
    uuid: Uuid,
    process_uuid: Uuid,
    state: Type.Enum(["starting", "running", "finished", "failed"]),
    error: orNull(Type.String(), { description: "Why it failed." }),
    graph: GraphName,
    version: orNull(VersionNumber, { description: "Of a stored graph." }),
    params: jsonObject("All params of the graph, with defaults."),
    created_at: Timestamp,
    finished_at: orNull(Timestamp),
    comparison: ShadowComparison,
  },
  { title: "Shadow" },
);
export type ShadowRecord = Static<typeof ShadowRecord>;
