/**
 * Every operation and every type of the API. Generated from the OpenAPI document by `npm run generate`; a test compares
 * it with the service. Do not edit.
 */
import type { Answer, Call, Transport } from "./transport.ts";

export const API_VERSION = "2.15.2";

export type Account = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  readonly username: string;
  /** Its master; null for a master. */
  readonly master: string | null;
  readonly product: string;
  readonly limits: {
    /** Active processes. */
    readonly processes: number;
    /** Registered sources. */
    readonly sources: number;
    /** Registered outputs. */
    readonly outputs_registered: number;
    /** Attached outputs. */
    readonly outputs_active: number;
    /** Alerts, including one-off alerts of processes. */
    readonly alerts: number;
    /** Webhook subscriptions of all processes. */
    readonly subscriptions: number;
    /** Size of an uploaded video. */
    readonly video_bytes: number;
    /** Size of all uploaded videos. */
    readonly storage_bytes: number;
    /** Requests per minute. */
    readonly requests_per_minute: number;
    /** Clients of each of the websockets `detection_data` and `drone_data` of a process, up to 64. */
    readonly socket_clients: number;
  };
  /** Processes keep track reports. */
  readonly track_logger: boolean;
  /** Processes are recorded. */
  readonly recording: boolean;
  /** Track reports can be enhanced. */
  readonly enhancement: boolean;
  /** May run and store its own graphs, and upload models. */
  readonly graph_author: boolean;
  /** May see numbers of all accounts. */
  readonly operator: boolean;
  /** From this time on, no key of the account is valid. */
  readonly expires_at: string | null;
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
};

export type AccountEvent = {
  /** Number of the event in the log of the account: 1, 2, 3 and so on, in the order of the log. */
  readonly id: number;
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** `stream-began`: The first keyframe of a published stream has arrived: the stream can be played. `stream-ended`: The publisher has left, or was disconnected (`reason`). `stream-rejected`: A publisher was rejected (`reason`). Repeated attempts are reported now and then, not each. `process-started`: The first frame was decoded. Of a process that waits for its source: each time that it continues. `process-waiting`: The process waits for its source. `process-reconnecting`: The live source was lost and is being reconnected. `process-reconnected`: Frames of the live source arrive again. `process-restarted`: The runner crashed and is restarted, or the process runs again after the end of its server. `process-failed`: The process has ended with an error. `process-finished`: The process has ended: its file is over, it was stopped, or a limit was reached (`error`). `recording-closed`: The recording of a source is complete. `evidence-ready`: Clip and snapshot of a notice can be downloaded, or as much of them as there is (`evidence`). `evidence-failed`: Neither clip nor snapshot of a notice could be made. `clip-ready`: A clip of `POST /clips` can be downloaded. `clip-failed`: A clip of `POST /clips` could not be rendered (`error`). `enhancement-finished`: The report of the process is enhanced. `enhancement-failed`: The report of the process could not be enhanced (`error`). `quota-near`: 90 % of a quota are used. */
  readonly type:
    | "stream-began"
    | "stream-ended"
    | "stream-rejected"
    | "process-started"
    | "process-waiting"
    | "process-reconnecting"
    | "process-reconnected"
    | "process-restarted"
    | "process-failed"
    | "process-finished"
    | "recording-closed"
    | "evidence-ready"
    | "evidence-failed"
    | "clip-ready"
    | "clip-failed"
    | "enhancement-finished"
    | "enhancement-failed"
    | "quota-near";
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly source_uuid: string | null;
  readonly process_uuid: string | null;
  /** Depends on the type; further fields may be added. */
  readonly data: {
    /** Of a stream: where it is published. */
    readonly path?: string;
    readonly protocol?: "rtsp" | "rtmp" | "srt" | "webrtc";
    readonly codec?: string;
    readonly width?: number;
    readonly height?: number;
    /** Why it ended, was rejected or was restarted. */
    readonly reason?: string;
    /** Of a stream or recording that has ended. */
    readonly duration_seconds?: number;
    /** Of a process. */
    readonly graph?: string;
    readonly error?: {
      readonly code: string;
      readonly detail: string;
    };
    /** Restarts of the process so far. */
    readonly restarts?: number;
    /** Lower case; upper case is accepted. */
    readonly recording_uuid?: string;
    /** Lower case; upper case is accepted. */
    readonly notice_uuid?: string;
    /** Lower case; upper case is accepted. */
    readonly clip_uuid?: string;
    readonly evidence?: "ready" | "partial";
    readonly quota?: "minutes" | "storage";
    /** Of the quota: minutes, or bytes. */
    readonly used?: number;
    readonly limit?: number;
  };
};

export type Alert = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly alert_uuid: string;
  readonly alias: string;
  readonly type: string;
  readonly status: "active" | "inactive";
  /** When it is evaluated. Null: always. */
  readonly schedule: Schedule | null;
  readonly trigger: Readonly<Record<string, unknown>>;
  readonly region: Readonly<Record<string, unknown>>;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly output: readonly {
    readonly type: "mqtt" | "webhook" | "email";
    /** Secrets are shown as `***`. */
    readonly config: Readonly<Record<string, unknown>>;
  }[];
  /** Null: none. */
  readonly evidence: Evidence | null;
  /** The changed configuration, while a running process still uses the current one. It takes effect at the next start of a process, or at once with `force`. */
  readonly pending: {
    readonly trigger: Readonly<Record<string, unknown>>;
    readonly region: Readonly<Record<string, unknown>>;
    readonly filter: Readonly<Record<string, unknown>>;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly output: readonly {
      readonly type: "mqtt" | "webhook" | "email";
      /** Secrets are shown as `***`. */
      readonly config: Readonly<Record<string, unknown>>;
    }[];
    /** Null: none. */
    readonly evidence: Evidence | null;
  } | null;
  /** The process of a one-off alert, and in the listing of active alerts. Null: all processes. */
  readonly process_uuid: string | null;
  /** Extension: delivery status per output, in the order of `output`. */
  readonly delivery: readonly AlertDelivery[];
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
};

export type AlertChange = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias?: string;
  /** Cannot be changed; may be sent unchanged. */
  readonly type?: string;
  readonly status?: "active" | "inactive";
  /** Destinations, up to 16. Each receives every notification in order, at least once. Without one, `GET /notices` lists the notifications. */
  readonly output?: readonly AlertOutput[];
  readonly schedule?: Schedule | null;
  /** Null: none. */
  readonly evidence?: Evidence | null;
  /** An object; `GET /alert_description` returns its schema. */
  readonly trigger?: unknown;
  /** An object; `GET /alert_description` returns its schema. */
  readonly region?: unknown;
  /** An object; `GET /alert_description` returns its schema. */
  readonly filter?: unknown;
  /** An object; `GET /alert_description` returns its schema. */
  readonly parameters?: unknown;
  /** Apply the changed configuration to all running processes at once, without restarting them. */
  readonly force?: boolean;
};

export type AlertDelivery = {
  readonly type: "mqtt" | "webhook" | "email";
  readonly waiting: number;
  readonly delivered: number;
  /** Notifications discarded because the queue was full or delivery failed for too long. */
  readonly dropped: number;
  readonly last_attempt_at: string | null;
  readonly last_delivered_at: string | null;
  /** Error of the last attempt; null if it succeeded. */
  readonly last_error: string | null;
};

export type AlertDescription = {
  readonly name: string;
  /** Same as `name`: the value for `type` of an alert. */
  readonly type: string;
  readonly description: string;
  readonly schemas: {
    /** JSON Schema. */
    readonly trigger: Readonly<Record<string, unknown>>;
    /** JSON Schema. */
    readonly region: Readonly<Record<string, unknown>>;
    /** JSON Schema. */
    readonly filter: Readonly<Record<string, unknown>>;
    /** JSON Schema. */
    readonly parameters: Readonly<Record<string, unknown>>;
  };
  /** A complete body for `POST /alert`. */
  readonly example: Readonly<Record<string, unknown>>;
};

export type AlertEvent = {
  /** Identical in every copy of this notification: use it to detect duplicates. */
  readonly id: string;
  /** The alert. For a rule in the graph itself, a UUID that is the same for all its notifications. */
  readonly alert_uuid: string;
  /** Of a rule in the graph itself: its name, `alert`. */
  readonly alias: string;
  readonly type: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  /** `evidence-ready`: a second notification with the same `id`, when the evidence is complete. */
  readonly event: "triggered" | "updated" | "cleared" | "evidence-ready";
  readonly tracks: readonly TrackEntry[];
  readonly data: Readonly<Record<string, unknown>>;
  readonly evidence?: EvidenceInfo;
  /** Works without a key, for a limited time. Until the clip is complete it answers 409 with `Retry-After`. */
  readonly clip_url?: string;
  /** JPEG. Works without a key, for a limited time. */
  readonly snapshot_url?: string;
  /** Number of events lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

export type AlertOutput = {
  readonly type: "mqtt" | "webhook" | "email";
  /** Configuration for the type: see `MqttAlertOutput`, `WebhookAlertOutput` and `EmailAlertOutput`. */
  readonly config: MqttAlertOutput | WebhookAlertOutput | EmailAlertOutput;
};

export type AlertPreview = {
  /** In the order of `output`. */
  readonly previews: readonly {
    readonly type: "mqtt" | "webhook" | "email";
    /** Of the body. */
    readonly content_type: string;
    /** Of a mail; null for other types. */
    readonly subject: string | null;
    /** The MQTT payload, the body of the request, or the text of the mail. */
    readonly body: string;
  }[];
};

/** Fields of an alert. With `evidence`, the sample has `clip_url` and `snapshot_url` as far as it asks for them. */
export type AlertPreviewRequest = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias?: string;
  /** Alert type of the sample. */
  readonly type?: string;
  /** Destinations, up to 16. Each receives every notification in order, at least once. Without one, `GET /notices` lists the notifications. */
  readonly output: readonly AlertOutput[];
  /** Null: none. */
  readonly evidence?: Evidence | null;
};

export type Allocated = {
  readonly username: string;
  readonly minutes: number;
  readonly subscription: Subscription;
  /** Minutes that the master key can still allocate. */
  readonly pending_to_allocate: number;
};

export type Allocation = {
  /** User name of the master key or of one of its child keys. */
  readonly username: string;
  readonly minutes: number;
};

export type Branch = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly branch_uuid: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  readonly slot: string;
  /** As sent. Credentials are shown as `***`. */
  readonly params: Readonly<Record<string, unknown>>;
  /** UTC, ISO 8601 with milliseconds. */
  readonly attached_at: string;
  /** A branch that fails is detached, and the process continues without it. It is attached again when the process restarts. */
  readonly status: "idle" | "starting" | "live" | "retrying" | "failed";
  /** Why it is not live or receives no data, if known; or why an output with `audio` has no sound. */
  readonly status_detail: string | null;
  /** For `cot` and `mqtt`: messages. */
  readonly frames_sent: number;
  /** Frames that arrived faster than they could be encoded or sent. */
  readonly frames_dropped: number;
};

export type Calibration = {
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** Degrees that are added to the reported heading, clockwise. */
  readonly heading_offset_deg: number;
  /** Its error in degrees, one standard deviation. */
  readonly heading_error_deg: number;
  /** Number of landmarks that it was found with. */
  readonly landmarks: number;
  /** UTC, ISO 8601 with milliseconds. */
  readonly calibrated_at: string;
};

export type CameraEvent = {
  /** Capture time of the frame. */
  readonly timestamp: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Metres above mean sea level. */
  readonly altitude: number;
  /** Viewing direction in degrees from true north, clockwise, calibrated. Absent if it is unknown. */
  readonly heading?: number;
  /** The visible ground: points of [latitude, longitude] around it, on the terrain where that is known. It ends some kilometres from the camera if the frame has the horizon. Absent without the pose of the camera, or if the frame has no ground. */
  readonly footprint?: readonly (readonly [number, number])[];
  readonly process_uuid: string;
  /** Number of events lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

export type CameraMessage = {
  /** Capture time of the frame. */
  readonly timestamp: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Metres above mean sea level. */
  readonly altitude: number;
  /** Viewing direction in degrees from true north, clockwise, calibrated. Absent if it is unknown. */
  readonly heading?: number;
  /** The visible ground: points of [latitude, longitude] around it, on the terrain where that is known. It ends some kilometres from the camera if the frame has the horizon. Absent without the pose of the camera, or if the frame has no ground. */
  readonly footprint?: readonly (readonly [number, number])[];
  readonly process_uuid: string;
};

export type ChildSubscription = {
  readonly username: string;
  /** Remaining minutes. 1000000000 if the key has no limit. */
  readonly remaining_minutes: number;
  /** Minutes that processes have run. */
  readonly consumed_minutes: number;
  /** Purchased minutes that are not allocated yet. */
  readonly pending_to_allocate: number;
  /** Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire. */
  readonly expiration_date: string;
};

export type Clip = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** The process whose detections are drawn; null without boxes. */
  readonly process_uuid: string | null;
  /** As in the request: seconds, or a time. */
  readonly from: number | string;
  /** As in the request: seconds, or a time. */
  readonly to: number | string;
  readonly boxes: boolean;
  readonly state: "queued" | "rendering" | "ready" | "failed";
  readonly progress: number;
  /** Why it failed. */
  readonly error: string | null;
  readonly size_bytes: number | null;
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** Of a clip that is ready: signed, valid for a limited time. */
  readonly download_url: string | null;
};

export type CreatedKey = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly key_uuid: string;
  /** The account. */
  readonly username: string;
  readonly name: string;
  /** First characters of the key. */
  readonly prefix: string;
  /** `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts. */
  readonly scopes: readonly ("read" | "publish" | "operate" | "admin")[];
  /** The key sees and uses only these sources, and what belongs to them. Null: all sources of the account. */
  readonly source_uuids: readonly string[] | null;
  /** Who signed in to the console: then this is the session. Null: a key. */
  readonly person: string | null;
  readonly state: "valid" | "expired" | "revoked";
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** To about a minute. Null: not used yet. */
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
  /** The key. It is not stored, and cannot be read again. */
  readonly key: string;
};

export type CreatedSubscription = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly subscription_uuid: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** Credentials are shown as `***`. */
  readonly notification_url: string;
  /** `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0. */
  readonly event_type: "new-tracks" | "target-count";
  /** Credentials are shown as `***`. */
  readonly auth_url: string | null;
  readonly notifier_policy_type: "backoff";
  readonly notifier_policy_args: {
    /** Minimum time between two notifications. */
    readonly backoff_seconds?: number;
  };
  /** `full` adds the track entries of the detection message. */
  readonly notification_format?: "simple" | "full";
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** Signing secret of the notifications (Standard Webhooks). It is not shown again. */
  readonly secret: string;
};

export type DeletedReport = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  readonly deleted: true;
};

export type DemoState = {
  /** `fetching`: its clip is downloaded, on first use. `converting`: its clip is converted, on first use. `starting`: its source is registered and its process starts. `running`: the demo can be watched. */
  readonly state: "off" | "fetching" | "converting" | "starting" | "running";
  readonly source_uuid: string | null;
  readonly process_uuid: string | null;
  readonly detail: string | null;
};

export type DetectionMessage = {
  /** Capture time of the frame: UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  /** URI of the input, without credentials. */
  readonly source_uri: string;
  readonly process_uuid: string;
  readonly active_tracks: readonly TrackEntry[];
  /** Extension: time between the frame and the nearest telemetry. Absent without telemetry. */
  readonly telemetry_age_ms?: number;
  /** Extension: values that the graph computes for the frame, by name. */
  readonly values?: Readonly<Record<string, boolean | number | string | null>>;
  /** Extension: objects that the graph counts, by the name of the count. */
  readonly counts?: Readonly<
    Record<
      string,
      {
        readonly total: number;
        readonly classes: Readonly<Record<string, number>>;
      }
    >
  >;
  /** On a websocket: number of messages lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

export type DrainNode = {
  /** Time to hand its processes over; what is left then stops and waits for room. Default: 60. */
  readonly seconds?: number;
};

export type DroneDataMessage = {
  /** Unix time in seconds; a value above 1e11 is read as milliseconds. */
  readonly timestamp: number;
  /** Degrees, WGS-84. */
  readonly latitude?: number;
  /** Degrees, WGS-84. */
  readonly longitude?: number;
  /** Metres per second. */
  readonly speed?: number;
  /** Degrees, horizontal field of view. */
  readonly sensor_hfov?: number;
  /** Degrees, vertical field of view. */
  readonly sensor_vfov?: number;
  /** Degrees from the horizon, negative is down. */
  readonly camera_pitch?: number;
  /** Degrees from true north, clockwise. */
  readonly camera_yaw?: number;
  /** Degrees, clockwise along the viewing direction. */
  readonly camera_roll?: number;
  /** Metres above mean sea level. */
  readonly altitude?: number;
  /** Metres above the ground. */
  readonly rel_altitude?: number;
  /** Degrees. */
  readonly drone_pitch?: number;
  /** Degrees. */
  readonly drone_yaw?: number;
  /** Degrees. */
  readonly drone_roll?: number;
  /** Number of messages lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

export type Element = {
  readonly name: string;
  readonly plugin: string;
  readonly about: string;
  readonly kind: "transform" | "sink" | "composite" | "native";
  /** Allowed in graphs of clients: `POST /graphs/try`, `PUT /graphs/{name}`. */
  readonly can_try: boolean;
  /** Accepted caps, for Windhover's own elements. */
  readonly caps: string | null;
  /** Frame metadata that it reads. */
  readonly reads: readonly unknown[];
  /** Frame metadata that it writes. */
  readonly writes: readonly string[];
  readonly example: string | null;
  /** Class of a GStreamer element. */
  readonly class: string | null;
  readonly rank: number | null;
  readonly pads: readonly {
    readonly name: string;
    readonly direction: "sink" | "src";
    readonly presence: "always" | "sometimes" | "request";
    readonly caps: string;
  }[];
  readonly properties: readonly {
    readonly name: string;
    /** Human-readable type. */
    readonly type: string;
    readonly default?: unknown;
    readonly required: boolean;
    /** Mutable while PLAYING. */
    readonly live: boolean;
    readonly read_only: boolean;
    readonly deprecated: boolean;
    readonly about: string;
    readonly choices: readonly {
      readonly name: string;
      readonly about: string;
    }[];
    /** The texts that it accepts; absent: any. */
    readonly values?: readonly string[];
    /** Its texts are expressions. */
    readonly is_expression?: boolean;
  }[];
  /** Of its expressions; elements upstream provide them. */
  readonly variables?: readonly {
    readonly name: string;
    readonly type: string;
    readonly about: string;
  }[];
};

export type ElementSummary = {
  readonly name: string;
  /** `windhover` for Windhover's own elements. */
  readonly plugin: string;
  readonly about: string;
};

