/** Video files and streams. */
import { type Static, Type } from "typebox";
import { PROTOCOLS } from "../hub.ts";
import { Mode } from "./recording-setting.ts";
import { aliasFilter, listing, listQuery, moment, orNull, Timestamp, Uuid, when } from "./records.ts";
import { TelemetryMessage } from "./telemetry.ts";

/** Zero-width characters and bidirectional controls: invisible, and they change how text is displayed. */
const UNSEEN = "\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff";

/** For display only, never used as a path. */
export const Alias = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: `^ *[^\\u0000-\\u0020\\u007f${UNSEEN}][^\\u0000-\\u001f\\u007f${UNSEEN}]*$`,
  description:
    "A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.",
});

const TELEMETRY_CHANNELS = ["mqtt", "websocket", "static", "udp", "embedded"] as const;
const TELEMETRY_FORMATS = ["native", "vendor_a", "mavlink", "misb_0601"] as const;
export const TELEMETRY_FILE_FORMATS = ["native", "vendor_a", "dji_srt", "flight_csv", "mavlink"] as const;

const { timestamp: _, sensor_hfov, sensor_vfov, ...places } = TelemetryMessage.properties;

/** For formats whose messages do not contain these values. */
const adapter = {
  sensor_hfov: Type.Optional(sensor_hfov),
  sensor_vfov: Type.Optional(sensor_vfov),
  geoid_separation_m: Type.Optional(
    Type.Union([Type.Number({ minimum: -200, maximum: 200 }), Type.Literal("auto")], {
      description:
        "Height of mean sea level above the WGS-84 ellipsoid in metres, which is subtracted from the height above the ellipsoid that the drone reports. `auto`: by EGM96 at its position. Default: 0 for `vendor_a`, `auto` for `misb_0601`.",
    }),
  ),
  gimbal_yaw_frame: Type.Optional(
    Type.Enum(["north", "body"], {
      description: "Reference of the gimbal's yaw: true north, or the nose of the drone.",
    }),
  ),
};

const plainText = (maxLength: number, description: string, more: { readonly secret?: true } = {}) =>
  Type.String({ minLength: 1, maxLength, pattern: "^[^\\u0000-\\u001f\\u007f]*$", description, ...more });

const LEVEL = "(\\+|[^+#/\\u0000-\\u001f\\u007f]*)";

export const MqttParameters = Type.Object({
  ip: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: "^([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)$",
    description: "Address or host name of the broker, without a port.",
  }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  topic: Type.String({
    minLength: 1,
    maxLength: 1024,
    pattern: `^(#|${LEVEL}(/${LEVEL})*(/#)?)$`,
    description:
      "The topic to subscribe to, 1 to 1024 characters without control characters. `+` matches one level, `#` at the end all further levels.",
  }),
  username: Type.Optional(plainText(255, "User name for the broker, 1 to 255 characters.")),
  password: Type.Optional(
    plainText(
      255,
      "Password of that user, 1 to 255 characters without control characters. Shown as `***`; send `***` to keep the stored password.",
      { secret: true },
    ),
  ),
  ...adapter,
});

export const WebsocketParameters = Type.Object(adapter);

export const UdpParameters = Type.Object({
  port: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    description:
      "The port that the drone sends to: one of those that the operator offers (`telemetry.udp_port_first` to `udp_port_last`), and not that of another key.",
  }),
  sender: Type.String({
    maxLength: 45,
    pattern: "^([0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)$",
    description: "IP address that the messages come from. Messages of other senders are ignored.",
  }),
  system_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 255,
      description: "The vehicle whose messages are used. Default: the first one that sends its position.",
    }),
  ),
  password: Type.Optional(
    plainText(
      255,
      "Passphrase of signed messages (MAVLink 2), 1 to 255 characters: others are ignored. Shown as `***`; send `***` to keep the stored one.",
      { secret: true },
    ),
  ),
  sensor_hfov: adapter.sensor_hfov,
  sensor_vfov: adapter.sensor_vfov,
});

export const EmbeddedParameters = Type.Object({ geoid_separation_m: adapter.geoid_separation_m });

