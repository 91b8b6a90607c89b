/** What `GET /process/{process_uuid}/events` sends: the `data` of each kind of event. */
import { type Static, Type } from "typebox";
import { AlertEventName } from "../alerts.ts";
import { DetectionMessage, TrackEntry } from "../detection-message.ts";
import { FramesLost, ProcessCrash, TelemetryInfo } from "./processes.ts";
import { Timestamp, Uuid } from "./records.ts";

/** In whatever event comes next. */
const dropped = Type.Optional(
  Type.Integer({ minimum: 1, description: "So many events before this one were lost: the viewer is too slow." }),
);

/** One frame on which inference ran. */
export const DetectionsEvent = DetectionMessage;

/** The first event, the last one, and whenever it changes. */
export const StateEvent = Type.Object(
  {
    process_uuid: Uuid,
    timestamp: Timestamp,
    state: Type.Enum(["starting", "running", "paused", "stopping", "finished", "failed"]),
    reconnecting: Type.Boolean({ description: "The source is lost and tried again." }),
    error: Type.Union([Type.Object({ code: Type.String(), detail: Type.String() }), Type.Null()]),
    restarting: Type.Boolean({ description: "Its runner has crashed and is being restarted." }),
    last_error: Type.Union([ProcessCrash, Type.Null()], {
      description: "Why its runner crashed last, also after it has recovered.",
    }),
    dropped,
  },
  { title: "StateEvent" },
);
export type StateEvent = Static<typeof StateEvent>;

/** Once a second while it runs. */
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

/** First, and whenever it changes otherwise than in its numbers; at most once a second. Not of a source without telemetry. */
export const TelemetryEvent = Type.Object(
  { process_uuid: Uuid, timestamp: Timestamp, telemetry: TelemetryInfo, dropped },
  { title: "TelemetryEvent" },
);
export type TelemetryEvent = Static<typeof TelemetryEvent>;

/** A notice of an alert, as its outputs get it. */
export const AlertNotice = Type.Object(
  {
    id: Type.String({ description: "The same in every copy of this notice: what came twice is known by it." }),
    alert_uuid: Uuid,
    alias: Type.String(),
    type: Type.String(),
    process_uuid: Uuid,
    source_uuid: Uuid,
    timestamp: Timestamp,
    event: AlertEventName,
    tracks: Type.Array(TrackEntry),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: "AlertNotice" },
);
export type AlertNotice = Static<typeof AlertNotice>;

export const AlertEvent = Type.Object({ ...AlertNotice.properties, dropped }, { title: "AlertEvent" });
export type AlertEvent = Static<typeof AlertEvent>;