/** Sent by the mail server of this service (`smtp.url`). Notifications that follow within `smtp.interval_seconds` are combined into one mail. */
export type EmailAlertOutput = {
  /** Recipients, up to 10. */
  readonly to: readonly string[];
  /** Subject of the mail. `{{ name }}` stands for a value of the notification, and `{{ name | default: "text" }}` for the text where it has none: `alert.alias`, `event`, `timestamp`, `tracks.length`, `tracks.0.class_name`, `tracks.0.values.NAME`, `data.count`, `snapshot_url` and all its other fields. */
  readonly subject?: string;
  /** Text of the mail. `{{ name }}` stands for a value of the notification, and `{{ name | default: "text" }}` for the text where it has none: `alert.alias`, `event`, `timestamp`, `tracks.length`, `tracks.0.class_name`, `tracks.0.values.NAME`, `data.count`, `snapshot_url` and all its other fields. */
  readonly text?: string;
};

/** Attributes from the best image of a track; null if the image does not show them. */
export type EnhancedData = {
  readonly vehicle_type: string | null;
  readonly colour: {
    /** Common name: `silver`, `red`. */
    readonly name: string;
    /** Colour in the image, sRGB. */
    readonly rgb: readonly [number, number, number];
    /** Share of the analysed area with this colour, from 0 to 1. */
    readonly share: number;
  } | null;
  readonly plate: {
    /** Letters and digits only. */
    readonly text: string;
    /** Percent. */
    readonly confidence: number;
  } | null;
  /** Attributes of the kind of object: `upper_colour` and `lower_colour` for people; `against_sky`, `apparent_shape`, `contrast` and, if legible, `registration` for flying objects. */
  readonly attributes: Readonly<Record<string, unknown>>;
};

export type EnhancementStarted = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
};

export type EnhancementState = {
  readonly status: "RUNNING" | "FINISHED" | "FAILED";
  /** Share of the tracks that are done. */
  readonly progress: number;
  /** `120 of 400 tracks`; for FAILED, the reason. */
  readonly detail: string;
};

export type EventGap = {
  /** The first missing event. */
  readonly from: number;
  /** The last missing event. */
  readonly to: number;
};

export type EventNotification = {
  /** Number of the event in the log of the account: 1, 2, 3 and so on, in the order of the log. */
  readonly id: number;
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** `stream-began`: The first keyframe of a published stream has arrived: the stream can be played. `stream-ended`: The publisher has left, or was disconnected (`reason`). `stream-rejected`: A publisher was rejected (`reason`). Repeated attempts are reported now and then, not each. `process-started`: The first frame was decoded. Of a process that waits for its source: each time that it continues. `process-waiting`: The process waits for its source. `process-reconnecting`: The live source was lost and is being reconnected. `process-reconnected`: Frames of the live source arrive again. `process-restarted`: The runner crashed and is restarted, or the process runs again after the end of its server. `process-failed`: The process has ended with an error. `process-finished`: The process has ended: its file is over, it was stopped, or a limit was reached (`error`). `recording-closed`: The recording of a source is complete. `evidence-ready`: Clip and snapshot of a notice can be downloaded, or as much of them as there is (`evidence`). `evidence-failed`: Neither clip nor snapshot of a notice could be made. `clip-ready`: A clip of `POST /clips` can be downloaded. `clip-failed`: A clip of `POST /clips` could not be rendered (`error`). `enhancement-finished`: The report of the process is enhanced. `enhancement-failed`: The report of the process could not be enhanced (`error`). `quota-near`: 90 % of a quota are used. */
  readonly type:
    | "stream-began"
    | "stream-ended"
    | "stream-rejected"
    | "process-started"
    | "process-waiting"
    | "process-reconnecting"
    | "process-reconnected"
    | "process-restarted"
    | "process-failed"
    | "process-finished"
    | "recording-closed"
    | "evidence-ready"
    | "evidence-failed"
    | "clip-ready"
    | "clip-failed"
    | "enhancement-finished"
    | "enhancement-failed"
    | "quota-near";
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly source_uuid: string | null;
  readonly process_uuid: string | null;
  /** Depends on the type; further fields may be added. */
  readonly data: {
    /** Of a stream: where it is published. */
    readonly path?: string;
    readonly protocol?: "rtsp" | "rtmp" | "srt" | "webrtc";
    readonly codec?: string;
    readonly width?: number;
    readonly height?: number;
    /** Why it ended, was rejected or was restarted. */
    readonly reason?: string;
    /** Of a stream or recording that has ended. */
    readonly duration_seconds?: number;
    /** Of a process. */
    readonly graph?: string;
    readonly error?: {
      readonly code: string;
      readonly detail: string;
    };
    /** Restarts of the process so far. */
    readonly restarts?: number;
    /** Lower case; upper case is accepted. */
    readonly recording_uuid?: string;
    /** Lower case; upper case is accepted. */
    readonly notice_uuid?: string;
    /** Lower case; upper case is accepted. */
    readonly clip_uuid?: string;
    readonly evidence?: "ready" | "partial";
    readonly quota?: "minutes" | "storage";
    /** Of the quota: minutes, or bytes. */
    readonly used?: number;
    readonly limit?: number;
  };
  /** A test of the destination, not an event. */
  readonly sample?: true;
};

export type EventOutput = {
  readonly type: "webhook" | "mqtt";
  /** Configuration for the type: see `WebhookEventOutput` and `MqttAlertOutput`. */
  readonly config: MqttAlertOutput | WebhookEventOutput;
};

export type EventSubscription = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly subscription_uuid: string;
  /** Credentials are shown as `***`; the secret of a webhook is shown once, when it is subscribed. */
  readonly output: readonly EventOutput[];
  /** Types of events to send; empty: all, also those of later versions. */
  readonly types: readonly (
    | "stream-began"
    | "stream-ended"
    | "stream-rejected"
    | "process-started"
    | "process-waiting"
    | "process-reconnecting"
    | "process-reconnected"
    | "process-restarted"
    | "process-failed"
    | "process-finished"
    | "recording-closed"
    | "evidence-ready"
    | "evidence-failed"
    | "clip-ready"
    | "clip-failed"
    | "enhancement-finished"
    | "enhancement-failed"
    | "quota-near"
  )[];
  readonly source_uuid: string | null;
  /** Only events of these sources: those of the key that subscribed. Null: all, or `source_uuid`. */
  readonly source_uuids: readonly string[] | null;
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** In the order of `output`. */
  readonly delivery: readonly {
    readonly type: "webhook" | "mqtt";
    /** Notifications that wait for delivery or are being combined. */
    readonly waiting: number;
    /** Notifications accepted by the receiver. */
    readonly delivered: number;
    /** Notifications discarded because delivery failed for too long or the queue was full. */
    readonly dropped: number;
    readonly last_attempt_at: string | null;
    readonly last_delivered_at: string | null;
    /** Null if the last attempt succeeded. */
    readonly last_error: string | null;
  }[];
};

/** What is kept of each `triggered` or `updated` notice: a clip, cut out of the recording, the last seconds of a stream that is not recorded, or the file; and a snapshot. */
export type Evidence = {
  /** A video clip. */
  readonly clip?: {
    /** Seconds before the frame of the notice. */
    readonly before_seconds?: number;
    /** Seconds after the frame of the notice. */
    readonly after_seconds?: number;
    /** Draw the boxes of the detections. */
    readonly boxes?: boolean;
  };
  /** A JPEG image of the frame. */
  readonly snapshot?: boolean;
};

export type EvidenceInfo = {
  /** `pending`: the clip is not complete yet. `ready`: all that was requested is there. `partial`: `missing` lists what is not. `failed`: nothing is. `skipped`: too much evidence of this key is waiting or kept. */
  readonly state: "pending" | "ready" | "partial" | "failed" | "skipped";
  /** Parts that are missing, and the time ranges without video. */
  readonly missing: readonly {
    readonly part: "clip" | "boxes" | "snapshot";
    readonly reason: string;
    /** UTC, ISO 8601 with milliseconds. */
    readonly from?: string;
    /** UTC, ISO 8601 with milliseconds. */
    readonly to?: string;
  }[];
  /** The frames of the clip; null: there is none yet, or none at all. */
  readonly clip: {
    /** UTC, ISO 8601 with milliseconds. */
    readonly from: string;
    /** UTC, ISO 8601 with milliseconds. */
    readonly to: string;
    readonly size_bytes: number;
  } | null;
};

export type Graph = {
  readonly name: string;
  /** `installed`: a graph of the service; `own`: stored by this key. */
  readonly origin: "installed" | "own";
  /** Of an own graph; null if installed, as the next three. */
  readonly version: number | null;
  readonly digest: string | null;
  readonly author: string | null;
  readonly created_at: string | null;
  readonly about: string;
  /** JSON Schema of `params` of `POST /start`. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Parameters that refer to resources on the server: clients cannot set them. */
  readonly reserved_params: readonly string[];
  /** False if it requires a reserved parameter or is not valid. */
  readonly can_start: boolean;
  /** Features that a process of this graph offers, including slot names. */
  readonly offers: readonly string[];
  /** Slots that can be attached while it runs, with the schema of their parameters. */
  readonly slots: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly yaml: string;
  /** Compiled for a file source; null if the graph is not valid. */
  readonly pipeline: Pipeline | null;
  readonly faults: readonly GraphFault[];
};

export type GraphChange =
  | {
      readonly label: "live";
      readonly node: string;
      readonly property: string;
      /** Absent: its default. */
      readonly from?: unknown;
      /** Absent: its default. */
      readonly to?: unknown;
    }
  | {
      readonly label: "branch";
      readonly action: "attach" | "detach";
      readonly segment: string;
    }
  | {
      readonly label: "relaunch";
      readonly reason: string;
    };

export type GraphFault = {
  readonly line: number;
  readonly column: number;
  /** The graph file that contains it: one that is extended, or has a part; null for the graph's own text. */
  readonly file: string | null;
  /** Of a fault in a part: where a chain or slot uses the part. */
  readonly used_at?: {
    readonly line: number;
    readonly column: number;
    /** The graph file that contains it: one that is extended, or has a part; null for the graph's own text. */
    readonly file: string | null;
  };
  /** Stable error code. */
  readonly code: string;
  /** Description of the fault. */
  readonly message: string;
  /** The expected value. */
  readonly expected?: string;
  /** The closest valid name. */
  readonly suggestion?: string;
};

export type GraphSummary = {
  readonly name: string;
  /** `installed`: a graph of the service; `own`: stored by this key. */
  readonly origin: "installed" | "own";
  /** Of an own graph; null if installed, as the next three. */
  readonly version: number | null;
  readonly digest: string | null;
  readonly author: string | null;
  readonly created_at: string | null;
  readonly about: string;
  /** JSON Schema of `params` of `POST /start`. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Parameters that refer to resources on the server: clients cannot set them. */
  readonly reserved_params: readonly string[];
  /** False if it requires a reserved parameter or is not valid. */
  readonly can_start: boolean;
  /** Features that a process of this graph offers, including slot names. */
  readonly offers: readonly string[];
  /** Slots that can be attached while it runs, with the schema of their parameters. */
  readonly slots: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

export type GraphTestFailure = {
  /** What was found and what was expected, or why the run failed. */
  readonly message: string;
  readonly line: number;
  readonly column: number;
};

export type GraphTestNumber = {
  /** As written in `expect`: `tracks.person`. */
  readonly key: string;
  readonly found: number;
  /** As written: `3..5`. */
  readonly expected: string;
  readonly passed: boolean;
  readonly line: number;
  readonly column: number;
};

export type GraphTestReport = {
  readonly graph: string;
  /** Null for an installed graph. */
  readonly version: number | null;
  /** All of these tests passed. */
  readonly passed: boolean;
  /** In the order of the graph. */
  readonly tests: readonly GraphTestResult[];
};

export type GraphTestResult = {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  /** Every expected number; empty if the run failed. */
  readonly numbers: readonly GraphTestNumber[];
  /** Empty for a test that passed. */
  readonly failures: readonly GraphTestFailure[];
};

export type GraphValidation = {
  readonly valid: boolean;
  readonly faults: readonly GraphFault[];
};

export type GraphVersion = {
  readonly name: string;
  readonly version: number;
  /** SHA-256 of its text. */
  readonly digest: string;
  /** Name of the key that stored it. */
  readonly author: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** Processes start with this version by default. */
  readonly is_current: boolean;
  /** Installed graphs that it extends or uses parts of; null: stored before these were recorded. */
  readonly bases:
    | readonly {
        readonly name: string;
        /** SHA-256 of its text, and of those that it is made of, when the version was stored. */
        readonly digest: string;
        /** The installed graph has changed since, or was uninstalled: the version may compile to something else. Store its text again to accept the change. */
        readonly has_changed: boolean;
      }[]
    | null;
};

export type Key = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly key_uuid: string;
  /** The account. */
  readonly username: string;
  readonly name: string;
  /** First characters of the key. */
  readonly prefix: string;
  /** `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts. */
  readonly scopes: readonly ("read" | "publish" | "operate" | "admin")[];
  /** The key sees and uses only these sources, and what belongs to them. Null: all sources of the account. */
  readonly source_uuids: readonly string[] | null;
  /** Who signed in to the console: then this is the session. Null: a key. */
  readonly person: string | null;
  readonly state: "valid" | "expired" | "revoked";
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** To about a minute. Null: not used yet. */
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
};

export type Landmark = {
  /** Where it is in the picture, as a fraction of its width, from the left. */
  readonly x: number;
  /** Where it is in the picture, as a fraction of its height, from the top. */
  readonly y: number;
  /** Time of the frame, as in detection messages, within the last minute. Default: the last frame. ISO 8601: `2026-05-17T08:30:00Z`, or a day. */
  readonly timestamp?: string;
  /** Degrees, WGS-84. */
  readonly latitude: number;
  /** Degrees, WGS-84. */
  readonly longitude: number;
  /** Metres above mean sea level. Default: on the ground. */
  readonly altitude?: number;
};

export type Login = {
  readonly valid: true;
  readonly username: string;
  readonly product: string;
  /** Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire. */
  readonly expiration_date: string;
  readonly key: UsedKey;
};

export type MapSettings = {
  /** The background (`map.tiles`). Null: none. */
  readonly tiles: {
    /** Template with `{z}`, `{x}` and `{y}`: an address of another host, in which `{s}` is a, b or c, or a path below this service, which needs the key. */
    readonly url: string;
    readonly min_zoom: number;
    /** The largest zoom with tiles: for larger ones, these are enlarged. */
    readonly max_zoom: number;
    /** To be shown on the map; may contain HTML. Empty: none. */
    readonly attribution: string;
  } | null;
  /** Shading of the operator's terrain (`terrain.folder`), to be laid over the background. Null: none. */
  readonly terrain: {
    /** Template, as for `tiles`. */
    readonly url: string;
    readonly min_zoom: number;
    /** The largest zoom with tiles: for larger ones, these are enlarged. */
    readonly max_zoom: number;
  } | null;
};

export type Model = {
  readonly name: string;
  /** `installed`: a model of the service; `own`: uploaded by this key. */
  readonly origin: "installed" | "own";
  /** Names of its classes. */
  readonly labels: readonly string[];
  /** Of an own model; null if installed, as the next four. */
  readonly about: string | null;
  readonly digest: string | null;
  readonly size_bytes: number | null;
  readonly author: string | null;
  readonly created_at: string | null;
};

export type MqttAlertOutput = {
  /** Address of the broker: `host`, `host:port`, `mqtt://host:port` or `mqtts://host:port`. */
  readonly host: string;
  /** Topic for the notifications: 1 to 1024 characters without `+`, `#` and control characters. */
  readonly topic: string;
  readonly qos?: 0 | 1 | 2;
  /** User name of 1 to 255 characters. */
  readonly username?: string;
  /** Responses show `***`. Send `***` to keep the stored password. */
  readonly password?: string;
};

/** `GET /alert_description` returns the configuration schema of each type. */
export type NewAlert = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias: string;
  readonly type: "grid-density" | "flow-control" | "follow-track" | "filter-search" | "convoy" | "graph-rule";
  /** Destinations, up to 16. Each receives every notification in order, at least once. Without one, `GET /notices` lists the notifications. */
  readonly output?: readonly AlertOutput[];
  /** Null: none. */
  readonly evidence?: Evidence | null;
  readonly status?: "active" | "inactive";
  readonly schedule?: Schedule | null;
  /** An object; `GET /alert_description` returns its schema. */
  readonly trigger?:
    | {
        /** Minimum number of tracks in one cell. */
        readonly count?: number;
        /** The cell must hold that many tracks for this time without interruption. */
        readonly for_seconds?: number;
        /** Minimum time between two `triggered`, and before an `updated`. `cleared` is always sent at once. */
        readonly cooldown_seconds?: number;
      }
    | {
        /** Minimum number of tracks that crossed the line within the window. Each track counts once, however often it crosses. */
        readonly count?: number;
        /** `forward`: from the left of the line to its right, facing from its first point to its second. For a line from top to bottom that is from the right of the image to the left. */
        readonly direction?: "forward" | "backward" | "any";
        /** Minimum time between two notifications. With 0, every further crossing notifies while enough tracks have crossed. */
        readonly cooldown_seconds?: number;
      }
    | Readonly<Record<string, never>>
    | {
        /** A track must match the filter inside the region for this time without interruption. */
        readonly for_seconds?: number;
        /** Notify once per track. If false, notify again each time the track leaves, or stops matching, and returns. */
        readonly once_per_track?: boolean;
      }
    | {
        /** Minimum number of vehicles of a new convoy. */
        readonly count?: number;
        /** Time for which vehicles drive together before they are a convoy or join it, and are apart before they have left it. */
        readonly for_seconds?: number;
      };
  /** An object; `GET /alert_description` returns its schema. */
  readonly region?:
    | {
        /** `image`: points are [x, y] in fractions of the frame, from 0 at the left and top to 1. `geo`: points are [longitude, latitude] in degrees, for geolocated tracks; north is up. */
        readonly type?: "image" | "geo";
        /** Corners in order. The polygon must not cross or touch itself; its edge is inside. On the map each edge takes the shorter way around the earth. The position of an object is the middle of the lower edge of its box. Default: the whole image. */
        readonly polygon?: readonly (readonly [number, number])[];
      }
    | {
        /** `image`: points are [x, y] in fractions of the frame, from 0 at the left and top to 1. `geo`: points are [longitude, latitude] in degrees, for geolocated tracks; north is up. */
        readonly type?: "image" | "geo";
        /** First and second point of the line, ends included. A track crosses it where the middle of the lower edge of its box does. On the map the line takes the shorter way around the earth. */
        readonly line: readonly [readonly [number, number], readonly [number, number]];
      }
    | Readonly<Record<string, never>>;
  /** An object; `GET /alert_description` returns its schema. */
  readonly filter?:
    | {
        /** Class names of the model, such as `person`. Default or empty: all classes. */
        readonly class_names?: readonly string[];
        /** Minimum confidence, from 0 to 1. Detections below it are ignored. */
        readonly min_confidence?: number;
        /** Minimum area of the box, as a fraction of the frame. */
        readonly min_area?: number;
        /** Maximum area of the box, as a fraction of the frame. */
        readonly max_area?: number;
        /** Minimum time since the track was first detected, in seconds. */
        readonly min_track_age_seconds?: number;
        /** Minimum speed over the ground, in metres per second. A track of unknown speed does not match. */
        readonly min_speed_mps?: number;
        /** Maximum speed over the ground, in metres per second. A track of unknown speed does not match. */
        readonly max_speed_mps?: number;
      }
    | Readonly<Record<string, never>>;
  /** An object; `GET /alert_description` returns its schema. */
  readonly parameters?:
    | {
        /** Number of cells from the top of the region to its bottom; on the map from south to north. */
        readonly rows?: number;
        /** Number of cells from the left of the region to its right; on the map from west to east. */
        readonly columns?: number;
      }
    | {
        /** Length of the time window in which crossings count. */
        readonly window_seconds?: number;
      }
    | {
        /** Follow only this track. Not together with `select`. */
        readonly track_id?: number;
        /** Which of the matching tracks to follow: the one with the largest box, with the highest confidence, or the oldest one. Default: `largest`, unless `track_id` is given. */
        readonly select?: "largest" | "most_confident" | "first";
        /** Time between two reported positions. */
        readonly interval_seconds?: number;
        /** The track is lost when it was not detected for this time, or when tracking ended it. */
        readonly lost_after_seconds?: number;
      }
    | Readonly<Record<string, never>>
    | {
        /** Maximum distance of a vehicle to the next one, in metres on the map. */
        readonly max_gap_m?: number;
        /** Maximum difference of their speeds, in metres per second. */
        readonly max_speed_difference_mps?: number;
        /** Maximum difference of their headings in degrees. Oncoming vehicles differ by 180. */
        readonly max_heading_difference?: number;
        /** Time between two reports of a convoy that has not changed. */
        readonly interval_seconds?: number;
        /** A vehicle that was not detected for this time has left. */
        readonly lost_after_seconds?: number;
      }
    | {
        /** Name of the rule: `alert` in the graph. */
        readonly rule: string;
      };
};

