/** How a source is recorded. */
import { type Static, Type } from "typebox";
import { orNull, Timestamp, Uuid } from "./records.ts";

export const RECORDING_MODES = ["always", "on_alert", "off"] as const;
export type RecordingMode = (typeof RECORDING_MODES)[number];

export const Mode = Type.Enum([...RECORDING_MODES], {
  description:
    "`always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all.",
});

const PreRoll = Type.Integer({
  minimum: 0,
  maximum: 60,
  description:
    "Seconds of video before the start of a recording that it contains. They are kept while the source is not recorded.",
});

export const RecordingChange = Type.Object(
  { mode: Type.Optional(Mode), pre_roll_seconds: Type.Optional(PreRoll) },
  { title: "RecordingChange", additionalProperties: false, minProperties: 1 },
);
export type RecordingChange = Static<typeof RecordingChange>;

export const RecordingSetting = Type.Object(
  {
    source_uuid: Uuid,
    mode: Mode,
    pre_roll_seconds: PreRoll,
    recording_uuid: orNull(Uuid, { description: "The recording in progress." }),
    wanted_until: orNull(Timestamp, {
      description: "Of `on_alert`: when the recording ends, without further notices.",
    }),
    detail: Type.Optional(
      Type.String({ description: "Why the video of a camera that a process pulls cannot be recorded." }),
    ),
  },
  { title: "RecordingSetting" },
);
export type RecordingSetting = Static<typeof RecordingSetting>;

export const ProcessRecordingChange = Type.Object(
  { mode: Mode },
  { title: "ProcessRecordingChange", additionalProperties: false },
);

export const ProcessRecordingSetting = Type.Object(
  { process_uuid: Uuid, mode: Mode, wanted_until: RecordingSetting.properties.wanted_until },
  { title: "ProcessRecordingSetting" },
);
export type ProcessRecordingSetting = Static<typeof ProcessRecordingSetting>;