export const StaticParameters = Type.Object({ sensor_hfov, sensor_vfov, ...places });

export const TelemetryCfg = Type.Object(
  {
    type: Type.Enum([...TELEMETRY_CHANNELS], { description: "The channel by which telemetry is received." }),
    format: Type.Optional(
      Type.Enum([...TELEMETRY_FORMATS], {
        description: "Format of the messages. Default: `mavlink` for `udp`, `misb_0601` for `embedded`, else `native`.",
      }),
    ),
    parameters: Type.Optional(orNull(Type.Object({}))),
  },
  {
    title: "TelemetryCfg",
    description:
      "`mqtt` (3.1.1 or 5, without TLS) requires the parameters `ip`, `port` and `topic`; `websocket` requires none; the parameters of `static` are the telemetry itself, in the format `native`; `udp` requires the parameters `port` and `sender`, and has the format `mavlink`; `embedded` is metadata in the stream itself (KLV, `misb_0601`).",
    allOf: [
      when("type", ["mqtt"], Type.Object({ parameters: MqttParameters })),
      when("type", ["websocket"], Type.Object({ parameters: Type.Optional(orNull(WebsocketParameters)) })),
      when(
        "type",
        ["static"],
        Type.Object({ format: Type.Optional(Type.Enum(["native"])), parameters: StaticParameters }),
      ),
      when("type", ["udp"], Type.Object({ format: Type.Optional(Type.Enum(["mavlink"])), parameters: UdpParameters })),
      when(
        "type",
        ["embedded"],
        Type.Object({
          format: Type.Optional(Type.Enum(["misb_0601"])),
          parameters: Type.Optional(orNull(EmbeddedParameters)),
        }),
      ),
      when("type", ["websocket"], Type.Object({ format: Type.Optional(Type.Enum(["native", "vendor_a"])) })),
    ],
  },
);

const TelemetrySetting = orNull(TelemetryCfg, { description: "Null: no telemetry." });

const inputUrl = (schemes: string) =>
  Type.String({
    maxLength: 2048,
    pattern: `^(${schemes})://[^/?#\\s\\\\]+([/?#][^\\s\\\\]*)?$`,
    description: `A URL that begins with ${schemes.replaceAll("|", ":// or ")}:// and a host, of at most 2048 characters.`,
  });

/** Extensions: `srt`, and `udp` for MPEG-TS in datagrams. */
export const SOURCE_STATUSES = ["unknown", "offline", "streaming", "processing"] as const;
const STATUS_MEANS =
  "Of a stream that is published to this service: `offline`, `streaming`, or `processing` while it is streaming and a process runs on it. Of files, and of streams elsewhere, which are not watched: `processing`, or else `unknown`.";
export const STREAM_TYPES = ["rtsp", "rtmp", "srt", "udp"] as const;

export const NewStream = Type.Object(
  {
    alias: Alias,
    input_url: inputUrl("rtsp|rtsps|rtmp|rtmps|srt|udp"),
    stream_type: Type.Enum([...STREAM_TYPES]),
    telemetry_cfg: Type.Optional(TelemetrySetting),
    recording: Type.Optional(Mode),
  },
  {
    title: "NewStream",
    allOf: [
      when("stream_type", ["rtsp"], Type.Object({ input_url: inputUrl("rtsp|rtsps") })),
      when("stream_type", ["rtmp"], Type.Object({ input_url: inputUrl("rtmp|rtmps") })),
      when("stream_type", ["srt"], Type.Object({ input_url: inputUrl("srt") })),
      when("stream_type", ["udp"], Type.Object({ input_url: inputUrl("udp") })),
    ],
  },
);
export type NewStream = Static<typeof NewStream>;

/** Multipart; only for the OpenAPI document. */
export const NewVideo = Type.Object(
  {
    file: Type.String({
      format: "binary",
      description: "An MP4, MOV, AVI or MPEG-TS file with the matching extension.",
    }),
    alias: Type.Optional(Alias),
    loop: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Play the file as a live source: in real time, starting again at its end, like a camera.",
      }),
    ),
    telemetry: Type.Optional(
      Type.String({
        format: "binary",
        description: "The telemetry of the flight, as in `POST /source/{source_id}/telemetry`.",
      }),
    ),
    telemetry_format: Type.Optional(Type.Enum([...TELEMETRY_FILE_FORMATS])),
    telemetry_offset_seconds: Type.Optional(Type.Number()),
    telemetry_parameters: Type.Optional(Type.String({ description: "JSON." })),
  },
  { title: "NewVideo" },
);