export type NewBranch = {
  /** A slot of the process's graph. */
  readonly slot: string;
  /** Parameters of the slot; `GET /process/{process_uuid}/branches` returns their schema. */
  readonly params?: Readonly<Record<string, unknown>>;
};

export type NewCalibration = {
  readonly landmarks: readonly Landmark[];
};

export type NewClip = {
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** Start of the clip. ISO 8601 for a stream (`2026-05-17T08:30:00Z`), seconds from the start of the video for a file (`12.5`). */
  readonly from: number | string;
  /** End of the clip, at most 3600 seconds after its start. ISO 8601 for a stream (`2026-05-17T08:30:00Z`), seconds from the start of the video for a file (`12.5`). */
  readonly to: number | string;
  /** Render boxes, labels and trails of the stored detections; default false. */
  readonly boxes?: boolean;
  /** The process whose detections are drawn, if several analysed the source. Default: the newest that covers the start of the range. */
  readonly process_uuid?: string | null;
};

export type NewEventSubscription = {
  /** Destinations, up to 4, as those of an alert. Each receives every event in order, at least once. */
  readonly output: readonly EventOutput[];
  /** Types of events to send; empty: all, also those of later versions. */
  readonly types?: readonly (
    | "stream-began"
    | "stream-ended"
    | "stream-rejected"
    | "process-started"
    | "process-waiting"
    | "process-reconnecting"
    | "process-reconnected"
    | "process-restarted"
    | "process-failed"
    | "process-finished"
    | "recording-closed"
    | "evidence-ready"
    | "evidence-failed"
    | "clip-ready"
    | "clip-failed"
    | "enhancement-finished"
    | "enhancement-failed"
    | "quota-near"
  )[];
  /** Lower case; upper case is accepted. */
  readonly source_uuid?: string;
};

export type NewOutput = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias: string;
  readonly type: "rtsp" | "rtmp" | "srt" | "detection_data" | "drone_data" | "cot" | "mqtt" | "mpegts";
  /** For video outputs and `mqtt`, with the type as its scheme (or `rtmps`, `mqtts`), for `cot`, with `udp`, `tcp`, `tls` or `mqtt`, and for `mpegts`, with `udp` or `srt`. Ignored for other types. */
  readonly url?: string;
  /** Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video. */
  readonly settings?: "360p" | "720p" | "1080p" | null;
  /** Extension: the codec of the video. H.265 needs a lower bit rate than H.264 and, without a hardware encoder, about three times the processor time; most browsers do not play it. Ignored for outputs without video. Default: `h264`. */
  readonly codec?: "h264" | "h265";
  /** Extension: draw boxes, labels and trails on the video. Ignored for outputs without video. Default: true, and false for `mpegts`, whose objects are metadata. */
  readonly boxes?: boolean;
  /** Extension: bit rate of the video in kbit/s, from 50 to 100000. Null: that of the resolution (360p: 1000, 720p: 2500, 1080p: 4500; otherwise 3000). Ignored for outputs without video. */
  readonly bitrate?: number | null;
  /** Extension: send the sound of the source (AAC), too, as it was received and in step with the picture. A source without it is sent without sound, and `status_detail` says so. WebRTC has no sound. Only for outputs with video. Default: false. */
  readonly audio?: boolean | false;
  /** For `cot`: `TakSettings`. Ignored for other types. */
  readonly tak?: TakSettings;
};

export type NewStream = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias: string;
  /** A URL that begins with rtsp:// or rtsps:// or rtmp:// or rtmps:// or srt:// or udp:// and a host, of at most 2048 characters. */
  readonly input_url: string;
  readonly stream_type: "rtsp" | "rtmp" | "srt" | "udp";
  /** Null: no telemetry. */
  readonly telemetry_cfg?: TelemetryCfg | null;
  /** `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all. */
  readonly recording?: "always" | "on_alert" | "off";
};

export type NewSubscription = {
  /** An http or https URL that accepts POST, of at most 2048 characters. A user and password in it are sent as HTTP Basic. */
  readonly notification_url: string;
  /** `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0. */
  readonly event_type: "new-tracks" | "target-count";
  readonly auth_url?: string | null;
  /** The first notification is sent at once; events within the interval are combined into the next. */
  readonly notifier_policy_type?: "backoff";
  readonly notifier_policy_args?: {
    /** Minimum time between two notifications. */
    readonly backoff_seconds?: number;
  };
  /** `full` adds the track entries of the detection message. */
  readonly notification_format?: "simple" | "full";
};

export type NewTelemetryFile = {
  readonly file: string;
  /** Default: recognised by the first bytes of the file. */
  readonly format?: "native" | "vendor_a" | "dji_srt" | "flight_csv" | "mavlink";
  /** Where in the video the first sample of the file belongs, in seconds; negative if the file began before the video. Default: estimated. */
  readonly offset_seconds?: number;
  /** Values that the file does not contain, as JSON: see TelemetryFileParameters. */
  readonly parameters?: string;
};

export type NewTracksNotification = {
  /** Extension: identical in every copy of a notification, and equal to `webhook-id`: use it to detect duplicates. */
  readonly id?: string;
  readonly process_uuid: string;
  /** UTC time of the newest frame in this notification. */
  readonly timestamp: string;
  /** Extension: a test of the URL, not an event. */
  readonly sample?: true;
  readonly type: "new-tracks";
  /** Number of new tracks. */
  readonly track_count: number;
  /** Tracks as they first appeared, in that order; at most the first 1000. */
  readonly detections: readonly WebhookDetection[];
  /** For `full`: the same tracks as complete entries. */
  readonly tracks?: readonly TrackEntry[];
};

export type NewVideo = {
  /** An MP4, MOV, AVI or MPEG-TS file with the matching extension. */
  readonly file: string;
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias?: string;
  /** Play the file as a live source: in real time, starting again at its end, like a camera. */
  readonly loop?: boolean;
  /** The telemetry of the flight, as in `POST /source/{source_id}/telemetry`. */
  readonly telemetry?: string;
  readonly telemetry_format?: "native" | "vendor_a" | "dji_srt" | "flight_csv" | "mavlink";
  readonly telemetry_offset_seconds?: number;
  /** JSON. */
  readonly telemetry_parameters?: string;
};

export type Node = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** `draining`: it takes no more processes and hands its own over. `lost`: it has not renewed its lease; other nodes take its processes over. */
  readonly state: "live" | "draining" | "lost";
  /** It answered this request. */
  readonly is_this: boolean;
  readonly version: string;
  readonly url: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** What it offers to processes; null: not limited. */
  readonly capacity: {
    readonly processes: number | null;
    readonly cores: number | null;
    readonly memory_bytes: number | null;
  };
  /** What its processes have reserved. */
  readonly reserved: {
    readonly processes: number | null;
    readonly cores: number | null;
    readonly memory_bytes: number | null;
  };
  readonly used: {
    readonly cores: number;
    readonly memory_bytes: number;
  } | null;
  /** UTC, ISO 8601 with milliseconds. */
  readonly started_at: string;
  readonly drains_until: string | null;
};

export type NodeListing = {
  readonly nodes: readonly Node[];
  /** Processes that no node has room for. */
  readonly waiting: number;
};

export type Notice = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Identical in every copy of this notification: use it to detect duplicates. */
  readonly id: string;
  /** The alert. For a rule in the graph itself, a UUID that is the same for all its notifications. */
  readonly alert_uuid: string;
  /** Of a rule in the graph itself: its name, `alert`. */
  readonly alias: string;
  readonly type: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  /** `evidence-ready`: a second notification with the same `id`, when the evidence is complete. */
  readonly event: "triggered" | "updated" | "cleared" | "evidence-ready";
  readonly tracks: readonly TrackEntry[];
  readonly data: Readonly<Record<string, unknown>>;
  readonly evidence?: EvidenceInfo;
  /** Works without a key, for a limited time. Until the clip is complete it answers 409 with `Retry-After`. */
  readonly clip_url?: string;
  /** JPEG. Works without a key, for a limited time. */
  readonly snapshot_url?: string;
  readonly reviewed: boolean;
  readonly reviewed_at: string | null;
  /** Username of the key. */
  readonly reviewed_by: string | null;
  readonly comment: string | null;
};

export type NoticeReview = {
  readonly reviewed?: boolean;
  readonly comment?: string | null;
};

export type OldInformation = {
  /** Version of the API. */
  readonly version: string;
  readonly uploaded_video_storage: VideoStorage;
  readonly subscription: {
    /** Minutes that processes have run. */
    readonly consumed_minutes: number;
    /** Remaining minutes. 1000000000 if the key has no limit. */
    readonly remaining_minutes: number;
    /** Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire. */
    readonly expiration_date: string;
  };
  readonly product: string;
};

export type Output = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly output_uuid: string;
  readonly alias: string;
  readonly type: "rtsp" | "rtmp" | "srt" | "detection_data" | "drone_data" | "cot" | "mqtt" | "mpegts";
  /** Credentials are shown as `***`. */
  readonly url: string | null;
  /** Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video. */
  readonly settings: "360p" | "720p" | "1080p" | null;
  /** Extension. Null for outputs without video. */
  readonly codec: "h264" | "h265" | null;
  /** Extension: boxes, labels and trails are drawn. Null for outputs without video. */
  readonly boxes: boolean | null;
  /** Extension: kbit/s. Null: that of the resolution, or an output without video. */
  readonly bitrate: number | null;
  /** Extension: with the sound of the source. Null for outputs without video. */
  readonly audio: boolean | null;
  readonly tak?: TakSettings;
  /** For `rtsp`: the URL for playback. */
  readonly play_url: string | null;
  /** The process that it is attached to. */
  readonly attached_to: string | null;
  readonly status: "idle" | "starting" | "live" | "retrying" | "failed";
  /** Why it is not live or receives no data, if known; or why an output with `audio` has no sound. */
  readonly status_detail: string | null;
  /** For `cot` and `mqtt`: messages. */
  readonly frames_sent: number;
  /** Frames that arrived faster than they could be encoded or sent. */
  readonly frames_dropped: number;
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** For `rtsp`: HLS. Works without a key, for a limited time. */
  readonly hls_url?: string;
  /** For `rtsp`: WHEP. Works without a key, for a limited time. */
  readonly webrtc_url?: string;
};

export type OutputChange = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias?: string;
  readonly url?: string | null;
  /** Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video. */
  readonly settings?: "360p" | "720p" | "1080p" | null;
  readonly codec?: "h264" | "h265" | null;
  readonly boxes?: boolean | null;
  /** Extension: bit rate of the video in kbit/s, from 50 to 100000. Null: that of the resolution (360p: 1000, 720p: 2500, 1080p: 4500; otherwise 3000). Ignored for outputs without video. */
  readonly bitrate?: number | null;
  readonly audio?: boolean | null;
};

export type Pipeline = {
  readonly segments: readonly {
    readonly name: string;
    /** The tee that it is connected to; null for the main segment. */
    readonly tee: string | null;
    readonly nodes: readonly {
      readonly name: string;
      /** Name of the step that created it. */
      readonly step: string;
      readonly element: string;
      readonly kind: "native" | "typescript";
      readonly factory: string;
      readonly properties: Readonly<Record<string, unknown>>;
    }[];
    readonly links: readonly {
      readonly from: string;
      readonly from_pad?: string;
      readonly to: string;
      readonly to_pad?: string;
      readonly caps?: string;
    }[];
  }[];
  /** Its native part as a gst-launch-1.0 command line. */
  readonly launch: string;
};

export type Probe = {
  readonly status: "ok";
};

export type Problem = {
  /** URI of the error type: `about:blank` or a page that explains it. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What was expected, what was received, and what to do. */
  readonly detail: string;
  /** Stable error code. */
  readonly code: string;
  /** For invalid input: one entry per fault. */
  readonly errors?: readonly {
    readonly path: string;
    readonly message: string;
  }[];
  /** As in the header `X-Request-Id` and in the server's log. */
  readonly request_id?: string;
};

export type Process = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  readonly state: "starting" | "waiting" | "running" | "paused" | "stopping" | "finished" | "failed";
  /** The live source was lost and Windhover reconnects. */
  readonly reconnecting: boolean;
  /** Its runner crashed and is being restarted: no frames are processed. `last_error` has the reason. */
  readonly restarting: boolean;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** Credentials are shown as `***`. For files: the name. */
  readonly source_url: string;
  readonly graph: string;
  /** Of an own graph: the version that it runs. Null for other graphs. */
  readonly graph_version: number | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** Why it failed or stopped on its own. */
  readonly error: {
    readonly code: string;
    readonly detail: string;
  } | null;
  /** The reason of the last crash of its runner, also after recovery. A process that crashes too often changes to `failed`, with `error`. */
  readonly last_error: {
    /** UTC, ISO 8601 with milliseconds. */
    readonly at: string;
    /** The node of the graph that failed, if known. */
    readonly node: string | null;
    /** The exception, or how the runner exited. */
    readonly detail: string;
    /** Stack trace of the element, innermost first: `at process (elements/x/x.ts:12:7)`. Only with an operator key. */
    readonly trace?: readonly string[];
  } | null;
  readonly outputs: readonly string[];
  /** Status of the outputs, while it is active. */
  readonly output_states: readonly {
    /** Lower case; upper case is accepted. */
    readonly output_uuid: string;
    readonly type: "rtsp" | "rtmp" | "srt" | "detection_data" | "drone_data" | "cot" | "mqtt" | "mpegts";
    readonly status: "idle" | "starting" | "live" | "retrying" | "failed";
    /** Why it is not live or receives no data, if known; or why an output with `audio` has no sound. */
    readonly status_detail: string | null;
    /** For `cot` and `mqtt`: messages. */
    readonly frames_sent: number;
    /** Frames that arrived faster than they could be encoded or sent. */
    readonly frames_dropped: number;
  }[];
  /** Status of its recording, while it is active. Null if the key has no process recording. */
  readonly recording: {
    readonly is_recording: boolean;
    /** Why it is not being recorded. */
    readonly status_detail: string | null;
    /** Frames that arrived faster than they could be encoded, since the start of its runner. */
    readonly frames_dropped: number;
  } | null;
  /** Files of the processed video in order, as far as they are retained. For keys with process recording. */
  readonly recordings: readonly {
    readonly index: number;
    /** Null: not known. */
    readonly started_at: string | null;
    /** Of its video, as far as it is written. Null: not known. */
    readonly duration_seconds: number | null;
    /** UTC, ISO 8601 with milliseconds. */
    readonly written_at: string;
    readonly size_bytes: number;
    /** Works without a key, for a limited time. */
    readonly download_url: string;
  }[];
  readonly alerts: readonly string[];
  /** Null: the source has no telemetry. */
  readonly telemetry: {
    /** `connecting`: the broker is unreachable; `waiting`: no message received yet; `stale`: the last message is too old to be used. */
    readonly state: "connecting" | "waiting" | "receiving" | "stale" | "static";
    /** Time since the last message was received. */
    readonly age_ms: number | null;
    /** Why there is no usable telemetry, or level ground is assumed although there is terrain data: what is missing, and what to do. */
    readonly detail: string | null;
    /** `reduced`: angles and estimated distances, no coordinates. */
    readonly geolocation: "full" | "reduced" | "none";
    /** Added to the timestamps of messages to get video time; configured or estimated. */
    readonly offset_ms: number | null;
    /** All received messages, used or not. */
    readonly messages_received: number;
    /** Messages that could not be read. */
    readonly messages_refused: number;
  } | null;
  /** For the last second in which it ran. Rates are 0 while it does not run; the last values of an ended process are kept for a limited time. */
  readonly stats: {
    readonly fps_in: number;
    /** Frames on which inference ran. */
    readonly fps_processed: number;
    readonly fps_out: number;
    /** Since the start of its runner. */
    readonly frames_dropped: number;
    readonly latency_ms: {
      readonly p50: number;
      readonly p95: number;
    };
    readonly inference_ms: number;
    /** Restarts after crashes; `last_error` has the reason. */
    readonly restarts: number;
    /** For a file: frames that were not processed because of crashes. Null for a live source, whose frames are not counted while its runner restarts. */
    readonly frames_lost: number | null;
    /** Extension: the connection to an SRT source. Null: not connected, or of another protocol. */
    readonly link: {
      readonly round_trip_ms: number;
      readonly packets_received: number;
      /** Found missing. SRT requests them again. */
      readonly packets_lost: number;
      /** The receive buffer, as negotiated: packets that arrive later are lost for good. */
      readonly latency_ms: number;
    } | null;
  };
};

export type ProcessGraph = {
  readonly graph: string;
  readonly about: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly live_params: readonly string[];
  readonly offers: readonly string[];
  readonly slots: readonly string[];
  readonly segments: readonly {
    readonly name: string;
    readonly tee: string | null;
    readonly nodes: readonly {
      readonly name: string;
      /** Name of the step that created it. */
      readonly step: string;
      readonly element: string;
      readonly kind: "native" | "typescript";
      readonly factory: string;
      readonly properties: Readonly<Record<string, unknown>>;
    }[];
    readonly links: readonly {
      readonly from: string;
      readonly to: string;
    }[];
    /** Counters of each step so far. */
    readonly steps: readonly {
      readonly step: string;
      readonly frames: number;
      readonly fps: number;
      readonly mean_ms: number;
      readonly p95_ms: number;
      readonly queued: number | null;
      readonly capacity: number | null;
      readonly dropped: number | null;
    }[];
  }[];
};

