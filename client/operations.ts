/**
 * Every operation of the API and every type in it. Made from the OpenAPI document by `npm run generate`; a test holds it
 * against the service. Not to be changed by hand.
 */
import type { Answer, Call, Transport } from "./transport.ts";

export const API_VERSION = "2.15.2";

export type Alert = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly alert_uuid: string;
  readonly alias: string;
  readonly type: string;
  readonly status: "active" | "inactive";
  readonly trigger: Readonly<Record<string, unknown>>;
  readonly region: Readonly<Record<string, unknown>>;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly output: readonly {
    readonly type: "mqtt" | "webhook";
    /** Secrets are shown as `***`. */
    readonly config: Readonly<Record<string, unknown>>;
  }[];
  /** The changed configuration, while a running process still uses the current one. It takes effect at the next start of a process, or at once with `force`. */
  readonly pending: {
    readonly trigger: Readonly<Record<string, unknown>>;
    readonly region: Readonly<Record<string, unknown>>;
    readonly filter: Readonly<Record<string, unknown>>;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly output: readonly {
      readonly type: "mqtt" | "webhook";
      /** Secrets are shown as `***`. */
      readonly config: Readonly<Record<string, unknown>>;
    }[];
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
  /** Destinations, 1 to 16. Each receives every notification in order, at least once. */
  readonly output?: readonly AlertOutput[];
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
  readonly type: "mqtt" | "webhook";
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
  /** Lower case; upper case is accepted. */
  readonly alert_uuid: string;
  readonly alias: string;
  readonly type: string;
  /** Lower case; upper case is accepted. */
  readonly process_uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** UTC, ISO 8601 with milliseconds. */
  readonly timestamp: string;
  readonly event: "triggered" | "updated" | "cleared";
  readonly tracks: readonly TrackEntry[];
  readonly data: Readonly<Record<string, unknown>>;
  /** Number of events lost before this one because the client reads too slowly. */
  readonly dropped?: number;
};

export type AlertOutput = {
  readonly type: "mqtt" | "webhook";
  /** Configuration for the type: see `MqttAlertOutput` and `WebhookAlertOutput`. */
  readonly config: MqttAlertOutput | WebhookAlertOutput;
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
  /** Why it is not live or receives no data, if known. */
  readonly status_detail: string | null;
  /** For `cot`: events. */
  readonly frames_sent: number;
  /** Frames that arrived faster than they could be encoded or sent. */
  readonly frames_dropped: number;
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
  /** `fetching`: its clip is downloaded, on first use. `converting`: its clip is converted, on first use. `starting`: the clip is published and its process starts. `running`: the demo can be watched. */
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
  /** On a websocket: number of messages lost before this one because the client reads too slowly. */
  readonly dropped?: number;
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
  /** Allowed in graphs for `POST /graphs/try`. */
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
  }[];
};

