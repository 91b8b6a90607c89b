/** What happened on one source in a time range: for a time line. */
import { type Static, Type } from "typebox";
import { AlertEventName } from "../alerts.ts";
import { sourceTime } from "./clips.ts";
import { PROCESS_STATES } from "./processes.ts";
import { orNull, Timestamp, Uuid } from "./records.ts";

export const TimelineQuery = Type.Object({
  from: Type.Optional(
    sourceTime("Start of the range. Default: a day before its end; for a file source, the start of the video."),
  ),
  to: Type.Optional(
    sourceTime(
      "End of the range, at most a week after its start. Default: now; for a file source, the end of the video.",
    ),
  ),
});

/** Times of a file source are seconds: it has no time of day, and each process has analysed it at another one. */
const Moment = Type.Union([Timestamp, Type.Number()], {
  description: "Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video.",
});

const range = { from: Moment, to: Moment };

export const TRUNCATED_PARTS = ["recorded", "processes", "activity", "tracks", "notices"] as const;

export const Timeline = Type.Object(
  {
    source_uuid: Uuid,
    ...range,
    recorded: Type.Array(Type.Object(range), {
      description: "Times with video, of which clips can be cut. Files that follow one another are one range.",
    }),
    processes: Type.Array(
      Type.Object({
        process_uuid: Uuid,
        from: Moment,
        to: orNull(Moment, { description: "Null: it has not ended." }),
        state: Type.Enum([...PROCESS_STATES]),
      }),
      { description: "Processes that analysed the source in this range, newest first." },
    ),
    resolution_seconds: Type.Number({ description: "Shorter pauses in `activity` are left out." }),
    activity: Type.Array(Type.Object({ class_name: Type.String(), ...range, tracks: Type.Integer({ minimum: 1 }) }), {
      description:
        "When objects of a class were tracked, and how many: the tracks of a class whose pauses are shorter than `resolution_seconds` are one entry; a long one is divided, so that it shows when it was busy. By class, in order of time.",
    }),
    tracks: Type.Array(
      Type.Object({ process_uuid: Uuid, track_id: Type.Integer(), class_name: Type.String(), ...range }),
      {
        description:
          "The tracks themselves, in order of time. Empty if there are more than 1000: ask for a shorter range.",
      },
    ),
    notices: Type.Array(
      Type.Object({
        uuid: Uuid,
        alert_uuid: Uuid,
        alias: Type.String({ description: "Of the alert." }),
        process_uuid: Uuid,
        at: Moment,
        event: AlertEventName,
        classes: Type.Array(Type.String()),
        reviewed: Type.Boolean(),
      }),
      { description: "What alerts have notified of, in order of time: the newest 2000." },
    ),
    truncated: Type.Array(Type.Enum([...TRUNCATED_PARTS]), {
      description: "Parts that are not complete, as they have too many entries: ask for a shorter range.",
    }),
  },
  { title: "Timeline" },
);
export type Timeline = Static<typeof Timeline>;