export type ProcessGraphEdge = {
  /** Name of the node. */
  readonly from: string;
  /** Name of the node. */
  readonly to: string;
  /** Null if nothing has passed in time. */
  readonly frame: {
    /** The format of the stream, as GStreamer writes it. */
    readonly caps: string;
    readonly pts_ms: number | null;
    readonly bytes: number;
    readonly keyframe: boolean;
    /** JPEG in base64, for raw video. Larger frames are shrunk. */
    readonly picture: string | null;
    /** What elements have written to the frame: detections, tracks, telemetry. */
    readonly metadata: Readonly<Record<string, unknown>>;
  } | null;
  /** Why the frame, its picture or its metadata is missing. */
  readonly detail: string | null;
};

export type ProcessRecordingChange = {
  /** `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all. */
  readonly mode: "always" | "on_alert" | "off";
};

export type ProcessRecordingSetting = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all. */
  readonly mode: "always" | "on_alert" | "off";
  /** Of `on_alert`: when the recording ends, without further notices. */
  readonly wanted_until: string | null;
};

export type ProcessUpgrade = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  readonly graph: string;
  readonly version: number;
  readonly previous_version: number;
  readonly dry_run: boolean;
  /** If the pipeline is relaunched, only the reasons for that. Empty: the same pipeline. */
  readonly changes: readonly GraphChange[];
  /** All params of the graph in this version. */
  readonly params: Readonly<Record<string, unknown>>;
};

export type ProcessUrls = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** Processed frames over HTTP. */
  readonly feed_url: string;
  /** Server-sent events. */
  readonly events_url: string;
  /** Websocket with detections. */
  readonly detection_data_url: string;
  /** Websocket with telemetry. */
  readonly drone_data_url: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly expires_at: string;
};

export type Recording = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  readonly alias: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly started_at: string;
  readonly stopped_at: string | null;
  /** Why it ended, if not with its stream. */
  readonly detail: string | null;
  readonly duration_seconds: number;
  readonly size_bytes: number;
  readonly segments: readonly {
    readonly index: number;
    /** UTC, ISO 8601 with milliseconds. */
    readonly started_at: string;
    readonly duration_seconds: number;
    readonly size_bytes: number;
    readonly download_url: string;
  }[];
};

export type RecordingChange = {
  /** `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all. */
  readonly mode?: "always" | "on_alert" | "off";
  /** Seconds of video before the start of a recording that it contains. They are kept while the source is not recorded. */
  readonly pre_roll_seconds?: number;
};

export type RecordingSetting = {
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all. */
  readonly mode: "always" | "on_alert" | "off";
  /** Seconds of video before the start of a recording that it contains. They are kept while the source is not recorded. */
  readonly pre_roll_seconds: number;
  /** The recording in progress. */
  readonly recording_uuid: string | null;
  /** Of `on_alert`: when the recording ends, without further notices. */
  readonly wanted_until: string | null;
  /** Why the video of a camera that a process pulls cannot be recorded. */
  readonly detail?: string;
};

export type ReportTrack = {
  readonly track_id: number;
  readonly class_id: number;
  readonly category_name: string;
  /** The last one: [x, y, width, height] in the original resolution. */
  readonly bbox: readonly [number, number, number, number];
  /** Confidences at `timestamps`: the stored sightings in the window. One is stored every second, and more often while the object moves; after ten minutes, one per 600th of the track's age. */
  readonly list_confidences: readonly number[];
  /** Over all sightings, like the next two. */
  readonly max_confidence: number;
  readonly min_confidence: number;
  readonly mean_confidence: number;
  /** The best image of the object. Empty if there is none yet, or with `patches=false`. */
  readonly image_patches: readonly {
    /** JPEG in base64. */
    readonly image: string;
    readonly confidence: number;
    /** POSIX time in seconds, with milliseconds. */
    readonly timestamp: number;
  }[];
  readonly timestamps: readonly number[];
  /** It was visible at the time of the request. */
  readonly is_live: boolean;
  /** POSIX time in seconds, with milliseconds. */
  readonly first_seen: number;
  /** POSIX time in seconds, with milliseconds. */
  readonly last_seen: number;
  readonly first_location: {
    readonly latitude: number;
    readonly longitude: number;
    readonly altitude: number;
    /** POSIX time in seconds, with milliseconds. */
    readonly timestamp: number;
  } | null;
  readonly last_location: {
    readonly latitude: number;
    readonly longitude: number;
    readonly altitude: number;
    /** POSIX time in seconds, with milliseconds. */
    readonly timestamp: number;
  } | null;
  readonly enhanced_data?: EnhancedData;
};

export type RunningDemo = {
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
};

/** The alert is evaluated only within these windows, by the capture time of the frames and the wall clock of the time zone. */
export type Schedule = {
  /** Name of the IANA time zone, such as `Europe/Berlin` or `UTC`. */
  readonly time_zone: string;
  readonly windows: readonly {
    /** Days on which the window begins. Default: every day. */
    readonly days?: readonly ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
    /** Beginning, from `00:00` to `23:59`. */
    readonly from: string;
    /** End, from `00:00` to `24:00`; not part of the window. If it is before `from`, the window ends on the next day. */
    readonly to: string;
  }[];
};

export type Shadow = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  readonly state: "starting" | "running" | "finished" | "failed";
  /** Why it failed. */
  readonly error: string | null;
  readonly graph: string;
  /** Of a stored graph. */
  readonly version: number | null;
  /** All params of the graph, with defaults. */
  readonly params: Readonly<Record<string, unknown>>;
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly comparison: ShadowComparison;
};

export type ShadowComparison = {
  /** Frames on which inference ran, since the shadow's first one; `compared`: those of both with the same capture time, on which all that follows is based. */
  readonly frames: {
    readonly live: number;
    readonly shadow: number;
    readonly compared: number;
  };
  /** Frames of the shadow for each frame of the process: below 1, the shadow does not keep up. */
  readonly speed: number | null;
  /** Share of the process's boxes that the shadow has: an overlap (IoU) of at least 0.5, the same class. */
  readonly recall: number | null;
  /** Share of the shadow's boxes that the process has. */
  readonly precision: number | null;
  /** F1 of both. */
  readonly agreement: number | null;
  readonly classes: readonly {
    readonly name: string;
    readonly boxes: {
      readonly live: number;
      readonly shadow: number;
      readonly matched: number;
    };
    /** `matched`: together in at least half of the frames of the process's track. */
    readonly tracks: {
      readonly live: number;
      readonly shadow: number;
      readonly matched: number;
    };
  }[];
  /** False: there were too many classes or tracks to count them all. */
  readonly is_complete: boolean;
};

export type SignInOptions = {
  /** The request has a valid session or key. */
  readonly signed_in: boolean;
  /** Null: only API keys can be used. */
  readonly oidc: {
    /** Of the identity provider, for people. */
    readonly name: string;
    /** A browser goes there to sign in. */
    readonly url: string;
  } | null;
};

export type SignedOut = {
  readonly signed_out: true;
};

export type Source = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  readonly alias: string;
  readonly type: "file" | "stream";
  /** Null: a file. */
  readonly stream_type: "rtsp" | "rtmp" | "srt" | "udp" | null;
  /** Credentials are shown as `***`. For a file, the name of the upload. */
  readonly input_url: string;
  readonly telemetry_cfg: TelemetryCfg | null;
  /** True: a file that is played as a live source and starts again at its end. */
  readonly loop: boolean;
  /** Of a stream that is published to this service: `offline`, `streaming`, or `processing` while it is streaming and a process runs on it. Of files, and of streams elsewhere, which are not watched: `processing`, or else `unknown`. */
  readonly status: "unknown" | "offline" | "streaming" | "processing";
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** Media-server sources only. Works without a key, for a limited time. */
  readonly hls_url?: string;
  /** WHEP. Media-server sources only. Works without a key, for a limited time. */
  readonly webrtc_url?: string;
};

/** Omitted fields are kept. A change of telemetry takes effect at the next start. */
export type SourceChange = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias?: string;
  /** Null: no telemetry. */
  readonly telemetry_cfg?: TelemetryCfg | null;
};

export type SourceDetails = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  readonly alias: string;
  readonly type: "file" | "stream";
  /** Null: a file. */
  readonly stream_type: "rtsp" | "rtmp" | "srt" | "udp" | null;
  /** Credentials are shown as `***`. For a file, the name of the upload. */
  readonly input_url: string;
  readonly telemetry_cfg: TelemetryCfg | null;
  /** True: a file that is played as a live source and starts again at its end. */
  readonly loop: boolean;
  /** Of a stream that is published to this service: `offline`, `streaming`, or `processing` while it is streaming and a process runs on it. Of files, and of streams elsewhere, which are not watched: `processing`, or else `unknown`. */
  readonly status: "unknown" | "offline" | "streaming" | "processing";
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
  /** Media-server sources only. Works without a key, for a limited time. */
  readonly hls_url?: string;
  /** WHEP. Media-server sources only. Works without a key, for a limited time. */
  readonly webrtc_url?: string;
  /** Media-server sources only: why the last publisher was rejected, or why nothing can be published. Null: the last one was accepted. */
  readonly status_detail: string | null;
  /** `h264` for example. Null: not known, as the next. */
  readonly codec: string | null;
  readonly width: number | null;
  readonly height: number | null;
  /** Of a published stream: on average since it began. */
  readonly fps: number | null;
  /** Of a file; of a published stream: since it began. */
  readonly duration_seconds: number | null;
  /** Of a file; of a stream that is published on this node: received since it began. */
  readonly bytes: number | null;
};

export type SourceTelemetry = {
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** `misb_0601`: found in the video itself. */
  readonly format: string;
  /** Null: it was found in the video. */
  readonly file_name: string | null;
  readonly samples: number;
  /** Where in the video its first sample belongs. */
  readonly from_seconds: number;
  /** Where in the video its last sample belongs. */
  readonly to_seconds: number;
  /** How the times of the file were aligned to the video: `given` by you; `video_time`: the file states times in the video; `recording_flag`: it states when the camera recorded; `creation_time` of the video; `same_start`: both are taken to start together. */
  readonly offset_method: "given" | "video_time" | "recording_flag" | "creation_time" | "same_start";
  /** Standard deviation of that alignment. Above 0.05, a process refines it by comparing the motion of the image with the telemetry. */
  readonly offset_error_seconds: number;
  /** What the file lacks for geolocation, and what to do. */
  readonly detail: string | null;
  /** UTC, ISO 8601 with milliseconds. */
  readonly created_at: string;
};

export type StartProcess = {
  /** Parameters of the graph; `GET /graphs/{name}` returns their schema. The source is not a parameter. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** Of a file that is played once: the process is `paused` when it has started. Nothing is sent, counted or stored until `POST /process/{process_uuid}/resume`: connect sockets, outputs, alerts and webhooks before, and they get everything from the first frame on. */
  readonly paused?: boolean;
  /** Where several nodes form one service: run only on a node with these labels (`cluster.labels`). */
  readonly node_labels?: Readonly<Record<string, string>>;
  /** Of a live source: answer at once, also while it is offline. The process is `waiting` until the first frame of the source has been decoded. */
  readonly wait?: boolean;
  /** With `wait`: the process fails (`source_not_live`) if no frame arrives within this time, counted each time that it begins to wait. Default: it waits for ever. */
  readonly wait_seconds?: number;
  /** With `wait`: wait again when the source is lost for some seconds, instead of failing after `reconnect.give_up_seconds`. */
  readonly keep?: boolean;
};

export type StartedProcess = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** Processed frames over HTTP. Contains the key. */
  readonly feed_url: string;
  /** Websocket with detections. Contains the key. */
  readonly detection_data_url: string;
  /** Where telemetry is received: the URL of the websocket with the key, `mqtt://host:port/topic`, `static`, or `Not configured`. */
  readonly telemetry_url: string;
};

export type StateEvent = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly state: "starting" | "waiting" | "running" | "paused" | "stopping" | "finished" | "failed";
  /** The source is lost and Windhover reconnects. */
  readonly reconnecting: boolean;
  readonly error: {
    readonly code: string;
    readonly detail: string;
  } | null;
  /** Its runner crashed and is being restarted. */
  readonly restarting: boolean;
  /** The reason of the last crash of its runner, also after recovery. */
  readonly last_error: {
    /** UTC, ISO 8601 with milliseconds. */
    readonly at: string;
    /** The node of the graph that failed, if known. */
    readonly node: string | null;
    /** The exception, or how the runner exited. */
    readonly detail: string;
    /** Stack trace of the element, innermost first: `at process (elements/x/x.ts:12:7)`. Only with an operator key. */
    readonly trace?: readonly string[];
  } | null;
  /** Number of events lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

export type StatsEvent = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly stats: {
    readonly fps_in: number;
    readonly fps_processed: number;
    readonly fps_out: number;
    readonly frames_dropped: number;
    readonly latency_ms: {
      readonly p50: number;
      readonly p95: number;
    };
    readonly inference_ms: number;
    readonly restarts: number;
    /** For a file: frames that were not processed because of crashes. Null for a live source, whose frames are not counted while its runner restarts. */
    readonly frames_lost: number | null;
  };
  /** Number of events lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

export type Status = {
  readonly status: "ok" | "degraded";
  /** Version of the API. */
  readonly version: string;
  /** Version of Windhover. */
  readonly software_version: string;
  readonly uptime_seconds: number;
  /** Only with a valid key: status per component, `ok` or the reason. */
  readonly components?: Readonly<Record<string, string>>;
};

export type StoppedProcesses = {
  readonly stopped: readonly string[];
};

export type StreamStats = {
  /** By which it is published. */
  readonly protocol: "rtsp" | "rtmp" | "srt" | "webrtc";
  readonly width: number;
  readonly height: number;
  readonly has_audio: boolean;
  /** Players, HLS, WebRTC, recordings and processes. */
  readonly readers: number;
  /** Frames received. */
  readonly frames: number;
  readonly bytes: number;
  /** Frames dropped for readers that are too slow. */
  readonly frames_missed: number;
  /** How irregularly frames arrive, compared with their timestamps (the estimate of RFC 3550). */
  readonly jitter_ms: number;
  /** The connection to the publisher. Null: its protocol does not measure it (TCP). */
  readonly link: {
    readonly round_trip_ms: number | null;
    readonly packets_received: number;
    /** Found missing. SRT requests them again. */
    readonly packets_lost: number;
    /** Lost for good: not received in time. */
    readonly packets_dropped: number;
  } | null;
};

export type Subscription = {
  /** Remaining minutes. 1000000000 if the key has no limit. */
  readonly remaining_minutes: number;
  /** Minutes that processes have run. */
  readonly consumed_minutes: number;
  /** Purchased minutes that are not allocated yet. */
  readonly pending_to_allocate: number;
  /** Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire. */
  readonly expiration_date: string;
};

export type SubscriptionChoice = {
  /** As sent, or as shown. */
  readonly notification_url?: string;
  /** `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0. */
  readonly event_type?: "new-tracks" | "target-count";
};

export type TakSettings = {
  /** Name of the camera on maps. Default: the alias of the output. */
  readonly callsign?: string;
  /** Send the position of the camera, its field of view, and the point in its centre. */
  readonly camera?: boolean;
  /** Address of the video that TAK clients open for the camera: `play_url` of an rtsp output. */
  readonly video_url?: string;
  /** For `tls`: certificates of the authorities that the server is trusted by; default: the public ones (PEM). */
  readonly authorities?: string;
  /** For `tls`: the name in the certificate of the server, if it is not the host of the URL. */
  readonly server_name?: string;
  /** For `tls`: the certificate of this client, with its chain (PEM). */
  readonly certificate?: string;
  /** For `tls`: its private key, not encrypted. Shown as `***` (PEM). */
  readonly key?: string;
};

export type TargetCountNotification = {
  /** Extension: identical in every copy of a notification, and equal to `webhook-id`: use it to detect duplicates. */
  readonly id?: string;
  readonly process_uuid: string;
  /** UTC time of the newest frame in this notification. */
  readonly timestamp: string;
  /** Extension: a test of the URL, not an event. */
  readonly sample?: true;
  readonly type: "target-count";
  /** Number of visible targets. */
  readonly track_count: number;
  /** Number in the previous notification; 0 before the first. */
  readonly previous_count: number;
  /** For `full`: the first 1000 of them. */
  readonly active_tracks?: readonly TrackEntry[];
};

/** `mqtt` (3.1.1 or 5, without TLS) requires the parameters `ip`, `port` and `topic`; `websocket` requires none; the parameters of `static` are the telemetry itself, in the format `native`; `udp` requires the parameters `port` and `sender`, and has the format `mavlink`; `embedded` is metadata in the stream itself (KLV, `misb_0601`). */
export type TelemetryCfg = {
  /** The channel by which telemetry is received. */
  readonly type: "mqtt" | "websocket" | "static" | "udp" | "embedded";
  /** Format of the messages. Default: `mavlink` for `udp`, `misb_0601` for `embedded`, else `native`. */
  readonly format?: "native" | "mavlink" | "misb_0601" | "native" | "vendor_a";
  readonly parameters?:
    | {
        /** Address or host name of the broker, without a port. */
        readonly ip: string;
        readonly port: number;
        /** The topic to subscribe to, 1 to 1024 characters without control characters. `+` matches one level, `#` at the end all further levels. */
        readonly topic: string;
        /** User name for the broker, 1 to 255 characters. */
        readonly username?: string;
        /** Password of that user, 1 to 255 characters without control characters. Shown as `***`; send `***` to keep the stored password. */
        readonly password?: string;
        /** Degrees, horizontal field of view. */
        readonly sensor_hfov?: number;
        /** Degrees, vertical field of view. */
        readonly sensor_vfov?: number;
        /** Height of mean sea level above the WGS-84 ellipsoid in metres, which is subtracted from the height above the ellipsoid that the drone reports. `auto`: by EGM96 at its position. Default: 0 for `vendor_a`, `auto` for `misb_0601`. */
        readonly geoid_separation_m?: number | "auto";
        /** Reference of the gimbal's yaw: true north, or the nose of the drone. */
        readonly gimbal_yaw_frame?: "north" | "body";
      }
    | {
        /** Degrees, horizontal field of view. */
        readonly sensor_hfov?: number;
        /** Degrees, vertical field of view. */
        readonly sensor_vfov?: number;
        /** Height of mean sea level above the WGS-84 ellipsoid in metres, which is subtracted from the height above the ellipsoid that the drone reports. `auto`: by EGM96 at its position. Default: 0 for `vendor_a`, `auto` for `misb_0601`. */
        readonly geoid_separation_m?: number | "auto";
        /** Reference of the gimbal's yaw: true north, or the nose of the drone. */
        readonly gimbal_yaw_frame?: "north" | "body";
      }
    | null
    | {
        /** Degrees, horizontal field of view. */
        readonly sensor_hfov: number;
        /** Degrees, vertical field of view. */
        readonly sensor_vfov: number;
        /** Degrees, WGS-84. */
        readonly latitude?: number;
        /** Degrees, WGS-84. */
        readonly longitude?: number;
        /** Metres per second. */
        readonly speed?: number;
        /** Degrees from the horizon, negative is down. */
        readonly camera_pitch?: number;
        /** Degrees from true north, clockwise. */
        readonly camera_yaw?: number;
        /** Degrees, clockwise along the viewing direction. */
        readonly camera_roll?: number;
        /** Metres above mean sea level. */
        readonly altitude?: number;
        /** Metres above the ground. */
        readonly rel_altitude?: number;
        /** Degrees. */
        readonly drone_pitch?: number;
        /** Degrees. */
        readonly drone_yaw?: number;
        /** Degrees. */
        readonly drone_roll?: number;
      }
    | {
        /** The port that the drone sends to: one of those that the operator offers (`telemetry.udp_port_first` to `udp_port_last`), and not that of another key. */
        readonly port: number;
        /** IP address that the messages come from. Messages of other senders are ignored. */
        readonly sender: string;
        /** The vehicle whose messages are used. Default: the first one that sends its position. */
        readonly system_id?: number;
        /** Passphrase of signed messages (MAVLink 2), 1 to 255 characters: others are ignored. Shown as `***`; send `***` to keep the stored one. */
        readonly password?: string;
        /** Degrees, horizontal field of view. */
        readonly sensor_hfov?: number;
        /** Degrees, vertical field of view. */
        readonly sensor_vfov?: number;
      }
    | {
        /** Height of mean sea level above the WGS-84 ellipsoid in metres, which is subtracted from the height above the ellipsoid that the drone reports. `auto`: by EGM96 at its position. Default: 0 for `vendor_a`, `auto` for `misb_0601`. */
        readonly geoid_separation_m?: number | "auto";
      }
    | null;
};