export type ElementSummary = {
  readonly name: string;
  /** `windhover` for Windhover's own elements. */
  readonly plugin: string;
  readonly about: string;
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

export type Graph = {
  readonly name: string;
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

export type GraphFault = {
  readonly line: number;
  readonly column: number;
  /** The extended graph that contains the fault; null for the graph's own text. */
  readonly file: string | null;
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

export type GraphValidation = {
  readonly valid: boolean;
  readonly faults: readonly GraphFault[];
};

export type Login = {
  readonly valid: true;
  readonly username: string;
  readonly product: string;
  /** Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire. */
  readonly expiration_date: string;
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
  readonly type: "grid-density" | "flow-control" | "follow-track" | "filter-search";
  /** Destinations, 1 to 16. Each receives every notification in order, at least once. */
  readonly output: readonly AlertOutput[];
  readonly status?: "active" | "inactive";
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
      };
  /** An object; `GET /alert_description` returns its schema. */
  readonly filter?: {
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
  };
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
    | Readonly<Record<string, never>>;
};

export type NewBranch = {
  /** A slot of the process's graph. */
  readonly slot: string;
  /** Parameters of the slot; `GET /process/{process_uuid}/branches` returns their schema. */
  readonly params?: Readonly<Record<string, unknown>>;
};

export type NewOutput = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias: string;
  readonly type: "rtsp" | "rtmp" | "detection_data" | "drone_data" | "cot";
  /** For video outputs, with the type as its scheme, and for `cot`, with `udp` or `mqtt`. Ignored for other types. */
  readonly url?: string;
  /** Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video. */
  readonly settings?: "360p" | "720p" | "1080p" | null;
};

export type NewStream = {
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias: string;
  /** A URL that begins with rtsp:// or rtsps:// or rtmp:// or rtmps:// and a host, of at most 2048 characters. */
  readonly input_url: string;
  readonly stream_type: "rtsp" | "rtmp";
  /** Null: no telemetry. */
  readonly telemetry_cfg?: TelemetryCfg | null;
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
  /** An MP4, MOV or AVI file with the matching extension. */
  readonly file: string;
  /** A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls. */
  readonly alias?: string;
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
  readonly type: "rtsp" | "rtmp" | "detection_data" | "drone_data" | "cot";
  /** Credentials are shown as `***`. */
  readonly url: string | null;
  /** Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video. */
  readonly settings: "360p" | "720p" | "1080p" | null;
  /** For `rtsp`: the URL for playback. */
  readonly play_url: string | null;
  /** The process that it is attached to. */
  readonly attached_to: string | null;
  readonly status: "idle" | "starting" | "live" | "retrying" | "failed";
  /** Why it is not live or receives no data, if known. */
  readonly status_detail: string | null;
  /** For `cot`: events. */
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
  readonly state: "starting" | "running" | "paused" | "stopping" | "finished" | "failed";
  /** The live source was lost and Windhover reconnects. */
  readonly reconnecting: boolean;
  /** Its runner crashed and is being restarted: no frames are processed. `last_error` has the reason. */
  readonly restarting: boolean;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  /** Credentials are shown as `***`. For files: the name. */
  readonly source_url: string;
  readonly graph: string;
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
    readonly type: "rtsp" | "rtmp" | "detection_data" | "drone_data" | "cot";
    readonly status: "idle" | "starting" | "live" | "retrying" | "failed";
    /** Why it is not live or receives no data, if known. */
    readonly status_detail: string | null;
    /** For `cot`: events. */
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
    /** Why there is no usable telemetry: what is missing, and what to do. */
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

export type Source = {
  /** Lower case; upper case is accepted. */
  readonly uuid: string;
  /** Lower case; upper case is accepted. */
  readonly source_uuid: string;
  readonly alias: string;
  readonly type: "file" | "stream";
  /** Null: a file. */
  readonly stream_type: "rtsp" | "rtmp" | null;
  /** Credentials are shown as `***`. For a file, the name of the upload. */
  readonly input_url: string;
  readonly telemetry_cfg: TelemetryCfg | null;
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

export type StartProcess = {
  /** Parameters of the graph; `GET /graphs/{name}` returns their schema. The source is not a parameter. */
  readonly params?: Readonly<Record<string, unknown>>;
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
  readonly state: "starting" | "running" | "paused" | "stopping" | "finished" | "failed";
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

/** `mqtt` (3.1.1 or 5, without TLS) requires the parameters `ip`, `port` and `topic`; `websocket` requires none; the parameters of `static` are the telemetry itself, in the format `native`. */
export type TelemetryCfg = {
  /** The channel by which telemetry is received. */
  readonly type: "mqtt" | "websocket" | "static";
  /** Format of the messages. */
  readonly format?: "native";
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
        /** Height of the geoid above the ellipsoid in metres. */
        readonly geoid_separation_m?: number;
        /** Reference of the gimbal's yaw: true north, or the nose of the drone. */
        readonly gimbal_yaw_frame?: "north" | "body";
      }
    | {
        /** Degrees, horizontal field of view. */
        readonly sensor_hfov?: number;
        /** Degrees, vertical field of view. */
        readonly sensor_vfov?: number;
        /** Height of the geoid above the ellipsoid in metres. */
        readonly geoid_separation_m?: number;
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
      };
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
    /** Why there is no usable telemetry: what is missing, and what to do. */
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

export class Operations {
  readonly #send: Transport;

  constructor(send: Transport) {
    this.#send = send;
  }

  /** Says how the service is. Needs no key. With a valid one it says how each part is. */
  getStatus(call?: Call): Promise<Status> {
    return this.#send({ method: "GET", path: "/status" }, {}, call);
  }

  /** Validates an API key. 403 says by its `code` whether the key is missing, not valid or expired. GET and POST answer alike. */
  login(call?: Call): Promise<Login> {
    return this.#send({ method: "GET", path: "/login" }, {}, call);
  }

  /** Validates an API key. 403 says by its `code` whether the key is missing, not valid or expired. GET and POST answer alike. */
  loginByPost(call?: Call): Promise<Login> {
    return this.#send({ method: "POST", path: "/login" }, {}, call);
  }

  /** Says what a key may do and what it has left. */
  getUserInfo(call?: Call): Promise<UserInformation> {
    return this.#send({ method: "GET", path: "/user_info" }, {}, call);
  }

  /** Says what a key has left, as it was said before `GET /user_info`. Deprecated. */
  getInfo(call?: Call): Promise<OldInformation> {
    return this.#send({ method: "GET", path: "/info" }, {}, call);
  }

  /** Hands pending minutes of a master key to itself or to one of its children. All or nothing. Two such calls at once never hand out more than there is. To a key without a limit nothing is handed, since it would be lost: 409 `minutes_unlimited`. */
  allocateMinutes(input: { body: Allocation }, call?: Call): Promise<Allocated> {
    return this.#send({ method: "POST", path: "/subscription/allocate", bodyType: "application/json" }, input, call);
  }

  /** Uploads a video file. A form with the file (mp4, mov or avi) as `file`, and optionally an `alias`: else the file's name is the alias. A file in a part of another name is taken too, as long as it is the only one. A file with the same bytes as one of yours is not stored again. */
  uploadVideo(input: { body: FormData }, call?: Call): Promise<Source> {
    return this.#send({ method: "POST", path: "/video", bodyType: "multipart/form-data" }, input, call);
  }

  /** Registers a live stream. One with the same address and telemetry as a source of yours is not registered again. An address of this service's own media server (`rtmp://{host}:1935/<username>/<path>` or `rtsp://{host}:8554/<username>/<path>`) makes it a media-server source: publish your stream to that address, with your key as the password or as `?api_key=`. */
  registerStream(input: { body: NewStream }, call?: Call): Promise<Source> {
    return this.#send({ method: "POST", path: "/stream", bodyType: "application/json" }, input, call);
  }

  /** Lists your sources. */
  listSources(
    input: { limit?: number; cursor?: string } = {},
    call?: Call,
  ): Promise<{
    readonly sources: readonly Source[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/sources", query: ["limit", "cursor"] }, input, call);
  }

  /** Shows a source. */
  readSource(input: { source_id: string }, call?: Call): Promise<Source> {
    return this.#send({ method: "GET", path: "/source/{source_id}" }, input, call);
  }

  /** Changes the alias or the telemetry of a source. */
  changeSource(input: { source_id: string; body: SourceChange }, call?: Call): Promise<Source> {
    return this.#send({ method: "PATCH", path: "/source/{source_id}", bodyType: "application/json" }, input, call);
  }

  /** Removes a source that no process runs on, and its file. */
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

  /** Lists the recordings of your media-server sources. Each time a stream is published a recording begins, and ends with it; `stopped_at` is null until then. They are kept when their source is deleted, for as long as recordings are kept. */
  listRecordings(
    input: { limit?: number; cursor?: string; source_uuid?: string; since?: string; until?: string } = {},
    call?: Call,
  ): Promise<{
    readonly recordings: readonly Recording[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send(
      { method: "GET", path: "/sources/recordings", query: ["limit", "cursor", "source_uuid", "since", "until"] },
      input,
      call,
    );
  }

  /** Starts a process on a source. Answers when the first frame of the source has been decoded, or within 5 seconds that there is none (400) or that this machine is too busy to start it now (503 with `Retry-After`). A start that fails, or whose client has gone before it was answered, leaves no process. */
  startProcess(
    input: { source_uuid: string; graph?: string; body?: StartProcess },
    call?: Call,
  ): Promise<StartedProcess> {
    return this.#send(
      { method: "POST", path: "/start", query: ["source_uuid", "graph"], bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Lists your processes. Those that are active; with `state=all` those that have finished or failed too. */
  listProcesses(
    input: { limit?: number; cursor?: string; state?: "active" | "all" } = {},
    call?: Call,
  ): Promise<{
    readonly processes: readonly Process[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/processes", query: ["limit", "cursor", "state"] }, input, call);
  }

  /** Stops all of your processes. Answers when all of them are gone. */
  stopProcesses(call?: Call): Promise<StoppedProcesses> {
    return this.#send({ method: "DELETE", path: "/processes" }, {}, call);
  }

  /** Shows a process. */
  readProcess(input: { process_uuid: string }, call?: Call): Promise<Process> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}" }, input, call);
  }

  /** Stops a process. Answers when it is gone. What has ended already is gone. One that another machine runs is stopped there. */
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

  /** Pauses a process. Sockets and outputs stay, nothing flows, minutes do not count. The limit of processes does. */
  pauseProcess(input: { process_uuid: string }, call?: Call): Promise<Process> {
    return this.#send({ method: "POST", path: "/process/{process_uuid}/pause" }, input, call);
  }

  /** Resumes a paused process. A file goes on where it stopped, a live source with what is live now. */
  resumeProcess(input: { process_uuid: string }, call?: Call): Promise<Process> {
    return this.#send({ method: "POST", path: "/process/{process_uuid}/resume" }, input, call);
  }

  /** Stops a process. Use `DELETE /process/{process_uuid}`. Deprecated. */
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

  /** Stops all of your processes. Use `DELETE /processes`. Deprecated. */
  stopProcessesOld(call?: Call): Promise<StoppedProcesses> {
    return this.#send({ method: "POST", path: "/process/stop_all" }, {}, call);
  }

  /** Processed frames as a stream of JPEGs. Each part has `X-Timestamp`, the time of its frame. Frames are encoded only while somebody looks. A slow viewer misses frames; one that takes nothing for `streams.feed_stall_seconds` is let go. Any number of viewers, up to 1000 of one process with those of its events. Ends with the process. */
  watchFeed(input: { process_uuid: string; overlay?: "boxes" | "none" }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/feed", query: ["overlay"] }, input, call);
  }

  /** What happens in a process, as server-sent events. `detections` (one frame on which inference ran), `drone` (where the camera is and looks, as on `drone_data`), `state` (first, last and whenever it changes), `stats` (once a second), `telemetry` (of a source that has some: first, and when its standing changes), `alert` (a notice). Any number of viewers, up to 1000 of one process with those of its feed. A viewer that does not keep up loses the oldest events, and the next one says how many (`dropped`). Nothing is sent again: `Last-Event-ID` is ignored. Ends with the process. */
  watchEvents(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/events" }, input, call);
  }

  /** One file of the processed video of a process: fragmented MP4. Of keys with process recording. A new file begins with each start of its runner, and when one is as long as recordings are cut; `recordings` of the process lists them. They are kept as long as recordings are. Whole, or the part that `Range` asks for; while it runs, what there is of it. */
  downloadProcessRecording(input: { process_uuid: string; index: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/recording/{index}" }, input, call);
  }

  /** Attaches an output to a process. An output is attached to one active process at a time. Attaching it there again changes nothing. */
  attachOutput(input: { process_uuid: string; output_uuid: string }, call?: Call): Promise<Output> {
    return this.#send({ method: "POST", path: "/process/{process_uuid}/{output_uuid}" }, input, call);
  }

  /** Detaches an output from a process. The output stays registered. */
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

  /** Websocket: one message for every frame on which inference ran. A client that does not keep up loses the oldest messages, and is told how many in the next one (`dropped`). One client at a time: a second one gets 409. Pinged every 20 s and closed when two pings go unanswered. Closed with 1000 when the process ends, with 1001 when the service is shut down. The key comes as the header `api_key` or as `?api_key=`. */
  readDetectionData(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/detection_data" }, input, call);
  }

  /** Websocket: telemetry messages as received. Whatever format they came in, in the native fields; of a source with static telemetry its one message, first thing. A client that does not keep up loses the oldest messages, and is told how many in the next one (`dropped`). One client at a time: a second one gets 409. Pinged every 20 s and closed when two pings go unanswered. Closed with 1000 when the process ends, with 1001 when the service is shut down. The key comes as the header `api_key` or as `?api_key=`. */
  readDroneData(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/drone_data" }, input, call);
  }

  /** Registers an output. One with the same type, url and settings as an output of yours is not registered again. */
  registerOutput(input: { body: NewOutput }, call?: Call): Promise<Output> {
    return this.#send({ method: "POST", path: "/output", bodyType: "application/json" }, input, call);
  }

  /** Lists your outputs. */
  listOutputs(
    input: { limit?: number; cursor?: string } = {},
    call?: Call,
  ): Promise<{
    readonly outputs: readonly Output[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/outputs", query: ["limit", "cursor"] }, input, call);
  }

  /** Shows an output. */
  readOutput(input: { output_uuid: string }, call?: Call): Promise<Output> {
    return this.#send({ method: "GET", path: "/output/{output_uuid}" }, input, call);
  }

  /** Removes an output that is not attached. */
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

  /** Websocket: where the camera is, sent by the client. Each text frame is one JSON telemetry message, native or in the format of the source. Where the telemetry of the source does not come by `websocket`, the socket is refused with 409 and the reason. A message that is not valid is answered with `{"error": {…}}` and changes nothing; a valid one is not answered. One client at a time: a second one gets 409. Pinged every 20 s and closed when two pings go unanswered. Closed with 1000 when the process ends, with 1001 when the service is shut down. The key comes as the header `api_key` or as `?api_key=`. */
  sendTelemetry(input: { process_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/telemetry" }, input, call);
  }

  /** A media-server source by low-latency HLS. `index.m3u8` is where players begin; `hls_url` of the record is its address. What playlists refer to is reached with a token of its own. */
  readSourceHls(
    input: { source_uuid: string; file: string; _HLS_msn?: number; _HLS_part?: number },
    call?: Call,
  ): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/source/{source_uuid}/hls/{file}", query: ["_HLS_msn", "_HLS_part"] },
      input,
      call,
    );
  }

  /** A media-server source by WebRTC (WHEP). The body is the offer of the player, the answer is that of the media server; `Location` is what to DELETE in the end. `webrtc_url` of the record is this address. */
  watchSource(input: { source_uuid: string; body: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "POST", path: "/source/{source_uuid}/whep", bodyType: "application/sdp" }, input, call);
  }

  /** Ends what was begun with POST /source/{source_uuid}/whep. */
  leaveSource(
    input: { source_uuid: string; session: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
  }> {
    return this.#send({ method: "DELETE", path: "/source/{source_uuid}/whep/{session}" }, input, call);
  }

  /** A rtsp output by low-latency HLS. `index.m3u8` is where players begin; `hls_url` of the record is its address. What playlists refer to is reached with a token of its own. */
  readOutputHls(
    input: { output_uuid: string; file: string; _HLS_msn?: number; _HLS_part?: number },
    call?: Call,
  ): Promise<Answer> {
    return this.#send(
      { method: "GET", path: "/output/{output_uuid}/hls/{file}", query: ["_HLS_msn", "_HLS_part"] },
      input,
      call,
    );
  }

  /** A rtsp output by WebRTC (WHEP). The body is the offer of the player, the answer is that of the media server; `Location` is what to DELETE in the end. `webrtc_url` of the record is this address. */
  watchOutput(input: { output_uuid: string; body: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "POST", path: "/output/{output_uuid}/whep", bodyType: "application/sdp" }, input, call);
  }

  /** Ends what was begun with POST /output/{output_uuid}/whep. */
  leaveOutput(
    input: { output_uuid: string; session: string },
    call?: Call,
  ): Promise<{
    readonly deleted: true;
  }> {
    return this.#send({ method: "DELETE", path: "/output/{output_uuid}/whep/{session}" }, input, call);
  }

  /** One segment of a recording: fragmented MP4. Whole, or the part that `Range` asks for. Of a recording that goes on: what there is of it. */
  downloadRecording(input: { recording_uuid: string; index: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/recording/{recording_uuid}/{index}" }, input, call);
  }

  /** Removes a recording that has ended, with its files. */
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

  /** A page that shows the media-server source by HLS. With `?token=` of a signed address, or `?api_key=`, which the page hands on to what it plays. Without either it says that it may not. */
  getSourceHlsPage(input: { source_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/hls" }, input, call);
  }

  /** A page that shows the media-server source by WebRTC. With `?token=` of a signed address, or `?api_key=`, which the page hands on to what it plays. Without either it says that it may not. */
  getSourceWebrtcPage(input: { source_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/source/{source_uuid}/webrtc" }, input, call);
  }

  /** A page that shows the rtsp output by HLS. With `?token=` of a signed address, or `?api_key=`, which the page hands on to what it plays. Without either it says that it may not. */
  getOutputHlsPage(input: { output_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/output/{output_uuid}/hls" }, input, call);
  }

  /** A page that shows the rtsp output by WebRTC. With `?token=` of a signed address, or `?api_key=`, which the page hands on to what it plays. Without either it says that it may not. */
  getOutputWebrtcPage(input: { output_uuid: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/output/{output_uuid}/webrtc" }, input, call);
  }

  /** A file of the players' pages. */
  getPlayerFile(
    input: { file: "player.css" | "screen.js" | "webrtc.js" | "hls.js" | "hls-library.js" },
    call?: Call,
  ): Promise<Answer> {
    return this.#send({ method: "GET", path: "/player/{file}" }, input, call);
  }

  /** The track report of a process, or its tracks as GeoJSON, KML or CSV. Of processes whose key had the track logger when they started. The report of a process that runs tells of the last minutes (`report.window_minutes`, 5 unless configured), that of one that has ended of all of it. `limit` and `cursor` page it, by the ids of the tracks; without them it is whole. Streamed: a long process makes a long answer, and pictures make up most of it (`patches=false` leaves them out). Other formats have all tracks, whatever the window. Paths are thinned: a point every second, and sooner when the object has moved more than two metres and than the error of its place (properties of the element `report`). */
  readTracks(
    input: {
      process_uuid: string;
      format?: "json" | "geojson" | "kml" | "csv";
      window_minutes?: number;
      limit?: number;
      cursor?: string;
      patches?: boolean;
    },
    call?: Call,
  ): Promise<TrackReport | TrackCollection> {
    return this.#send(
      {
        method: "GET",
        path: "/process/{process_uuid}/tracks",
        query: ["format", "window_minutes", "limit", "cursor", "patches"],
      },
      input,
      call,
    );
  }

  /** The same as with GET. Of processes whose key had the track logger when they started. The report of a process that runs tells of the last minutes (`report.window_minutes`, 5 unless configured), that of one that has ended of all of it. `limit` and `cursor` page it, by the ids of the tracks; without them it is whole. Streamed: a long process makes a long answer, and pictures make up most of it (`patches=false` leaves them out). Other formats have all tracks, whatever the window. Paths are thinned: a point every second, and sooner when the object has moved more than two metres and than the error of its place (properties of the element `report`). */
  postTracks(
    input: {
      process_uuid: string;
      format?: "json" | "geojson" | "kml" | "csv";
      window_minutes?: number;
      limit?: number;
      cursor?: string;
      patches?: boolean;
    },
    call?: Call,
  ): Promise<TrackReport | TrackCollection> {
    return this.#send(
      {
        method: "POST",
        path: "/process/{process_uuid}/tracks",
        query: ["format", "window_minutes", "limit", "cursor", "patches"],
      },
      input,
      call,
    );
  }

  /** Deletes the track report of a process. Tracks, their paths and their pictures. Of a process that has ended there is no report any more. Of one that runs, what was seen so far is gone, and the report goes on with what is seen from now on; what is on the picture then comes again with it. */
  deleteTracks(input: { process_uuid: string }, call?: Call): Promise<DeletedReport> {
    return this.#send({ method: "DELETE", path: "/process/{process_uuid}/tracks" }, input, call);
  }

  /** Lists your processes that have a track report. Those whose key had the track logger when they started and whose report was not deleted, with the processed video of keys with process recording. Tracks are kept for `report.retention_days`, also of processes that run. */
  listTrackedProcesses(
    input: { limit?: number; cursor?: string } = {},
    call?: Call,
  ): Promise<{
    readonly tracked_processes: readonly TrackedProcess[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/tracked_processes", query: ["limit", "cursor"] }, input, call);
  }

  /** Starts the enhancement of the report of a finished process. Every track gets `enhanced_data`: the type, colour and plate of vehicles, the colours that people wear, what can be said of things that fly; null where its picture does not show it. While one is under way, asking again changes nothing; after that it begins anew. Refused while as many processes and enhancements are under way as the key may have processes; it keeps no process from being started, and uses no minutes. */
  enhanceTracks(input: { process_uuid: string }, call?: Call): Promise<EnhancementStarted> {
    return this.#send({ method: "POST", path: "/decorate_tracks/{process_uuid}" }, input, call);
  }

  /** How far the enhancement is. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows it. */
  readEnhancement(input: { process_uuid: string }, call?: Call): Promise<EnhancementState> {
    return this.#send({ method: "GET", path: "/decorate_tracks/{process_uuid}/status" }, input, call);
  }

  /** How far the enhancement is. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows it. */
  askForEnhancement(input: { process_uuid: string }, call?: Call): Promise<EnhancementState> {
    return this.#send({ method: "POST", path: "/decorate_tracks/{process_uuid}/status" }, input, call);
  }

  /** What a type of alert does and takes. Types are `grid-density`, `flow-control`, `follow-track`, `filter-search`. */
  describeAlertType(input: { name?: string; type?: string } = {}, call?: Call): Promise<AlertDescription> {
    return this.#send({ method: "GET", path: "/alert_description", query: ["name", "type"] }, input, call);
  }

  /** Registers an alert for all processes. It applies to all active processes whose graph can evaluate it, at once, and to those that are started later. A host that no name server knows is refused; one that is away is not: notices wait for it. */
  registerAlert(input: { body: NewAlert }, call?: Call): Promise<Alert> {
    return this.#send({ method: "POST", path: "/alert", bodyType: "application/json" }, input, call);
  }

  /** Makes an alert for one process, by the process's uuid. It goes with its process. `GET /active/alerts` lists it, `GET /alerts` does not. */
  addAlert(input: { uuid: string; body: NewAlert }, call?: Call): Promise<Alert> {
    return this.#send({ method: "POST", path: "/alert/{uuid}", bodyType: "application/json" }, input, call);
  }

  /** Shows an alert, by the alert's uuid. */
  readAlert(input: { uuid: string }, call?: Call): Promise<Alert> {
    return this.#send({ method: "GET", path: "/alert/{uuid}" }, input, call);
  }

  /** Changes an alert, by the alert's uuid. What is left out stays. Each of `trigger`, `region`, `filter`, `parameters` and `output` that is sent replaces the whole of it and begins the alert anew. `status` and `alias` hold at once. A changed configuration waits for the next start of a process as `pending`, or, with `force`, is live on every running process at once, without a restart: no client, output or track is disturbed. A crash of a runner or of the service is no start. While the alert is inactive it runs nowhere, and nothing waits. A webhook that answered 410 Gone is told nothing more until `output` is sent again or the alert is made active again. `force` may be in the query or in the body; the query wins. */
  changeAlert(input: { uuid: string; force?: boolean; body: AlertChange }, call?: Call): Promise<Alert> {
    return this.#send(
      { method: "PATCH", path: "/alert/{uuid}", query: ["force"], bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Stops an alert on every process and removes it, by the alert's uuid. Notices that wait for its outputs go with it. */
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

  /** Lists your registered alerts, active or not. */
  listAlerts(
    input: { limit?: number; cursor?: string } = {},
    call?: Call,
  ): Promise<{
    readonly alerts: readonly Alert[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/alerts", query: ["limit", "cursor"] }, input, call);
  }

  /** Lists active alerts with the processes they run on. One entry for every alert and process that it runs on, `process_uuid`, with what it runs with there; those of single processes too. */
  listActiveAlerts(
    input: { limit?: number; cursor?: string } = {},
    call?: Call,
  ): Promise<{
    readonly alerts: readonly Alert[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/active/alerts", query: ["limit", "cursor"] }, input, call);
  }

  /** Subscribes an address to a process. Notifications are POSTed as JSON, signed as Standard Webhooks says: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Any 2xx takes one; else it is tried again, less and less often, for ten minutes, and those behind it wait. Redirects are not followed. At least once: one that comes twice has the same `webhook-id`. The first goes out at once; what happens within the interval is gathered into the next. While a receiver is away the one that it has not taken waits, and what happens meanwhile is gathered into the next, an interval after that one. Tracks that are shown when the subscription begins are new to it. A subscription ends with its process: what was gathered is sent at once. */
  subscribe(input: { process_uuid: string; body: NewSubscription }, call?: Call): Promise<CreatedSubscription> {
    return this.#send({ method: "POST", path: "/subscribe/{process_uuid}", bodyType: "application/json" }, input, call);
  }

  /** Lists the subscriptions to a process, and how their deliveries get on. */
  listSubscriptions(
    input: { process_uuid: string; limit?: number; cursor?: string },
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
      { method: "GET", path: "/subscriptions/{process_uuid}", query: ["limit", "cursor"] },
      input,
      call,
    );
  }

  /** Removes subscriptions to a process, and what waits for their receivers. `notification_url` and `event_type` choose among them, in the query or in a body; the query wins. With neither, all of the process are removed. */
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

  /** Sends a sample to the receivers of a process and tells what became of it. `notification_url` and `event_type` choose among them, in the query or in a body; the query wins. With neither, all are tried. Samples are signed as notifications are, carry `sample: true`, are sent once, and do not wait behind what waits. */
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

  /** Lists the attached branches of a process, and the slots that can be attached. */
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

  /** Attaches a slot of the graph to a running process. Any number of times, each with its own params. Branches count as active outputs of the key. They are attached again whenever the process is started again. Slots that the service attaches itself (`feed`, `view`, `recording`, and `rtsp`, `rtmp`, `cot` for outputs) are not for this, and params that name something on the server cannot be set. */
  attachBranch(input: { process_uuid: string; body: NewBranch }, call?: Call): Promise<Branch> {
    return this.#send(
      { method: "POST", path: "/process/{process_uuid}/branches", bodyType: "application/json" },
      input,
      call,
    );
  }

  /** Detaches a branch from a process. Answers when it is gone: what it writes is complete. */
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

  /** The graphs that are installed. */
  listGraphs(
    input: { limit?: number; cursor?: string } = {},
    call?: Call,
  ): Promise<{
    readonly graphs: readonly GraphSummary[];
    /** There is more: ask again with this `cursor`. */
    readonly next_cursor?: string;
  }> {
    return this.#send({ method: "GET", path: "/graphs", query: ["limit", "cursor"] }, input, call);
  }

  /** One graph: its params, its text and what it compiles to. */
  getGraph(input: { name: string }, call?: Call): Promise<Graph> {
    return this.#send({ method: "GET", path: "/graphs/{name}" }, input, call);
  }

  /** What is wrong with a graph. The graph as YAML, or as JSON: `{"yaml": "…"}`. Nothing is run and nothing is kept. */
  validateGraph(input: { body: string }, call?: Call): Promise<GraphValidation> {
    return this.#send({ method: "POST", path: "/graphs/validate", bodyType: "application/yaml" }, input, call);
  }

  /** The elements that graphs are made of. */
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

  /** Everything about one element, as `windhover inspect` prints it. */
  getElement(input: { name: string }, call?: Call): Promise<Element> {
    return this.#send({ method: "GET", path: "/elements/{name}" }, input, call);
  }

  /** Run a graph of your own for a minute. Needs a key with the flag `graph_author`. It may use elements whose `can_try` is true (`GET /elements/{name}`); slots with others are left out of it. It ends by itself after 60 seconds. */
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

  /** The graph of a process as it runs. */
  getProcessGraph(
    input: { process_uuid: string; format?: "json" | "dot" | "mermaid" | "launch" },
    call?: Call,
  ): Promise<ProcessGraph> {
    return this.#send({ method: "GET", path: "/process/{process_uuid}/graph", query: ["format"] }, input, call);
  }

  /** Set live properties and params of a running graph. Values by property, by node: `{"detect": {"confidence": 0.5}}`. `{"params": {"confidence": 0.5}}` sets params of the graph, and with them every property that takes their values (in a graph that has a node named `params`, it is that node). Of two changes of one property the later holds, also after a restart. All of them or none; what cannot change while it runs is answered with 422 and the reason. `live_params` of `GET` lists the params that can. */
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

  /** The operator's page. */
  getConsole(call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console" }, {}, call);
  }

  /** The operator's page. */
  getConsolePage(input: { page: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/{page}" }, input, call);
  }

  /** The operator's page. */
  getConsoleThing(input: { page: string; thing: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/{page}/{thing}" }, input, call);
  }

  /** The operator's page. */
  getConsolePart(input: { page: string; thing: string; part: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/{page}/{thing}/{part}" }, input, call);
  }

  /** A file of the operator's page. */
  getConsoleAsset(input: { file: string }, call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/console/assets/{file}" }, input, call);
  }

  /** Shows whether the demo runs. Needs the key of an operator. */
  readDemo(call?: Call): Promise<DemoState> {
    return this.#send({ method: "GET", path: "/demo" }, {}, call);
  }

  /** Starts the demo. A clip of a street is published to this service's own media server over and over; a source `Demo: street` is registered for it, and a process of the graph `detect` started on that. Answers when it runs. The first time the clip is fetched (some megabytes, out of Debian's package `opencv-doc`) and converted: that takes a while, and `GET /demo` tells how far it is. What runs already is left as it is. Needs the key of an operator. */
  startDemo(call?: Call): Promise<RunningDemo> {
    return this.#send({ method: "POST", path: "/demo" }, {}, call);
  }

  /** Stops the demo. Its process and whatever else runs on its source are stopped, and the source is removed. The clip stays in the cache. Needs the key of an operator. */
  stopDemo(call?: Call): Promise<{
    readonly deleted: true;
    /** Lower case; upper case is accepted. */
    readonly uuid: string;
  }> {
    return this.#send({ method: "DELETE", path: "/demo" }, {}, call);
  }

  /** Numbers for Prometheus. Frames, latency, drops, inference and memory of every process; streams, players and memory of the media hub; notices and their delivery; requests by route; health of the parts. Needs the key of an operator (the first key, or one made with `keys create --operator`), in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`, unless `http.metrics_open` is set. */
  readMetrics(call?: Call): Promise<string> {
    return this.#send({ method: "GET", path: "/metrics" }, {}, call);
  }

  /** This document. */
  getOpenApi(call?: Call): Promise<{
    readonly openapi: string;
  }> {
    return this.#send({ method: "GET", path: "/openapi.json" }, {}, call);
  }

  /** This document, to read and to try. */
  getDocs(call?: Call): Promise<Answer> {
    return this.#send({ method: "GET", path: "/docs" }, {}, call);
  }
}