/** Of a telemetry file: values that it does not contain. */
export const TelemetryFileParameters = Type.Object(
  {
    ...adapter,
    takeoff_altitude_m: Type.Optional(
      Type.Number({
        minimum: -1000,
        maximum: 10_000,
        description: "Altitude of the take-off point above sea level, for files with heights above that point only.",
      }),
    ),
    system_id: UdpParameters.properties.system_id,
  },
  { title: "TelemetryFileParameters" },
);

/** Multipart; only for the OpenAPI document. */
export const NewTelemetryFile = Type.Object(
  {
    file: Type.String({ format: "binary" }),
    format: Type.Optional(
      Type.Enum([...TELEMETRY_FILE_FORMATS], { description: "Default: recognised by the first bytes of the file." }),
    ),
    offset_seconds: Type.Optional(
      Type.Number({
        minimum: -1e6,
        maximum: 1e6,
        description:
          "Where in the video the first sample of the file belongs, in seconds; negative if the file began before the video. Default: estimated.",
      }),
    ),
    parameters: Type.Optional(
      Type.String({ description: "Values that the file does not contain, as JSON: see TelemetryFileParameters." }),
    ),
  },
  { title: "NewTelemetryFile" },
);

export const SourceTelemetry = Type.Object(
  {
    source_uuid: Uuid,
    format: Type.String({ description: "`misb_0601`: found in the video itself." }),
    file_name: orNull(Type.String(), { description: "Null: it was found in the video." }),
    samples: Type.Integer({ minimum: 1 }),
    from_seconds: Type.Number({ description: "Where in the video its first sample belongs." }),
    to_seconds: Type.Number({ description: "Where in the video its last sample belongs." }),
    offset_method: Type.Enum(["given", "video_time", "recording_flag", "creation_time", "same_start"], {
      description:
        "How the times of the file were aligned to the video: `given` by you; `video_time`: the file states times in the video; `recording_flag`: it states when the camera recorded; `creation_time` of the video; `same_start`: both are taken to start together.",
    }),
    offset_error_seconds: Type.Number({
      minimum: 0,
      description:
        "Standard deviation of that alignment. Above 0.05, a process refines it by comparing the motion of the image with the telemetry.",
    }),
    detail: orNull(Type.String(), { description: "What the file lacks for geolocation, and what to do." }),
    created_at: Timestamp,
  },
  { title: "SourceTelemetry" },
);
export type SourceTelemetry = Static<typeof SourceTelemetry>;

export const SourceChange = Type.Object(
  { alias: Type.Optional(Alias), telemetry_cfg: Type.Optional(TelemetrySetting) },
  {
    title: "SourceChange",
    description: "Omitted fields are kept. A change of telemetry takes effect at the next start.",
  },
);
export type SourceChange = Static<typeof SourceChange>;

export const SourceRecord = Type.Object(
  {
    uuid: Uuid,
    source_uuid: Uuid,
    alias: Type.String(),
    type: Type.Enum(["file", "stream"]),
    stream_type: orNull(Type.Enum([...STREAM_TYPES]), { description: "Null: a file." }),
    input_url: Type.String({ description: "Credentials are shown as `***`. For a file, the name of the upload." }),
    telemetry_cfg: orNull(TelemetryCfg),
    loop: Type.Boolean({ description: "True: a file that is played as a live source and starts again at its end." }),
    status: Type.Enum([...SOURCE_STATUSES], { description: STATUS_MEANS }),
    created_at: Timestamp,
    hls_url: Type.Optional(
      Type.String({ description: "Media-server sources only. Works without a key, for a limited time." }),
    ),
    webrtc_url: Type.Optional(
      Type.String({ description: "WHEP. Media-server sources only. Works without a key, for a limited time." }),
    ),
  },
  { title: "Source" },
);
export type SourceRecord = Static<typeof SourceRecord>;