export type TelemetryEvent = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly telemetry: {
    /** `connecting`: the broker is unreachable; `waiting`: no message received yet; `stale`: the last message is too old to be used. */
    readonly state: "connecting" | "waiting" | "receiving" | "stale" | "static";
    /** Time since the last message was received. */
    readonly age_ms: number | null;
    /** Why there is no usable telemetry, or level ground is assumed although there is terrain data: what is missing, and what to do. */
    readonly detail: string | null;
    /** `reduced`: angles and estimated distances, no coordinates. */
    readonly geolocation: "full" | "reduced" | "none";
    /** Added to the timestamps of messages to get video time; configured or estimated. */
    readonly offset_ms: number | null;
    /** All received messages, used or not. */
    readonly messages_received: number;
    /** Messages that could not be read. */
    readonly messages_refused: number;
  };
  /** Number of events lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

/** With the fields of view alone, detections get angles and a distance; with all fields except drone_* and speed, also coordinates. */
export type TelemetryMessage = {
  /** Unix time in seconds; a value above 1e11 is read as milliseconds. */
  readonly timestamp: number;
  /** Degrees, WGS-84. */
  readonly latitude?: number;
  /** Degrees, WGS-84. */
  readonly longitude?: number;
  /** Metres per second. */
  readonly speed?: number;
  /** Degrees, horizontal field of view. */
  readonly sensor_hfov: number;
  /** Degrees, vertical field of view. */
  readonly sensor_vfov: number;
  /** Degrees from the horizon, negative is down. */
  readonly camera_pitch?: number;
  /** Degrees from true north, clockwise. */
  readonly camera_yaw?: number;
  /** Degrees, clockwise along the viewing direction. */
  readonly camera_roll?: number;
  /** Metres above mean sea level. */
  readonly altitude?: number;
  /** Metres above the ground. */
  readonly rel_altitude?: number;
  /** Degrees. */
  readonly drone_pitch?: number;
  /** Degrees. */
  readonly drone_yaw?: number;
  /** Degrees. */
  readonly drone_roll?: number;
};

export type Timeline = {
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
  readonly from: string | number;
  /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
  readonly to: string | number;
  /** Times with video, of which clips can be cut. Files that follow one another are one range. */
  readonly recorded: readonly {
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly from: string | number;
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly to: string | number;
  }[];
  /** Processes that analysed the source in this range, newest first. */
  readonly processes: readonly {
    /** Lower case; upper case is accepted. */
    readonly process_uuid: string;
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly from: string | number;
    /** Null: it has not ended. */
    readonly to: string | number | null;
    readonly state: "starting" | "waiting" | "running" | "paused" | "stopping" | "finished" | "failed";
  }[];
  /** Shorter pauses in `activity` are left out. */
  readonly resolution_seconds: number;
  /** When objects of a class were tracked, and how many: the tracks of a class whose pauses are shorter than `resolution_seconds` are one entry; a long one is divided, so that it shows when it was busy. By class, in order of time. */
  readonly activity: readonly {
    readonly class_name: string;
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly from: string | number;
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly to: string | number;
    readonly tracks: number;
  }[];
  /** The tracks themselves, in order of time. Empty if there are more than 1000: ask for a shorter range. */
  readonly tracks: readonly {
    /** Lower case; upper case is accepted. */
    readonly process_uuid: string;
    readonly track_id: number;
    readonly class_name: string;
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly from: string | number;
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly to: string | number;
  }[];
  /** What alerts have notified of, in order of time: the newest 2000. */
  readonly notices: readonly {
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
    /** Lower case; upper case is accepted. */
    readonly alert_uuid: string;
    /** Of the alert. */
    readonly alias: string;
    /** Lower case; upper case is accepted. */
    readonly process_uuid: string;
    /** Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video. */
    readonly at: string | number;
    readonly event: "triggered" | "updated" | "cleared";
    readonly classes: readonly string[];
    readonly reviewed: boolean;
  }[];
  /** Parts that are not complete, as they have too many entries: ask for a shorter range. */
  readonly truncated: readonly ("recorded" | "processes" | "activity" | "tracks" | "notices")[];
};

export type TrackCollection = {
  readonly type: "FeatureCollection";
  /** Name of the process's source. */
  readonly name: string;
  readonly process_uuid: string;
  readonly features: readonly {
    readonly type: "Feature";
    readonly id: number;
    readonly geometry:
      | {
          readonly type: "Point";
          /** Longitude and latitude in degrees (WGS-84), and altitude in metres above mean sea level. */
          readonly coordinates: readonly [number, number, number];
        }
      | {
          readonly type: "LineString";
          readonly coordinates: readonly (readonly [number, number, number])[];
        }
      | {
          readonly type: "MultiLineString";
          readonly coordinates: readonly (readonly (readonly [number, number, number])[])[];
        }
      | null;
    readonly properties: {
      readonly track_id: number;
      readonly class_id: number;
      readonly class_name: string;
      /** UTC, ISO 8601 with milliseconds. */
      readonly first_seen: string;
      /** UTC, ISO 8601 with milliseconds. */
      readonly last_seen: string;
      /** It was visible at the time of the request. */
      readonly is_live: boolean;
      /** Frames in which it was detected. */
      readonly sightings: number;
      readonly max_confidence: number;
      readonly mean_confidence: number;
      readonly min_confidence: number;
      /** The last one: [x, y, width, height] in the original resolution. */
      readonly bbox_pixels: readonly [number, number, number, number];
      readonly speed_mps: number | null;
      readonly heading: number | null;
      readonly position_error_m: number | null;
      /** One time per position, in arrays with the structure of `coordinates`. */
      readonly times: unknown;
    };
  }[];
};

export type TrackEntry = {
  /** Constant for an object; 0 without tracking. */
  readonly track_id: number;
  readonly class_id: number;
  readonly class_name: string;
  /** [x, y, width, height] in pixels of the original input resolution, to a hundredth. */
  readonly bbox: readonly [number, number, number, number];
  /** [x, y, width, height] as fractions of the input resolution per axis, to a millionth. */
  readonly scaled_bbox: readonly [number, number, number, number];
  /** Percent, to a hundredth. */
  readonly confidence: number;
  /** Degrees, WGS-84. */
  readonly latitude?: number;
  /** Degrees, WGS-84. */
  readonly longitude?: number;
  /** Altitude of the object in metres above mean sea level. */
  readonly altitude?: number;
  /** Metres from the camera to the object. */
  readonly distance?: number;
  /** Degrees from the line of sight, positive to the right. */
  readonly azimuth?: number;
  /** Degrees from the line of sight, positive above it. */
  readonly elevation?: number;
  /** Extension: the distance is estimated from the typical size of the object's class. */
  readonly distance_estimated?: true;
  /** Extension: one standard deviation of the position on the ground, in metres. */
  readonly position_error_m?: number;
  /** Extension: smoothed ground speed in metres per second. */
  readonly speed_mps?: number;
  /** Extension: direction of motion, degrees from true north, clockwise. */
  readonly heading?: number;
  /** Extension: values that the graph computes for the object, by name; null if unknown. */
  readonly values?: Readonly<Record<string, boolean | number | string | null>>;
};

export type TrackReport = {
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** POSIX time in seconds, with milliseconds. */
  readonly report_time: number;
  /** The window covered. For an ended process: how long it ran, rounded up, unless the request narrowed it. */
  readonly time_window_minutes: number;
  /** The tracks in the window, by id. */
  readonly tracks: readonly ReportTrack[];
  /** There are more tracks: send this as `cursor` to get the next page. */
  readonly next_cursor?: string;
};

export type TrackedProcess = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  readonly alias: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly track_count: number;
  readonly enhancement: "RUNNING" | "FINISHED" | "FAILED" | null;
  readonly video_url: string | null;
};

/** Extension: the key that was sent. */
export type UsedKey = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly key_uuid: string;
  readonly name: string;
  /** `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts. */
  readonly scopes: readonly ("read" | "publish" | "operate" | "admin")[];
  /** The key sees and uses only these sources, and what belongs to them. Null: all sources of the account. */
  readonly source_uuids: readonly string[] | null;
  /** Who signed in to the console: then this is the session. Null: a key. */
  readonly person: string | null;
  readonly expires_at: string | null;
};

export type UserInformation = {
  /** Version of the API. */
  readonly version: string;
  /** Version of Windhover. */
  readonly software_version: string;
  readonly username: string;
  readonly product: string;
  readonly uploaded_video_storage: VideoStorage;
  readonly subscription: Subscription;
  /** One entry per child key; omitted if there are none. */
  readonly children_subscription?: readonly ChildSubscription[];
  /** Whether track reports are available. */
  readonly is_track_logger_enabled: boolean;
  /** Extension: whether track reports can be enhanced. */
  readonly is_enhancement_enabled: boolean;
  /** Extension: where your streams are published on this service. Append a path of your choice, register the URL with `POST /stream`, and publish to it. With TLS, also `rtsps` and `rtmps`. */
  readonly publish_urls: {
    readonly rtsp: string;
    readonly rtmp: string;
    readonly srt: string;
    readonly rtsps?: string;
    readonly rtmps?: string;
  };
  readonly key: UsedKey;
};

export type VideoStorage = {
  readonly max_video_upload_size_bytes: number;
  readonly total_storage_size_bytes: number;
};

export type WebhookAlertOutput = {
  /** `http://` or `https://` URL of at most 2048 characters. Receives every notification as a POST request. */
  readonly url: string;
  /** Signing secret (Standard Webhooks): `whsec_` and base64. Generated if omitted. Returned once, in the response to the request that set or generated it. Send `***` to keep the stored secret. */
  readonly secret?: string;
  readonly template?: WebhookTemplate;
};

export type WebhookDetection = {
  /** Pixels of the input, like the next three. */
  readonly topLeftX: number;
  readonly topLeftY: number;
  readonly height: number;
  readonly width: number;
  /** `track_id` of the detection message. */
  readonly id: number;
  /** `class_id` of the detection message. */
  readonly class: number;
};

export type WebhookEventOutput = {
  /** `http://` or `https://` URL of at most 2048 characters. Receives every notification as a POST request. */
  readonly url: string;
  /** Signing secret (Standard Webhooks): `whsec_` and base64. Generated if omitted. Returned once, in the response to the request that set or generated it. Send `***` to keep the stored secret. */
  readonly secret?: string;
};

export type WebhookTemplate = {
  /** The body of the request. `{{ name }}` stands for a value of the notification, and `{{ name | default: "text" }}` for the text where it has none: `alert.alias`, `event`, `timestamp`, `tracks.length`, `tracks.0.class_name`, `tracks.0.values.NAME`, `data.count`, `snapshot_url` and all its other fields. In JSON, values are escaped within strings, and written as JSON elsewhere. */
  readonly body: string;
  readonly content_type?: "application/json" | "text/plain";
  /** Further headers: `Authorization`, `X-Api-Key` and others that services of this kind use. Responses show secret ones as `***`; send `***` to keep the stored value. */
  readonly headers?: Readonly<Record<string, string>>;
};

export class Operations {
  readonly #send: Transport;

  constructor(send: Transport) {
    this.#send = send;
  }

  /** Get the status of the service. Needs no key. With a valid key it includes the status of each component. */
  getStatus(call?: Call): Promise<Status> {
    return this.#send({ method: "GET", path: "/status" }, {}, call);
  }

  /** Validate an API key. On 403, `code` says whether the key is missing, invalid or expired. GET and POST are equivalent. */
  login(call?: Call): Promise<Login> {
    return this.#send({ method: "GET", path: "/login" }, {}, call);
  }

  /** Validate an API key. On 403, `code` says whether the key is missing, invalid or expired. GET and POST are equivalent. */
  loginByPost(call?: Call): Promise<Login> {
    return this.#send({ method: "POST", path: "/login" }, {}, call);
  }

  /** Get the limits, features and remaining minutes of a key. */
  getUserInfo(call?: Call): Promise<UserInformation> {
    return this.#send({ method: "GET", path: "/user_info" }, {}, call);
  }

  /** Get the remaining minutes of a key, in the format used before `GET /user_info`. Deprecated. */
  getInfo(call?: Call): Promise<OldInformation> {
    return this.#send({ method: "GET", path: "/info" }, {}, call);
  }

  /** Allocate pending minutes of a master key to itself or to one of its child keys. All or nothing. Concurrent calls never allocate more than is pending. A key without a limit cannot receive minutes, since they would be lost: 409 `minutes_unlimited`. */
  allocateMinutes(input: { body: Allocation }, call?: Call): Promise<Allocated> {
    return this.#send({ method: "POST", path: "/subscription/allocate", bodyType: "application/json" }, input, call);
  }

