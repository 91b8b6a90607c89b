/** The `data` of each event type of `GET /process/{process_uuid}/events`. */
import { type Static, Type } from "typebox";
import { AlertEventName } from "../alerts.ts";
import { CameraMessage } from "../camera-message.ts";
import { DetectionMessage, TrackEntry } from "../detection-message.ts";
import { EvidenceFields } from "./evidence.ts";
import { FramesLost, PROCESS_STATES, ProcessCrash, TelemetryInfo } from "./processes.ts";
import { jsonObject, orNull, Timestamp, Uuid } from "./records.ts";

/** Part of the next event of any type. */
const dropped = Type.Optional(
  Type.Integer({
    minimum: 1,
    description: "Number of events lost before this one because the client reads too slowly.",
  }),
);

/** One frame on which inference ran. */
export const DetectionsEvent = DetectionMessage;

/** Where the camera is and what it sees: once per second of video, for a source with telemetry. */
export const CameraEvent = Type.Object({ ...CameraMessage.properties, dropped }, { title: "CameraEvent" });

/** Sent first, last, and on every change. */
export const StateEvent = Type.Object(
  {
    process_uuid: Uuid,
    timestamp: Timestamp,
    state: Type.Enum([...PROCESS_STATES]),
    reconnecting: Type.Boolean({ description: "The source is lost and Windhover reconnects." }),
    error: orNull(Type.Object({ code: Type.String(), detail: Type.String() })),
    restarting: Type.Boolean({ description: "Its runner crashed and is being restarted." }),
    last_error: orNull(ProcessCrash, {
      description: "The reason of the last crash of its runner, also after recovery.",
    }),
    dropped,
  },
  { title: "StateEvent" },
);
export type StateEvent = Static<typeof StateEvent>;

/** Once per second while it runs. */
export const StatsEvent = Type.Object(
  {
    process_uuid: Uuid,
    timestamp: Timestamp,
    stats: Type.Object({
      fps_in: Type.Number(),
      fps_processed: Type.Number(),
      fps_out: Type.Number(),
      frames_dropped: Type.Integer(),
      latency_ms: Type.Object({ p50: Type.Number(), p95: Type.Number() }),
      inference_ms: Type.Number(),
      restarts: Type.Integer(),
      frames_lost: FramesLost,
    }),
    dropped,
  },
  { title: "StatsEvent" },
);
export type StatsEvent = Static<typeof StatsEvent>;

/** Sent first and on changes other than of counters, at most once per second. Never sent for a source without telemetry. */
export const TelemetryEvent = Type.Object(
  { process_uuid: Uuid, timestamp: Timestamp, telemetry: TelemetryInfo, dropped },
  { title: "TelemetryEvent" },
);
export type TelemetryEvent = Static<typeof TelemetryEvent>;

/** A notification of an alert, as sent to its outputs. */
export const AlertNotice = Type.Object(
  {
    id: Type.String({ description: "Identical in every copy of this notification: use it to detect duplicates." }),
    alert_uuid: Type.Unsafe<string>({
      ...Uuid,
      description: "The alert. For a rule in the graph itself, a UUID that is the same for all its notifications.",
    }),
    alias: Type.String({ description: "Of a rule in the graph itself: its name, `alert`." }),
    type: Type.String(),
    process_uuid: Uuid,
    source_uuid: Uuid,
    timestamp: Timestamp,
    event: Type.Union([...AlertEventName.anyOf, Type.Literal("evidence-ready")], {
      description: "`evidence-ready`: a second notification with the same `id`, when the evidence is complete.",
    }),
    tracks: Type.Array(TrackEntry),
    data: jsonObject(),
    ...EvidenceFields,
  },
  { title: "AlertNotice" },
);
export type AlertNotice = Static<typeof AlertNotice>;

export const AlertEvent = Type.Object({ ...AlertNotice.properties, dropped }, { title: "AlertEvent" });
export type AlertEvent = Static<typeof AlertEvent>;