export const SourceQuery = listQuery(["created_at", "alias"], {
  type: Type.Optional(Type.Enum(["file", "stream"], { description: "Only files, or only streams." })),
  stream_type: Type.Optional(Type.Enum([...STREAM_TYPES], { description: "Only streams of this protocol." })),
  alias: aliasFilter,
  status: Type.Optional(Type.Enum([...SOURCE_STATUSES], { description: STATUS_MEANS })),
});

export const SourceDetails = Type.Object(
  {
    ...SourceRecord.properties,
    status_detail: orNull(Type.String(), {
      description:
        "Media-server sources only: why the last publisher was rejected, or why nothing can be published. Null: the last one was accepted.",
    }),
    codec: orNull(Type.String(), { description: "`h264` for example. Null: not known, as the next." }),
    width: orNull(Type.Integer({ minimum: 1 })),
    height: orNull(Type.Integer({ minimum: 1 })),
    fps: orNull(Type.Number({ minimum: 0 }), { description: "Of a published stream: on average since it began." }),
    duration_seconds: orNull(Type.Number({ minimum: 0 }), {
      description: "Of a file; of a published stream: since it began.",
    }),
    bytes: orNull(Type.Integer({ minimum: 0 }), {
      description: "Of a file; of a stream that is published on this node: received since it began.",
    }),
  },
  { title: "SourceDetails" },
);
export type SourceDetails = Static<typeof SourceDetails>;

export const SourceListing = listing({ sources: Type.Array(SourceRecord) });

/** Counters start when the stream is published. */
export const StreamStats = Type.Object(
  {
    protocol: Type.Enum([...PROTOCOLS], { description: "By which it is published." }),
    width: Type.Integer({ minimum: 0 }),
    height: Type.Integer({ minimum: 0 }),
    has_audio: Type.Boolean(),
    readers: Type.Integer({ minimum: 0, description: "Players, HLS, WebRTC, recordings and processes." }),
    frames: Type.Integer({ minimum: 0, description: "Frames received." }),
    bytes: Type.Integer({ minimum: 0 }),
    frames_missed: Type.Integer({ minimum: 0, description: "Frames dropped for readers that are too slow." }),
    jitter_ms: Type.Number({
      minimum: 0,
      description: "How irregularly frames arrive, compared with their timestamps (the estimate of RFC 3550).",
    }),
    link: orNull(
      Type.Object({
        round_trip_ms: orNull(Type.Number({ minimum: 0 })),
        packets_received: Type.Integer({ minimum: 0 }),
        packets_lost: Type.Integer({ minimum: 0, description: "Found missing. SRT requests them again." }),
        packets_dropped: Type.Integer({ minimum: 0, description: "Lost for good: not received in time." }),
      }),
      { description: "The connection to the publisher. Null: its protocol does not measure it (TCP)." },
    ),
  },
  { title: "StreamStats" },
);
export type StreamStats = Static<typeof StreamStats>;

const RecordingRecord = Type.Object(
  {
    uuid: Uuid,
    source_uuid: Uuid,
    alias: Type.String(),
    started_at: Timestamp,
    stopped_at: orNull(Timestamp),
    detail: orNull(Type.String(), { description: "Why it ended, if not with its stream." }),
    duration_seconds: Type.Number({ minimum: 0 }),
    size_bytes: Type.Integer({ minimum: 0 }),
    segments: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        started_at: Timestamp,
        duration_seconds: Type.Number({ minimum: 0 }),
        size_bytes: Type.Integer({ minimum: 0 }),
        download_url: Type.String(),
      }),
    ),
  },
  { title: "Recording" },
);

export const RecordingQuery = listQuery(["started_at", "alias"], {
  source_uuid: Type.Optional(Uuid),
  alias: aliasFilter,
  since: Type.Optional(moment("Recordings that end at this time or later.")),
  until: Type.Optional(moment("Recordings that start before this time.")),
});

export const RecordingListing = listing({ recordings: Type.Array(RecordingRecord) });