  /** List the keys of your account and, for a master key, of its children. Without revoked keys, unless `state` is `all`. The keys themselves are not stored. */
  listKeys(
    input: { limit?: number; cursor?: string; username?: string; state?: "current" | "all" } = {},
    call?: Call,
  ): Promise<{
    readonly keys: readonly Key[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/keys", query: ["limit", "cursor", "username", "state"] }, input, call);
  }

  /** Create a key. For your account or, with a master key, for one of its children. It cannot have more scopes, other sources or a later expiry than the key of the request. The key is shown only in this answer. */
  createKey(
    input: {
      body: {
        /** For people; several keys may share a name. */
        readonly name: string;
        /** `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts. */
        readonly scopes: readonly ("read" | "publish" | "operate" | "admin")[];
        /** The key sees and uses only these sources, and what belongs to them. Null: all sources of the account. */
        readonly source_uuids?: readonly string[] | null;
        /** The key is not valid from this time on. Null: it does not expire. */
        readonly expires_at?: string | null;
        /** The account: that of this key (default), or for a master key one of its children. */
        readonly username?: string;
      };
    },
    call?: Call,
  ): Promise<CreatedKey> {
    return this.#send({ method: "POST", path: "/key", bodyType: "application/json" }, input, call);
  }

  /** Get a key, without its secret. */
  readKey(input: { key_uuid: string }, call?: Call): Promise<Key> {
    return this.#send({ method: "GET", path: "/key/{key_uuid}" }, input, call);
  }

  /** Change the name or the expiry of a key. An omitted field keeps its value. Scopes and sources cannot be changed: create another key. */
  changeKey(
    input: {
      key_uuid: string;
      body: {
        /** For people; several keys may share a name. */
        readonly name?: string;
        /** The key is not valid from this time on. Null: it does not expire. */
        readonly expires_at?: string | null;
      };
    },
    call?: Call,
  ): Promise<Key> {
    return this.#send({ method: "PATCH", path: "/key/{key_uuid}", bodyType: "application/json" }, input, call);
  }

  /** Revoke a key. Requests with it are rejected at once, by other nodes within a second; its websockets, streams and publishers end within seconds. Processes that it has started continue. */
  revokeKey(
    input: { key_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/key/{key_uuid}" }, input, call);
  }

  /** Replace a key by a new one with the same rights. The old key stays valid for `overlap_seconds`, so that clients can change over; then its open streams end. The new key is shown only in this answer. */
  rotateKey(
    input: {
      key_uuid: string;
      body?: {
        /** For how long the old key stays valid. */
        readonly overlap_seconds?: number;
        /** Of the new key. Default: as that of the old key. */
        readonly expires_at?: string | null;
      };
    },
    call?: Call,
  ): Promise<CreatedKey> {
    return this.#send({ method: "POST", path: "/key/{key_uuid}/rotate", bodyType: "application/json" }, input, call);
  }

  /** List your account and its children, with limits and features. */
  listAccounts(call?: Call): Promise<{
    readonly accounts: readonly Account[];
  }> {
    return this.#send({ method: "GET", path: "/accounts" }, {}, call);
  }

  /** Change limits and features of a child account. A master gives its children at most what it has itself. Your own account can be changed with an operator key. An omitted field keeps its value. */
  changeAccount(
    input: {
      username: string;
      body: {
        /** Null: the limit of the configuration. */
        readonly limits?: {
          readonly processes?: number | null;
          readonly sources?: number | null;
          readonly outputs_registered?: number | null;
          readonly outputs_active?: number | null;
          readonly alerts?: number | null;
          readonly subscriptions?: number | null;
          readonly video_bytes?: number | null;
          readonly storage_bytes?: number | null;
          readonly requests_per_minute?: number | null;
          readonly socket_clients?: number | null;
        };
        /** Processes keep track reports. */
        readonly track_logger?: boolean;
        /** Processes are recorded. */
        readonly recording?: boolean;
        /** Track reports can be enhanced. */
        readonly enhancement?: boolean;
        /** May run and store its own graphs, and upload models. */
        readonly graph_author?: boolean;
        /** Null: the account does not expire. */
        readonly expires_at?: string | null;
      };
    },
    call?: Call,
  ): Promise<Account> {
    return this.#send({ method: "PATCH", path: "/account/{username}", bodyType: "application/json" }, input, call);
  }

  /** Ways to sign in to the console. */
  readSignInOptions(call?: Call): Promise<SignInOptions> {
    return this.#send({ method: "GET", path: "/sign_in" }, {}, call);
  }

  /** Sign in through the identity provider: for browsers. Redirects to the provider, which redirects back to `/sign_in/oidc/callback`. */
  beginSignIn(call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/sign_in/oidc" }, {}, call);
  }

  /** The way back from the identity provider: for browsers. Sets the cookie of the session: not readable by scripts, only sent by pages of this service, valid for `oidc.session_seconds`. Parameters are those of OpenID Connect. */
  finishSignIn(call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/sign_in/oidc/callback" }, {}, call);
  }

  /** End the session of the console. Its cookie is deleted, and the session ends everywhere. An API key stays valid. */
  signOut(call?: Call): Promise<SignedOut> {
    return this.#send({ method: "POST", path: "/sign_out" }, {}, call);
  }

  /** Upload a video file. A form with the file (mp4, mov, avi, ts, mkv or webm) in the part `file`, an optional `alias` (default: the file name) and an optional `loop`. A part with another name is accepted if it contains the only file. A part `telemetry` may contain the telemetry of the flight; `telemetry_format`, `telemetry_offset_seconds` and `telemetry_parameters` are the fields of `POST /source/{source_id}/telemetry`. KLV metadata (MISB ST 0601) of a ts file is found in it. With `loop=true`, a process plays the file as a live source: it never finishes by itself, and after a restart it begins at the start of the file. If you already have a source with the same bytes and the same `loop`, that source is returned and nothing is stored. */
  uploadVideo(input: { body: FormData }, call?: Call): Promise<Source> {
    return this.#send({ method: "POST", path: "/video", bodyType: "multipart/form-data" }, input, call);
  }

  /** Register a live stream. If you already have a source with the same URL and telemetry, that source is returned. A URL of this service's media server (`publish_urls` of `GET /user_info`, with a path behind it: `rtmp://{host}:1935/<username>/<path>`, `rtsp://{host}:8554/<username>/<path>` or `srt://{host}:8890/<username>/<path>`) makes it a media-server source: publish your stream to that URL, with your API key as the password or as `?api_key=`; by SRT with the stream id `#!::r=<username>/<path>,u=<key>,m=publish`. The event `stream-began` says when it can be played, `stream-rejected` why not. */
  registerStream(input: { body: NewStream }, call?: Call): Promise<Source> {
    return this.#send({ method: "POST", path: "/stream", bodyType: "application/json" }, input, call);
  }

  /** List your sources. */
  listSources(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at" | "alias" | "-alias";
      type?: "file" | "stream";
      stream_type?: "rtsp" | "rtmp" | "srt" | "udp";
      alias?: string;
      status?: "unknown" | "offline" | "streaming" | "processing";
    } = {},
    call?: Call,
  ): Promise<{
    readonly sources: readonly Source[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/sources", query: ["limit", "cursor", "sort", "type", "stream_type", "alias", "status"] },
      input,
      call,
    );
  }

  /** Get a source. */
  readSource(input: { source_id: string }, call?: Call): Promise<SourceDetails> {
    return this.#send({ method: "GET", path: "/source/{source_id}" }, input, call);
  }

  /** Change the alias or the telemetry of a source. */
  changeSource(input: { source_id: string; body: SourceChange }, call?: Call): Promise<Source> {
    return this.#send({ method: "PATCH", path: "/source/{source_id}", bodyType: "application/json" }, input, call);
  }

  /** Delete a source that no process uses, and its file. */
  deleteSource(
    input: { source_id: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/source/{source_id}" }, input, call);
  }

  /** Upload the telemetry of a video. A form with a telemetry file in the part `file`: subtitles of a DJI drone (`dji_srt`), a flight log as CSV (`flight_csv`), a MAVLink `.tlog` (`mavlink`), or one message per line (`native`, `vendor_a`). It replaces what the source had, and is used by processes that start afterwards, unless the source has a `telemetry_cfg`. Its times are aligned to the video as `offset_method` of the answer says. */
  uploadTelemetry(input: { source_id: string; body: FormData }, call?: Call): Promise<SourceTelemetry> {
    return this.#send(
      { method: "POST", path: "/source/{source_id}/telemetry", bodyType: "multipart/form-data" },
      input,
      call,
    );
  }

  /** Get the recorded telemetry of a video. */
  readTelemetry(input: { source_id: string }, call?: Call): Promise<SourceTelemetry> {
    return this.#send({ method: "GET", path: "/source/{source_id}/telemetry" }, input, call);
  }

  /** Delete the recorded telemetry of a video. */
  deleteTelemetry(
    input: { source_id: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/source/{source_id}/telemetry" }, input, call);
  }

  /** Calibrate the heading of a source with landmarks. A process must run on the source, with telemetry that has position and attitude. A landmark is a point of the picture whose coordinates you know; one is enough, and several in different frames reduce the error. Choose landmarks that are far away: 1 m is 0.6 degrees at 100 m. The offset between the bearing of the landmarks and that of their picture is stored with the source, replaces the one before, and is added to the heading of all its processes from now on. Positions that were computed before do not change. */
  calibrateSource(input: { source_uuid: string; body: NewCalibration }, call?: Call): Promise<Calibration> {
    return this.#send(
      { method: "POST", path: "/source/{source_uuid}/calibration", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Get the calibration of the heading of a source. */
  readCalibration(input: { source_uuid: string }, call?: Call): Promise<Calibration> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/calibration" }, input, call);
  }

  /** Use the heading of a source as its telemetry reports it. */
  deleteCalibration(
    input: { source_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/source/{source_uuid}/calibration" }, input, call);
  }

  /** List the recordings of your media-server sources. A recording starts when a stream is published, or a process pulls a camera that is to be recorded, and ends with it; until then `stopped_at` is null. Recordings are kept for their retention time, also when their source is deleted. */
  listRecordings(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "started_at" | "-started_at" | "alias" | "-alias";
      source_uuid?: string;
      alias?: string;
      since?: string;
      until?: string;
    } = {},
    call?: Call,
  ): Promise<{
    readonly recordings: readonly Recording[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      {
        method: "GET",
        path: "/sources/recordings",
        query: ["limit", "cursor", "sort", "source_uuid", "alias", "since", "until"],
      },
      input,
      call,
    );
  }

  /** Get how a source is recorded. */
  readRecordingSetting(input: { source_uuid: string }, call?: Call): Promise<RecordingSetting> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/recording" }, input, call);
  }

  /** Change how a source is recorded: start or stop recording now. For streams that are published to the service, and for cameras while a process pulls them (default: `off`). `always` starts to record a live stream now, with the seconds before (`pre_roll_seconds`, as far as they were kept: set them while it is not recorded). `off` ends the recording. `on_alert` records `recordings.on_alert_seconds` from each notice of an alert on this source. Omitted fields keep their values. Takes effect within some seconds. */
  changeRecordingSetting(
    input: { source_uuid: string; body: RecordingChange },
    call?: Call,
  ): Promise<RecordingSetting> {
    return this.#send(
      { method: "PATCH", path: "/source/{source_uuid}/recording", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Download a clip of a recorded stream or of a file: MP4. Cut out of the recordings of a media-server source, or out of an uploaded video, without encoding again. The first frame is the one on display at `from`, the last one the last before `to`. Of a recording, one second of the clip is one second of real time: where it has a gap, the last frame before it stays. `Windhover-Clip` is the time range of the frames, `Windhover-Gaps` lists the parts of the requested range without video, both as `from/to`. The clip has the codec of the video. With `boxes=true`, and of a video that is not H.264 or H.265 in MP4 or QuickTime, the clip is rendered, up to 10 seconds of it, and kept as one of `GET /clips`; the same request sends it again. `POST /clips` renders longer ones. */
  downloadClip(
    input: { source_uuid: string; from: string; to: string; boxes?: boolean; process_uuid?: string },
    call?: Call,
  ): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/source/{source_uuid}/clip", query: ["from", "to", "boxes", "process_uuid"] },
      input,
      call,
    );
  }

  /** Download an uploaded video. The file as it was uploaded, also an MPEG-TS with its KLV metadata. The whole file, or the part selected by `Range`. */
  downloadVideo(input: { source_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/file" }, input, call);
  }

  /** Get the picture of a source at a time: JPEG. The frame on display at that time, from the recordings of a media-server source or from the video of a file, for time lines and lists. Ask for one that is not needed any longer by closing the request. */
  downloadThumbnail(input: { source_uuid: string; at: string; width?: number }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/thumbnail", query: ["at", "width"] }, input, call);
  }

  /** Render a clip of a source, with or without boxes: MP4. The clip is encoded as H.264, without sound, by a job: `GET /clip/{clip_uuid}` shows its progress and, when it is ready, a signed URL; the event `clip-ready` or `clip-failed` (`GET /events`) says when. Works for all sources: recorded streams and files of every codec. Boxes, labels and trails are those of the stored detections, drawn as on the processed video. Clips are kept for `evidence.retention_days` or until deleted, and count in the storage of recordings of the key. */
  renderClip(input: { body: NewClip }, call?: Call): Promise<Clip> {
    return this.#send({ method: "POST", path: "/clips", bodyType: "application/json" }, input, call);
  }

  /** List your rendered clips. */
  listClips(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at";
      source_uuid?: string;
      state?: "queued" | "rendering" | "ready" | "failed";
      from?: string;
      to?: string;
    } = {},
    call?: Call,
  ): Promise<{
    readonly clips: readonly Clip[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/clips", query: ["limit", "cursor", "sort", "source_uuid", "state", "from", "to"] },
      input,
      call,
    );
  }

  /** Get a rendered clip: its state and progress. */
  readClip(input: { clip_uuid: string }, call?: Call): Promise<Clip> {
    return this.#send({ method: "GET", path: "/clip/{clip_uuid}" }, input, call);
  }

  /** Cancel or delete a rendered clip. */
  deleteClip(
    input: { clip_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/clip/{clip_uuid}" }, input, call);
  }

  /** Download a rendered clip: MP4. The whole file, or the part selected by `Range`. `download_url` of the record is this URL, signed. */
  downloadRenderedClip(input: { clip_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/clip/{clip_uuid}/file" }, input, call);
  }

  /** Get what happened on a source: recorded times, processes, tracks and notices of alerts. For a time line, of a week at most. Its size is bounded: `activity` merges tracks to what a screen can show, and `tracks` lists them for shorter ranges. Times of a stream are those of its frames. A file source is analysed anew by each process: its times are seconds from the start of the video, and the results of all processes are on the same time line. A file that is played as a live source (`loop`) has times of day and no recorded ranges. */
  readTimeline(input: { source_uuid: string; from?: string; to?: string }, call?: Call): Promise<Timeline> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/timeline", query: ["from", "to"] }, input, call);
  }

  /** Start a process on a source. Answers when the first frame of the source has been decoded. If no frame arrives within `runners.start_seconds` of the service (5 seconds by default) it answers 400; if this machine is too busy to start the process now, 503 with `Retry-After`. Where several nodes form one service, the process starts on one that has room; if none has, 503 `capacity_exhausted`. A start that fails, or whose client disconnects before the answer, leaves no process. With `wait`, it answers at once, and the process waits for its source: it counts towards the process limit, uses no minutes and no runner, and keeps what is attached to it; see the state `waiting`. With `recording_uuid`, recorded video is copied within the service and registered as a video (a second start uses the same one); it counts towards the limits of uploads, and is kept when the recording is removed. */
  startProcess(
    input: { source_uuid?: string; recording_uuid?: string; index?: number; graph?: string; body?: StartProcess } = {},
    call?: Call,
  ): Promise<StartedProcess> {
    return this.#send(
      {
        method: "POST",
        path: "/start",
        query: ["source_uuid", "recording_uuid", "index", "graph"],
        bodyType: "application/json",
      },
      input,
      call,
    );
  }

  /** List your processes. Active processes, unless `state` says otherwise. */
  listProcesses(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at" | "finished_at" | "-finished_at";
      state?: "active" | "all" | "starting" | "waiting" | "running" | "paused" | "stopping" | "finished" | "failed";
      source_uuid?: string;
      graph?: string;
      from?: string;
      to?: string;
    } = {},
    call?: Call,
  ): Promise<{
    readonly processes: readonly Process[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      {
        method: "GET",
        path: "/processes",
        query: ["limit", "cursor", "sort", "state", "source_uuid", "graph", "from", "to"],
      },
      input,
      call,
    );
  }

  /** Stop all your processes. Answers when all of them have stopped. */
  stopProcesses(call?: Call): Promise<StoppedProcesses> {
    return this.#send({ method: "DELETE", path: "/processes" }, {}, call);
  }

  /** Get a process. */
  readProcess(input: { process_uuid: string }, call?: Call): Promise<Process> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}" }, input, call);
  }

  /** Stop a process. Answers when the process has stopped; at once for one that has already ended. A process on another machine is stopped there. */
  stopProcess(
    input: { process_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/process/{process_uuid}" }, input, call);
  }

  /** Pause a process. Sockets and outputs stay open, but no data flows. Paused time uses no minutes; the process still counts towards the process limit. */
  pauseProcess(input: { process_uuid: string }, call?: Call): Promise<Process> {
    return this.#send({ method: "POST", path: "/process/{process_uuid}/pause" }, input, call);
  }

  /** Resume a paused process. A file continues where it was paused, a live source with its current frame. */
  resumeProcess(input: { process_uuid: string }, call?: Call): Promise<Process> {
    return this.#send({ method: "POST", path: "/process/{process_uuid}/resume" }, input, call);
  }

  /** Stop a process. Use `DELETE /process/{process_uuid}`. Deprecated. */
  stopProcessOld(
    input: { process_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "POST", path: "/process/{process_uuid}/stop" }, input, call);
  }

  /** Stop all your processes. Use `DELETE /processes`. Deprecated. */
  stopProcessesOld(call?: Call): Promise<StoppedProcesses> {
    return this.#send({ method: "POST", path: "/process/stop_all" }, {}, call);
  }

  /** Get URLs of the streams of a process that contain a token instead of the key. For players, pages and people that must not get the key. Each is valid until `expires_at` for streams that are opened, which then stay open; a token allows nothing else. */
  getProcessUrls(input: { process_uuid: string }, call?: Call): Promise<ProcessUrls> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/urls" }, input, call);
  }

  /** Processed frames as a stream of JPEGs. Each part has the header `X-Timestamp`, the time of its frame. Frames are encoded only while there are viewers. A slow viewer misses frames; a viewer that reads nothing for 10 s is disconnected. Feed and events of one process share a limit of 1000 viewers. The stream ends with the process. */
  watchFeed(input: { process_uuid: string; overlay?: "boxes" | "none" }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/feed", query: ["overlay"] }, input, call);
  }

  /** Events of a process, as server-sent events. `detections` (one frame on which inference ran), `drone` (camera position and attitude, as on `drone_data`), `camera` (its position and the ground that it sees, once per second of video), `state` (first, last and on every change), `stats` (once a second), `telemetry` (for a source with telemetry: first, and when its status changes), `alert` (a notification). Feed and events of one process share a limit of 1000 viewers. A viewer that does not keep up loses the oldest events; the next event says how many (`dropped`). Events are not sent again: `Last-Event-ID` is ignored. The stream ends with the process. */
  watchEvents(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/events" }, input, call);
  }

  /** Download one file of the processed video of a process: fragmented MP4. For keys with process recording. A new file starts with each start of the runner, and when a file reaches the configured segment length; `recordings` of the process lists the files. They are kept for the retention time of recordings. The whole file, or the part selected by `Range`; while the process runs, what has been written so far. */
  downloadProcessRecording(input: { process_uuid: string; index: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/recording/{index}" }, input, call);
  }

  /** Get the stored detections of a process. One message per line, as on the socket `detection_data`, oldest first; of a process that runs, what it has sent so far. Messages are stored while recording is enabled and the disk has space, and are kept for the retention time of recordings (`recordings.retention_days`). A process without stored messages in this range gets an empty answer. */
  streamDetections(input: { process_uuid: string; from?: string; to?: string }, call?: Call): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/process/{process_uuid}/detections", query: ["from", "to"] },
      input,
      call,
    );
  }

  /** Get the stored positions of the camera of a process. One message per line, as the event `camera`: about one per second of video, oldest first, with the ground that the camera saw. Stored and kept with the detections of the process. Empty for a source without telemetry. */
  streamCamera(input: { process_uuid: string; from?: string; to?: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/camera", query: ["from", "to"] }, input, call);
  }

  /** Get whether the processed video of a process is recorded. */
  readProcessRecordingSetting(input: { process_uuid: string }, call?: Call): Promise<ProcessRecordingSetting> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/recording" }, input, call);
  }

  /** Start or stop recording the processed video of a process. For keys with process recording. `on_alert` records `recordings.on_alert_seconds` from each notice of the process on. Takes effect within some seconds, and holds after restarts. */
  changeProcessRecordingSetting(
    input: { process_uuid: string; body: ProcessRecordingChange },
    call?: Call,
  ): Promise<ProcessRecordingSetting> {
    return this.#send(
      { method: "PATCH", path: "/process/{process_uuid}/recording", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Attach an output to a process. An output is attached to one active process at a time. Attaching it to the same process again changes nothing. */
  attachOutput(input: { process_uuid: string; output_uuid: string }, call?: Call): Promise<Output> {
    return this.#send({ method: "POST", path: "/process/{process_uuid}/{output_uuid}" }, input, call);
  }

  /** Detach an output from a process. The output stays registered. */
  detachOutput(
    input: { process_uuid: string; output_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/process/{process_uuid}/{output_uuid}" }, input, call);
  }

  /** Websocket: one message for every frame on which inference ran. A client that does not keep up loses the oldest messages; the next message says how many (`dropped`). One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`. */
  readDetectionData(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/detection_data" }, input, call);
  }

  /** Websocket: telemetry messages as received. In the native fields, independent of the format of the source. For a source with static telemetry its only message is sent on connection. A client that does not keep up loses the oldest messages; the next message says how many (`dropped`). One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`. */
  readDroneData(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/drone_data" }, input, call);
  }

  /** Register an output. If you already have an output with the same type, URL and settings, that output is returned. */
  registerOutput(input: { body: NewOutput }, call?: Call): Promise<Output> {
    return this.#send({ method: "POST", path: "/output", bodyType: "application/json" }, input, call);
  }

  /** List your outputs. */
  listOutputs(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at" | "alias" | "-alias";
      type?: "rtsp" | "rtmp" | "srt" | "detection_data" | "drone_data" | "cot" | "mqtt" | "mpegts";
      alias?: string;
      process_uuid?: string;
    } = {},
    call?: Call,
  ): Promise<{
    readonly outputs: readonly Output[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/outputs", query: ["limit", "cursor", "sort", "type", "alias", "process_uuid"] },
      input,
      call,
    );
  }

  /** Get an output. */
  readOutput(input: { output_uuid: string }, call?: Call): Promise<Output> {
    return this.#send({ method: "GET", path: "/output/{output_uuid}" }, input, call);
  }

  /** Change the alias, URL or video settings of an output. Omitted fields keep their values. While the output is attached to a process, only its alias can be changed. */
  changeOutput(input: { output_uuid: string; body: OutputChange }, call?: Call): Promise<Output> {
    return this.#send({ method: "PATCH", path: "/output/{output_uuid}", bodyType: "application/json" }, input, call);
  }

  /** Delete an output that is not attached. */
  deleteOutput(
    input: { output_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/output/{output_uuid}" }, input, call);
  }

  /** Websocket: camera position and attitude, sent by the client. Each text frame is one JSON telemetry message, native or in the format of the source. If the telemetry channel of the source is not `websocket`, the upgrade is rejected with 409 and the reason. An invalid message is answered with `{"error": {…}}` and has no effect; a valid message is not answered. One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`. */
  sendTelemetry(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/telemetry" }, input, call);
  }

  /** Statistics of the live stream of a media-server source. Frames, readers, and the quality of the connection to the publisher. Measured once per second. */
  readSourceStats(input: { source_uuid: string }, call?: Call): Promise<StreamStats> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/stream" }, input, call);
  }

  /** Play a media-server source by low-latency HLS. Players start with `index.m3u8`; `hls_url` of the record is its URL. URLs in playlists contain a session token. */
  readSourceHls(
    input: { source_uuid: string; file: string; _HLS_msn?: number; _HLS_skip?: string; _HLS_part?: number },
    call?: Call,
  ): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/source/{source_uuid}/hls/{file}", query: ["_HLS_msn", "_HLS_skip", "_HLS_part"] },
      input,
      call,
    );
  }

  /** Play a media-server source by WebRTC (WHEP). The body is the player's SDP offer, the answer is the media server's SDP answer. DELETE the URL in `Location` to end the session. `webrtc_url` of the record is this URL. */
  watchSource(input: { source_uuid: string; body: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "POST", path: "/source/{source_uuid}/whep", bodyType: "application/sdp" }, input, call);
  }

  /** End a session that was started with POST /source/{source_uuid}/whep. */
  leaveSource(
    input: { source_uuid: string; session: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
  }> {
    return this.#send({ method: "DELETE", path: "/source/{source_uuid}/whep/{session}" }, input, call);
  }

  /** Statistics of the live stream of an rtsp output. Frames, readers, and the quality of the connection to the publisher. Measured once per second. */
  readOutputStats(input: { output_uuid: string }, call?: Call): Promise<StreamStats> {
    return this.#send({ method: "GET", path: "/output/{output_uuid}/stream" }, input, call);
  }

  /** Play an rtsp output by low-latency HLS. Players start with `index.m3u8`; `hls_url` of the record is its URL. URLs in playlists contain a session token. */
  readOutputHls(
    input: { output_uuid: string; file: string; _HLS_msn?: number; _HLS_skip?: string; _HLS_part?: number },
    call?: Call,
  ): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/output/{output_uuid}/hls/{file}", query: ["_HLS_msn", "_HLS_skip", "_HLS_part"] },
      input,
      call,
    );
  }

  /** Play an rtsp output by WebRTC (WHEP). The body is the player's SDP offer, the answer is the media server's SDP answer. DELETE the URL in `Location` to end the session. `webrtc_url` of the record is this URL. */
  watchOutput(input: { output_uuid: string; body: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "POST", path: "/output/{output_uuid}/whep", bodyType: "application/sdp" }, input, call);
  }

  /** End a session that was started with POST /output/{output_uuid}/whep. */
  leaveOutput(
    input: { output_uuid: string; session: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
  }> {
    return this.#send({ method: "DELETE", path: "/output/{output_uuid}/whep/{session}" }, input, call);
  }

  /** Publish a media-server source by WebRTC (WHIP). The body is the publisher's SDP offer with H.264 video, the answer is the media server's SDP answer. Audio is not published. DELETE the URL in `Location` to end the stream. Send the key as `Authorization: Bearer`, as WHIP clients do, or in the header `api_key`. */
  publishSource(input: { source_uuid: string; body: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "POST", path: "/source/{source_uuid}/whip", bodyType: "application/sdp" }, input, call);
  }

  /** End a stream that was started with POST /source/{source_uuid}/whip. */
  unpublishSource(
    input: { source_uuid: string; session: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
  }> {
    return this.#send({ method: "DELETE", path: "/source/{source_uuid}/whip/{session}" }, input, call);
  }

  /** Download one segment of a recording: fragmented MP4, or MPEG-TS. The whole file, or the part selected by `Range`. While the recording continues: what has been written so far. With `format=ts` the same video as MPEG-TS, not encoded again, with the KLV metadata of the stream as a stream of its own; it is made while it is sent, without ranges. The MP4 has the metadata as event messages (MISB ST 1910). */
  downloadRecording(
    input: { recording_uuid: string; index: string; format?: "mp4" | "ts" },
    call?: Call,
  ): Promise<Answer> {
    return this.#send({ method: "GET", path: "/recording/{recording_uuid}/{index}", query: ["format"] }, input, call);
  }

  /** Delete a recording that has ended, and its files. */
  deleteRecording(
    input: { recording_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/recording/{recording_uuid}" }, input, call);
  }

  /** A page that plays the media-server source by HLS. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied. */
  getSourceHlsPage(input: { source_uuid: string; token?: string; api_key?: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/hls", query: ["token", "api_key"] }, input, call);
  }

  /** A page that plays the media-server source by WebRTC. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied. */
  getSourceWebrtcPage(input: { source_uuid: string; token?: string; api_key?: string }, call?: Call): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/source/{source_uuid}/webrtc", query: ["token", "api_key"] },
      input,
      call,
    );
  }

  /** A page that plays the rtsp output by HLS. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied. */
  getOutputHlsPage(input: { output_uuid: string; token?: string; api_key?: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/output/{output_uuid}/hls", query: ["token", "api_key"] }, input, call);
  }

  /** A page that plays the rtsp output by WebRTC. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied. */
  getOutputWebrtcPage(input: { output_uuid: string; token?: string; api_key?: string }, call?: Call): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/output/{output_uuid}/webrtc", query: ["token", "api_key"] },
      input,
      call,
    );
  }

  /** A file of the player pages. */
  getPlayerFile(
    input: { file: "player.css" | "screen.js" | "webrtc.js" | "hls.js" | "hls-library.js" },
    call?: Call,
  ): Promise<Answer> {
    return this.#send({ method: "GET", path: "/player/{file}" }, input, call);
  }

  /** Get the track report of a process, or its tracks as GeoJSON, KML or CSV. For processes whose key had the track logger when they started. The report of a running process covers the last minutes (`report.window_minutes`, default 5), that of a process that has ended all of it. `limit` and `cursor` page the report by track id; without them it is complete. The answer is streamed: a long process gives a long answer, most of which is images (`patches=false` omits them). The other formats contain all tracks, independent of the window. Paths are thinned: one point per second, and one whenever the object has moved by more than two metres and by more than its position error (properties of the element `report`). */
  readTracks(
    input: {
      process_uuid: string;
      format?: "json" | "geojson" | "kml" | "csv";
      window_minutes?: number;
      limit?: number;
      cursor?: string;
      sort?: "track_id" | "-track_id";
      class?: string;
      from?: string;
      to?: string;
      zone?: string;
      geo_zone?: string;
      patches?: boolean;
    },
    call?: Call,
  ): Promise<TrackReport | TrackCollection> {
    return this.#send(
      {
        method: "GET",
        path: "/process/{process_uuid}/tracks",
        query: [
          "format",
          "window_minutes",
          "limit",
          "cursor",
          "sort",
          "class",
          "from",
          "to",
          "zone",
          "geo_zone",
          "patches",
        ],
      },
      input,
      call,
    );
  }

  /** Same as GET. For processes whose key had the track logger when they started. The report of a running process covers the last minutes (`report.window_minutes`, default 5), that of a process that has ended all of it. `limit` and `cursor` page the report by track id; without them it is complete. The answer is streamed: a long process gives a long answer, most of which is images (`patches=false` omits them). The other formats contain all tracks, independent of the window. Paths are thinned: one point per second, and one whenever the object has moved by more than two metres and by more than its position error (properties of the element `report`). */
  postTracks(
    input: {
      process_uuid: string;
      format?: "json" | "geojson" | "kml" | "csv";
      window_minutes?: number;
      limit?: number;
      cursor?: string;
      sort?: "track_id" | "-track_id";
      class?: string;
      from?: string;
      to?: string;
      zone?: string;
      geo_zone?: string;
      patches?: boolean;
    },
    call?: Call,
  ): Promise<TrackReport | TrackCollection> {
    return this.#send(
      {
        method: "POST",
        path: "/process/{process_uuid}/tracks",
        query: [
          "format",
          "window_minutes",
          "limit",
          "cursor",
          "sort",
          "class",
          "from",
          "to",
          "zone",
          "geo_zone",
          "patches",
        ],
      },
      input,
      call,
    );
  }

  /** Delete the track report of a process. Deletes the tracks with their paths and images. A process that has ended then has no report. The report of a running process continues with new detections; objects that are still visible appear in it again. */
  deleteTracks(input: { process_uuid: string }, call?: Call): Promise<DeletedReport> {
    return this.#send({ method: "DELETE", path: "/process/{process_uuid}/tracks" }, input, call);
  }

  /** List your processes that have a track report. Processes whose key had the track logger when they started and whose report was not deleted; for keys with process recording, with the processed video. Tracks are kept for `report.retention_days`, also those of running processes. */
  listTrackedProcesses(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at" | "finished_at" | "-finished_at";
      source_uuid?: string;
      from?: string;
      to?: string;
    } = {},
    call?: Call,
  ): Promise<{
    readonly tracked_processes: readonly TrackedProcess[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/tracked_processes", query: ["limit", "cursor", "sort", "source_uuid", "from", "to"] },
      input,
      call,
    );
  }

  /** Start the enhancement of the report of a finished process. Every track gets `enhanced_data`: type, colour and licence plate of vehicles, clothing colours of people, attributes of flying objects; null where the image does not show it. While an enhancement runs, another request changes nothing; after that it starts a new one. The event `enhancement-finished` or `enhancement-failed` (`GET /events`) says when it has ended. Rejected when the running processes and enhancements of the key reach its process limit. An enhancement prevents no process from starting and uses no minutes. */
  enhanceTracks(input: { process_uuid: string }, call?: Call): Promise<EnhancementStarted> {
    return this.#send({ method: "POST", path: "/decorate_tracks/{process_uuid}" }, input, call);
  }

  /** Get the status of the enhancement. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows the results. */
  readEnhancement(input: { process_uuid: string }, call?: Call): Promise<EnhancementState> {
    return this.#send({ method: "GET", path: "/decorate_tracks/{process_uuid}/status" }, input, call);
  }

  /** Get the status of the enhancement. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows the results. */
  askForEnhancement(input: { process_uuid: string }, call?: Call): Promise<EnhancementState> {
    return this.#send({ method: "POST", path: "/decorate_tracks/{process_uuid}/status" }, input, call);
  }

  /** Describe an alert type and its parameters. Types: `grid-density`, `flow-control`, `follow-track`, `filter-search`, `convoy`, `graph-rule`. */
  describeAlertType(input: { name?: string; type?: string } = {}, call?: Call): Promise<AlertDescription> {
    return this.#send({ method: "GET", path: "/alert_description", query: ["name", "type"] }, input, call);
  }

  /** Show what the outputs of an alert would send. Renders a sample notification with the templates of these outputs, and rejects templates, headers and addresses that an alert would be rejected for. Nothing is sent or stored, and host names are not resolved; any valid URL or address will do. */
  previewAlert(input: { body: AlertPreviewRequest }, call?: Call): Promise<AlertPreview> {
    return this.#send({ method: "POST", path: "/alert_preview", bodyType: "application/json" }, input, call);
  }

  /** Register an alert for all processes. Applies at once to every active process whose graph can evaluate it, and to every process started later. A host name that does not resolve is rejected. A host that is offline is accepted: notifications are queued for it. */
  registerAlert(input: { body: NewAlert }, call?: Call): Promise<Alert> {
    return this.#send({ method: "POST", path: "/alert", bodyType: "application/json" }, input, call);
  }

  /** Add an alert to one process, by the process's uuid. The alert is deleted with its process. `GET /active/alerts` lists it, `GET /alerts` does not. */
  addAlert(input: { uuid: string; body: NewAlert }, call?: Call): Promise<Alert> {
    return this.#send({ method: "POST", path: "/alert/{uuid}", bodyType: "application/json" }, input, call);
  }

  /** Get an alert, by the alert's uuid. */
  readAlert(input: { uuid: string }, call?: Call): Promise<Alert> {
    return this.#send({ method: "GET", path: "/alert/{uuid}" }, input, call);
  }

  /** Change an alert, by the alert's uuid. Omitted fields keep their values. Each of `trigger`, `region`, `filter`, `parameters` and `output` that you send replaces the old value completely and restarts the evaluation of the alert. `status` and `alias` take effect at once. Other changes are shown as `pending` and take effect at the next start of a process; with `force` they take effect at once on every running process, without a restart and without disturbing clients, outputs or tracks. A restart after a crash of a runner or of the service does not apply them. An inactive alert runs on no process and has nothing pending. A webhook that answered 410 Gone receives nothing more until you send `output` again or reactivate the alert. `force` can be in the query or in the body; the query takes precedence. */
  changeAlert(input: { uuid: string; force?: boolean; body: AlertChange }, call?: Call): Promise<Alert> {
    return this.#send(
      { method: "PATCH", path: "/alert/{uuid}", query: ["force"], bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Stop an alert on every process and delete it, by the alert's uuid. Its queued notifications are deleted too. */
  deleteAlert(
    input: { uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/alert/{uuid}" }, input, call);
  }

  /** List your registered alerts, active and inactive. */
  listAlerts(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at" | "alias" | "-alias";
      type?: string;
      alias?: string;
      status?: "active" | "inactive";
    } = {},
    call?: Call,
  ): Promise<{
    readonly alerts: readonly Alert[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/alerts", query: ["limit", "cursor", "sort", "type", "alias", "status"] },
      input,
      call,
    );
  }

  /** List active alerts with the processes they run on. One entry for each pair of alert and process (`process_uuid`), with the configuration that runs there. Alerts of single processes are included. */
  listActiveAlerts(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at" | "alias" | "-alias";
      type?: string;
      alias?: string;
      process_uuid?: string;
    } = {},
    call?: Call,
  ): Promise<{
    readonly alerts: readonly Alert[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/active/alerts", query: ["limit", "cursor", "sort", "type", "alias", "process_uuid"] },
      input,
      call,
    );
  }

  /** List what your alerts have notified of. Every notice is kept for `evidence.retention_days`, also when its alert has no output, and when its alert, process or source is deleted. */
  listNotices(
    input: {
      limit?: number;
      cursor?: string;
      sort?: "timestamp" | "-timestamp";
      from?: string;
      to?: string;
      alert?: string;
      process?: string;
      source?: string;
      class?: string;
      reviewed?: boolean;
      evidence?: "pending" | "ready" | "partial" | "failed" | "skipped";
    } = {},
    call?: Call,
  ): Promise<{
    readonly notices: readonly Notice[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      {
        method: "GET",
        path: "/notices",
        query: ["limit", "cursor", "sort", "from", "to", "alert", "process", "source", "class", "reviewed", "evidence"],
      },
      input,
      call,
    );
  }

  /** Get a notice. */
  readNotice(input: { notice_uuid: string }, call?: Call): Promise<Notice> {
    return this.#send({ method: "GET", path: "/notice/{notice_uuid}" }, input, call);
  }

  /** Mark a notice as reviewed, or comment on it. `reviewed_by` is the user of the key. An omitted field keeps its value; a comment of null is removed. */
  reviewNotice(input: { notice_uuid: string; body: NoticeReview }, call?: Call): Promise<Notice> {
    return this.#send({ method: "PATCH", path: "/notice/{notice_uuid}", bodyType: "application/json" }, input, call);
  }

  /** Delete a notice, and its evidence. */
  deleteNotice(
    input: { notice_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/notice/{notice_uuid}" }, input, call);
  }

  /** Download the clip of a notice: MP4. What its alert requested (`evidence.clip`), without encoding again. Until it is complete: 409 with `Retry-After`. It is kept as long as the notice. */
  downloadEvidenceClip(input: { notice_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/notice/{notice_uuid}/clip" }, input, call);
  }

  /** Download the snapshot of a notice: JPEG. The frame of the notice, without boxes: `tracks` of the notice has them. Up to 1280 pixels wide. */
  downloadEvidenceSnapshot(input: { notice_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/notice/{notice_uuid}/snapshot" }, input, call);
  }

  /** Subscribe a URL to events of a process. Notifications are sent as JSON by POST, signed as defined by Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Any 2xx status accepts a notification; otherwise it is retried with backoff for ten minutes, and later notifications are queued behind it. Redirects are not followed. Delivery is at least once: a repeated notification has the same `webhook-id`. The first notification is sent at once; events within the interval are combined into the next one. While the receiver is offline the undelivered notification stays queued, and new events are combined into the next one, which is sent an interval later. Tracks that are visible when the subscription starts count as new. A subscription ends with its process: combined events are then sent at once. */
  subscribe(input: { process_uuid: string; body: NewSubscription }, call?: Call): Promise<CreatedSubscription> {
    return this.#send({ method: "POST", path: "/subscribe/{process_uuid}", bodyType: "application/json" }, input, call);
  }

  /** List the subscriptions to a process, with their delivery status. */
  listSubscriptions(
    input: {
      process_uuid: string;
      limit?: number;
      cursor?: string;
      sort?: "created_at" | "-created_at";
      event_type?: "new-tracks" | "target-count";
    },
    call?: Call,
  ): Promise<{
    readonly subscriptions: readonly {
      /** Lower case; upper case is accepted. */
      readonly uuid: string;
      /** Lower case; upper case is accepted. */
      readonly subscription_uuid: string;
      /** Lower case; upper case is accepted. */
      readonly process_uuid: string;
      /** Credentials are shown as `***`. */
      readonly notification_url: string;
      /** `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0. */
      readonly event_type: "new-tracks" | "target-count";
      /** Credentials are shown as `***`. */
      readonly auth_url: string | null;
      readonly notifier_policy_type: "backoff";
      readonly notifier_policy_args: {
        /** Minimum time between two notifications. */
        readonly backoff_seconds?: number;
      };
      /** `full` adds the track entries of the detection message. */
      readonly notification_format?: "simple" | "full";
      /** UTC, ISO 8601 with milliseconds. */
      readonly created_at: string;
      readonly delivery: {
        /** Notifications that wait for delivery or are being combined. */
        readonly waiting: number;
        /** Notifications accepted by the receiver. */
        readonly delivered: number;
        /** Notifications discarded because delivery failed for too long or the queue was full. */
        readonly dropped: number;
        readonly last_attempt_at: string | null;
        readonly last_delivered_at: string | null;
        /** Null if the last attempt succeeded. */
        readonly last_error: string | null;
      };
    }[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/subscriptions/{process_uuid}", query: ["limit", "cursor", "sort", "event_type"] },
      input,
      call,
    );
  }

  /** Delete subscriptions to a process and their queued notifications. `notification_url` and `event_type` select subscriptions, in the query or in a body; the query takes precedence. With neither, all subscriptions to the process are deleted. */
  unsubscribe(
    input: {
      process_uuid: string;
      notification_url?: string;
      event_type?: "new-tracks" | "target-count";
      body?: SubscriptionChoice;
    },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly process_uuid: string;
    /** UUIDs of the deleted subscriptions. */
    readonly uuids: readonly string[];
    /** Lower case; upper case is accepted. */
    readonly uuid?: string;
  }> {
    return this.#send(
      {
        method: "DELETE",
        path: "/subscriptions/{process_uuid}",
        query: ["notification_url", "event_type"],
        bodyType: "application/json",
      },
      input,
      call,
    );
  }

  /** Send a sample to the receivers of a process and return the results. `notification_url` and `event_type` select subscriptions, in the query or in a body; the query takes precedence. With neither, all are tested. Samples are signed like notifications, carry `sample: true`, are sent once, and are not queued behind other notifications. */
  testSubscriptions(
    input: {
      process_uuid: string;
      notification_url?: string;
      event_type?: "new-tracks" | "target-count";
      body?: SubscriptionChoice;
    },
    call?: Call,
  ): Promise<{
    readonly tests: readonly {
      /** Lower case; upper case is accepted. */
      readonly uuid: string;
      /** Lower case; upper case is accepted. */
      readonly subscription_uuid: string;
      /** `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0. */
      readonly event_type: "new-tracks" | "target-count";
      readonly notification_url: string;
      readonly delivered: boolean;
      /** Why it was not delivered; null if it was. */
      readonly detail: string | null;
    }[];
  }> {
    return this.#send(
      {
        method: "POST",
        path: "/subscriptions/{process_uuid}/test",
        query: ["notification_url", "event_type"],
        bodyType: "application/json",
      },
      input,
      call,
    );
  }

  /** List what has happened, or follow it as server-sent events. Every event of streams, processes, recordings, evidence, clips, reports and quotas of this key, stored in the transaction of the change itself: each once, also when a server is killed. They are kept for 30 days (`events.retention_days`), up to 10000 of a key (`events.per_key`). With `Accept: text/event-stream` the connection stays open: events after `Last-Event-ID` (or `after`) are sent from the log, then each new one; without either, new ones only. If some of these are no longer stored, an event `gap` says which. `event:` is the type, `id:` the number, `data:` the event. A comment is sent every 20 s; a client that reads nothing for 10 s is disconnected, and continues where it was with `Last-Event-ID`. Up to 8 such connections of a key on each node. A key that is limited to sources gets the events of these sources, with their numbers in the log of the account. */
  listEvents(
    input: {
      limit?: number;
      cursor?: string;
      type?: string;
      process?: string;
      source?: string;
      from?: string;
      to?: string;
      after?: number;
    } = {},
    call?: Call,
  ): Promise<{
    readonly events: readonly AccountEvent[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      {
        method: "GET",
        path: "/events",
        query: ["limit", "cursor", "type", "process", "source", "from", "to", "after"],
      },
      input,
      call,
    );
  }

  /** Send events to a webhook or an MQTT topic. One subscription for all streams and processes of this key, from now on; `source_uuid` limits it to a source and its processes. The subscription of a key that is limited to sources sends the events of these sources (`source_uuids`), also after the key is revoked, until it is deleted. Webhooks are signed as defined by Standard Webhooks and retried like those of `POST /subscribe/{process_uuid}`; delivery is at least once and in order, and `webhook-id` is the `uuid` of the event. */
  subscribeToEvents(input: { body: NewEventSubscription }, call?: Call): Promise<EventSubscription> {
    return this.#send({ method: "POST", path: "/events/subscriptions", bodyType: "application/json" }, input, call);
  }

  /** List your subscriptions to events, with their delivery status. */
  listEventSubscriptions(
    input: { limit?: number; cursor?: string } = {},
    call?: Call,
  ): Promise<{
    readonly subscriptions: readonly EventSubscription[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/events/subscriptions", query: ["limit", "cursor"] }, input, call);
  }

  /** Delete a subscription to events, and what waits for its receivers. */
  unsubscribeFromEvents(
    input: { subscription_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/events/subscription/{subscription_uuid}" }, input, call);
  }

  /** Send a sample to the receivers of a subscription and return the results. The sample has `sample: true`, is sent once, and is not queued behind events. */
  testEventSubscription(
    input: { subscription_uuid: string },
    call?: Call,
  ): Promise<{
    /** In the order of `output`. */
    readonly tests: readonly {
      readonly type: "webhook" | "mqtt";
      readonly delivered: boolean;
      /** Why it was not delivered; null if it was. */
      readonly detail: string | null;
    }[];
  }> {
    return this.#send({ method: "POST", path: "/events/subscription/{subscription_uuid}/test" }, input, call);
  }

  /** Get the background and the terrain shading of maps. For the map of the console and your own: raster tiles of Web Mercator with 256 × 256 pixels. */
  readMap(call?: Call): Promise<MapSettings> {
    return this.#send({ method: "GET", path: "/map" }, {}, call);
  }

  /** Get a tile of the background: an image. If `map.tiles` is a PMTiles file; otherwise 404. */
  downloadMapTile(input: { z: string; x: string; y: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/map/tiles/{z}/{x}/{y}" }, input, call);
  }

  /** Get a tile of the terrain shading: PNG. Black and white with transparency, lit from the north-west, from the files in `terrain.folder`; without it 404. Tiles are computed one at a time, and those of different keys alternate. */
  downloadTerrainTile(input: { z: string; x: string; y: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/map/terrain/{z}/{x}/{y}" }, input, call);
  }

  /** List the attached branches of a process, and the slots that can be attached. */
  listBranches(
    input: { process_uuid: string },
    call?: Call,
  ): Promise<{
    /** In the order of attachment. */
    readonly branches: readonly Branch[];
    /** Available slots with the JSON Schema of their parameters. */
    readonly slots: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  }> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/branches" }, input, call);
  }

  /** Attach a slot of the graph to a running process. A slot can be attached several times, each time with its own params. Branches count as active outputs of the key. They are attached again when the process is started again. Slots that the service attaches itself (`feed`, `view`, `recording`, `original`, `rtsp`, `rtmp`, `srt`, `cot`, `mqtt`, `mpegts`) are rejected, as are params that name a resource on the server. */
  attachBranch(input: { process_uuid: string; body: NewBranch }, call?: Call): Promise<Branch> {
    return this.#send(
      { method: "POST", path: "/process/{process_uuid}/branches", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Detach a branch from a process. Answers when the branch has ended and its files are complete. */
  detachBranch(
    input: { process_uuid: string; branch_uuid: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/process/{process_uuid}/branches/{branch_uuid}" }, input, call);
  }

  /** Run a variant of the graph beside a running process. Shows how another graph, version or param would behave on the live source, without touching the process. The shadow is a second runner on the same source, at a low priority. It has no outputs, alerts, webhooks, recordings, reports or stored detections: its detections are only compared with those of the process, frame by frame. Its graph may use elements whose `can_try` is true (`GET /elements/{name}`). It counts as a process of the key, uses its minutes, and ends after `seconds` or `frames`, or with the process. A process has one shadow at a time. Files that loop cannot have one: the second runner would be at another position. */
  startShadow(
    input: {
      process_uuid: string;
      body: {
        /** As `graph` of `POST /start`: `NAME` or `NAME@VERSION`. Default: the graph that the process runs. */
        readonly graph?: string;
        /** Values of the graph's params. Without `graph`, those of the process apply besides these. */
        readonly params?: Readonly<Record<string, unknown>>;
        /** It ends after this time. Default: 60. */
        readonly seconds?: number;
        /** It ends after this number of compared frames. */
        readonly frames?: number;
      };
    },
    call?: Call,
  ): Promise<Shadow> {
    return this.#send(
      { method: "POST", path: "/process/{process_uuid}/shadow", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Get the shadow of a process, with the comparison so far. */
  getShadow(input: { process_uuid: string }, call?: Call): Promise<Shadow> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/shadow" }, input, call);
  }

  /** End the shadow of a process. */
  stopShadow(input: { process_uuid: string }, call?: Call): Promise<Shadow> {
    return this.#send({ method: "DELETE", path: "/process/{process_uuid}/shadow" }, input, call);
  }

  /** List the graphs: installed ones and your own. An own graph is listed with its current version, as compiled when it was stored. */
  listGraphs(
    input: { limit?: number; cursor?: string; sort?: "name" | "-name"; origin?: "installed" | "own" } = {},
    call?: Call,
  ): Promise<{
    readonly graphs: readonly GraphSummary[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/graphs", query: ["limit", "cursor", "sort", "origin"] }, input, call);
  }

  /** Get a graph: its params, its YAML and the compiled pipeline. */
  getGraph(input: { name: string }, call?: Call): Promise<Graph> {
    return this.#send({ method: "GET", path: "/graphs/{name}" }, input, call);
  }

  /** Store a graph of your own. The graph as YAML, or as JSON: `{"yaml": "…"}`; its `graph` is the name in the path. Requires a key with the flag `graph_author`. It can use elements whose `can_try` is true (`GET /elements/{name}`); slots with other elements are left out. A graph with faults is rejected with all of them, each with its line and column. Every new text is a new version, and becomes the current one; versions never change. Names of installed graphs cannot be used. The operator limits the number of graphs and versions, and the size of a text. */
  storeGraph(input: { name: string; body: string }, call?: Call): Promise<GraphVersion> {
    return this.#send({ method: "PUT", path: "/graphs/{name}", bodyType: "application/yaml" }, input, call);
  }

  /** Delete a graph of your own, with all its versions. */
  deleteGraph(
    input: { name: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    readonly name: string;
  }> {
    return this.#send({ method: "DELETE", path: "/graphs/{name}" }, input, call);
  }

  /** List the versions of a graph of your own. */
  listGraphVersions(
    input: { name: string; limit?: number; cursor?: string; sort?: "created_at" | "-created_at" },
    call?: Call,
  ): Promise<{
    readonly versions: readonly GraphVersion[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/graphs/{name}/versions", query: ["limit", "cursor", "sort"] },
      input,
      call,
    );
  }

  /** Get one version of a graph of your own. */
  getGraphVersion(input: { name: string; version: string }, call?: Call): Promise<Graph> {
    return this.#send({ method: "GET", path: "/graphs/{name}/versions/{version}" }, input, call);
  }

  /** Validate a graph. The graph as YAML, or as JSON: `{"yaml": "…"}`. It is neither run nor stored. */
  validateGraph(input: { body: string }, call?: Call): Promise<GraphValidation> {
    return this.#send({ method: "POST", path: "/graphs/validate", bodyType: "application/yaml" }, input, call);
  }

  /** List the elements that graphs can use. */
  listElements(
    input: { limit?: number; cursor?: string; find?: string } = {},
    call?: Call,
  ): Promise<{
    readonly elements: readonly ElementSummary[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/elements", query: ["limit", "cursor", "find"] }, input, call);
  }

  /** Get everything about one element, as printed by `windhover inspect`. */
  getElement(input: { name: string }, call?: Call): Promise<Element> {
    return this.#send({ method: "GET", path: "/elements/{name}" }, input, call);
  }

  /** Run the tests of a graph. Requires a key with the flag `graph_author`. Runs `tests:` of a graph of your own, or of an installed one, one after the other, and answers when all have ended. `clip` of a test is `source:ALIAS` or `source:UUID`, a video that you have uploaded, or `test:PATTERN?frames=N`; tests of installed graphs can also name files beside the graph. Tests run at pace `fast`, up to 60 seconds each unless the operator has set another limit, with the elements of `POST /graphs/try`. Nothing is stored, and no alert is sent. A key runs its tests once at a time. Closing the connection cancels them. */
  testGraph(
    input: {
      name: string;
      body?: {
        /** A version of a graph of your own. Default: the current one. */
        readonly version?: number;
        /** Names of the tests to run. Default: all. */
        readonly only?: readonly string[];
      };
    },
    call?: Call,
  ): Promise<GraphTestReport> {
    return this.#send({ method: "POST", path: "/graphs/{name}/test", bodyType: "application/json" }, input, call);
  }

  /** List the models: installed ones and your own. */
  listModels(
    input: { limit?: number; cursor?: string; sort?: "name" | "-name"; origin?: "installed" | "own" } = {},
    call?: Call,
  ): Promise<{
    readonly models: readonly Model[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/models", query: ["limit", "cursor", "sort", "origin"] }, input, call);
  }

  /** Upload a model of your own. A form with the ONNX file in the part `file`, and its card (YAML, as of `windhover models show NAME`) in the part `card`. Requires a key with the flag `graph_author`. The card and the network are checked, and the network is run on one image, in a process with limits. Graphs of this key name the model as `detect: { model: NAME }`, and `detect` takes it as the param `model`. The same model again is not stored again. */
  uploadModel(input: { body: FormData }, call?: Call): Promise<Model> {
    return this.#send({ method: "POST", path: "/models", bodyType: "multipart/form-data" }, input, call);
  }

  /** Delete a model of your own. */
  deleteModel(
    input: { name: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
    readonly name: string;
  }> {
    return this.#send({ method: "DELETE", path: "/models/{name}" }, input, call);
  }

  /** Run your own graph for a minute. Requires a key with the flag `graph_author`. The graph can use elements whose `can_try` is true (`GET /elements/{name}`); slots with other elements are left out. The process ends after 60 seconds. */
  tryGraph(
    input: {
      body: {
        /** YAML of the graph. It may only use elements on the allow-list. */
        readonly yaml: string;
        /** Lower case; upper case is accepted. */
        readonly source_uuid: string;
        /** Values of the graph's parameters. */
        readonly params?: Readonly<Record<string, unknown>>;
      };
    },
    call?: Call,
  ): Promise<StartedProcess> {
    return this.#send({ method: "POST", path: "/graphs/try", bodyType: "application/json" }, input, call);
  }

  /** Get the running graph of a process. */
  getProcessGraph(
    input: { process_uuid: string; format?: "json" | "dot" | "mermaid" | "launch" },
    call?: Call,
  ): Promise<ProcessGraph> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/graph", query: ["format"] }, input, call);
  }

  /** Set live properties and params of a running graph. Values by node and property: `{"detect": {"confidence": 0.5}}`. `{"params": {"confidence": 0.5}}` sets params of the graph, and every property that uses them (in a graph with a node named `params` it addresses that node). The latest change of a property wins, also after a restart. All values are set or none; a property that is not mutable while PLAYING is rejected with 422 and the reason. `live_params` of `GET` lists the params that can be set. */
  setProcessGraph(
    input: { process_uuid: string; body: Readonly<Record<string, Readonly<Record<string, unknown>>>> },
    call?: Call,
  ): Promise<{
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
    /** Lower case; upper case is accepted. */
    readonly process_uuid: string;
    /** Values by node and property; `params` for the graph's parameters. */
    readonly set: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  }> {
    return this.#send(
      { method: "PATCH", path: "/process/{process_uuid}/graph", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Change a running process to another version of its graph. For a process of a graph of your own. Answers with the differences, each labelled: `live` (a property is set without interruption), `branch` (a branch is attached or detached), `relaunch` (the pipeline is restarted; a file continues at its position, track ids continue). With `dry_run` nothing is changed. Otherwise it answers when the version runs. If it does not, the process continues with the version before, and the answer has the reason. Roll back with the previous version. Params that were given keep their values, others get the defaults of the version. Values set with `PATCH` stay where the version has the same node and property. A version without a slot that an output or branch uses is rejected. */
  upgradeProcessGraph(
    input: {
      process_uuid: string;
      body: {
        /** A version of the graph that the process runs. */
        readonly version: number;
        /** Only answer what would change. Default: false. */
        readonly dry_run?: boolean;
      };
    },
    call?: Call,
  ): Promise<ProcessUpgrade> {
    return this.#send(
      { method: "POST", path: "/process/{process_uuid}/graph", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** See the next frame between two nodes of a running graph. Answers with the next buffer that passes the edge: a picture if it is raw video, as it is there, and the metadata of the frame. Of encoded video it answers only the caps. The stream neither waits nor loses a frame, and nothing is measured while no one asks. Requests for one edge within a fifth of a second get the same frame. */
  getProcessGraphEdge(
    input: { process_uuid: string; from: string; to: string },
    call?: Call,
  ): Promise<ProcessGraphEdge> {
    return this.#send(
      { method: "GET", path: "/process/{process_uuid}/graph/edge", query: ["from", "to"] },
      input,
      call,
    );
  }

  /** The operator's console. */
  getConsole(call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console" }, {}, call);
  }

  /** The operator's console. */
  getConsolePage(input: { page: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/{page}" }, input, call);
  }

  /** The operator's console. */
  getConsoleThing(input: { page: string; thing: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/{page}/{thing}" }, input, call);
  }

  /** The operator's console. */
  getConsolePart(input: { page: string; thing: string; part: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/{page}/{thing}/{part}" }, input, call);
  }

  /** A file of the operator's console. */
  getConsoleAsset(input: { file: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/assets/{file}" }, input, call);
  }

  /** Get the state of the demo. Requires an operator key. */
  readDemo(call?: Call): Promise<DemoState> {
    return this.#send({ method: "GET", path: "/demo" }, {}, call);
  }

  /** Start the demo. Registers a clip of a street as the source `Demo: street`, which is played in a loop like a camera, and starts a process with the graph `detect` on it. Answers when the process runs. The first time, the clip is downloaded (a few megabytes, from Debian's package `opencv-doc`) and converted, which takes a while; `GET /demo` shows the progress. Parts that already run are left unchanged. Requires an operator key. */
  startDemo(call?: Call): Promise<RunningDemo> {
    return this.#send({ method: "POST", path: "/demo" }, {}, call);
  }

  /** Stop the demo. Stops its process and all other processes on its source, and deletes the source. The clip stays in the cache. Requires an operator key. */
  stopDemo(call?: Call): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/demo" }, {}, call);
  }

  /** List the nodes of the service. One, unless several machines share a database. Requires an operator key. */
  listNodes(call?: Call): Promise<NodeListing> {
    return this.#send({ method: "GET", path: "/nodes" }, {}, call);
  }

  /** Drain a node. It takes no more processes and hands its own over to other nodes, one after the other. It stays drained until it is restarted or `DELETE` ends it. Requires an operator key. */
  drainNode(input: { node_uuid: string; body?: DrainNode }, call?: Call): Promise<Node> {
    return this.#send({ method: "POST", path: "/nodes/{node_uuid}/drain", bodyType: "application/json" }, input, call);
  }

  /** End the draining of a node. It takes processes again. Those that it has handed over stay where they are. Requires an operator key. */
  undrainNode(input: { node_uuid: string }, call?: Call): Promise<Node> {
    return this.#send({ method: "DELETE", path: "/nodes/{node_uuid}/drain" }, input, call);
  }

  /** Whether the server runs. For liveness probes: it does not depend on the database. Needs no key. */
  isAlive(call?: Call): Promise<Probe> {
    return this.#send({ method: "GET", path: "/healthz" }, {}, call);
  }

  /** Whether the server takes requests. For load balancers: 503 while the database cannot be reached, the node drains or the service shuts down. Needs no key. */
  isReady(call?: Call): Promise<Probe> {
    return this.#send({ method: "GET", path: "/readyz" }, {}, call);
  }

  /** Metrics for Prometheus. Frames, latency, drops, inference and memory of every process; streams, players and memory of the media hub; jitter, round trip and loss of every published stream; notifications and their delivery; stored detections; the nodes, their reserved cores and processes without room; requests by route; health of the components. Requires an operator key (the first key, or one created with `keys create --operator`), in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`, unless `http.metrics_open` is set. */
  readMetrics(call?: Call): Promise<string> {
    return this.#send({ method: "GET", path: "/metrics" }, {}, call);
  }

  /** This document. */
  getOpenApi(call?: Call): Promise<{
    readonly openapi: string;
  }> {
    return this.#send({ method: "GET", path: "/openapi.json" }, {}, call);
  }

  /** The messages of websockets, server-sent events, webhooks and MQTT topics. */
  getAsyncApi(call?: Call): Promise<{
    readonly asyncapi: string;
  }> {
    return this.#send({ method: "GET", path: "/asyncapi.json" }, {}, call);
  }

  /** The API in one page of text, for programs that read text. */
  getOverview(call?: Call): Promise<string> {
    return this.#send({ method: "GET", path: "/llms.txt" }, {}, call);
  }

  /** This document as an interactive page. */
  getDocs(call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/docs" }, {}, call);
  }
}
