/** Video files and streams. */
import { type Static, Type } from "typebox";
import { listing, orNull, PageQuery, Timestamp, Uuid, when } from "./records.ts";
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

const TELEMETRY_CHANNELS = ["mqtt", "websocket", "static"] as const;
const TELEMETRY_FORMATS = ["native", "vendor_a"] as const;

const { timestamp: _, sensor_hfov, sensor_vfov, ...places } = TelemetryMessage.properties;

/** For `vendor_a`, whose messages do not contain these values. */
const adapter = {
  sensor_hfov: Type.Optional(sensor_hfov),
  sensor_vfov: Type.Optional(sensor_vfov),
  geoid_separation_m: Type.Optional(
    Type.Number({ minimum: -200, maximum: 200, description: "Height of the geoid above the ellipsoid in metres." }),
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

export const StaticParameters = Type.Object({ sensor_hfov, sensor_vfov, ...places });

export const TelemetryCfg = Type.Object(
  {
    type: Type.Enum([...TELEMETRY_CHANNELS], { description: "The channel by which telemetry is received." }),
    format: Type.Optional(
      Type.Enum([...TELEMETRY_FORMATS], { default: "native", description: "Format of the messages." }),
    ),
    parameters: Type.Optional(orNull(Type.Object({}))),
  },
  {
    title: "TelemetryCfg",
    description:
      "`mqtt` (3.1.1 or 5, without TLS) requires the parameters `ip`, `port` and `topic`; `websocket` requires none; the parameters of `static` are the telemetry itself, in the format `native`.",
    allOf: [
      when("type", ["mqtt"], Type.Object({ parameters: MqttParameters })),
      when("type", ["websocket"], Type.Object({ parameters: Type.Optional(orNull(WebsocketParameters)) })),
      when(
        "type",
        ["static"],
        Type.Object({ format: Type.Optional(Type.Enum(["native"])), parameters: StaticParameters }),
      ),
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

export const NewStream = Type.Object(
  {
    alias: Alias,
    input_url: inputUrl("rtsp|rtsps|rtmp|rtmps"),
    stream_type: Type.Enum(["rtsp", "rtmp"]),
    telemetry_cfg: Type.Optional(TelemetrySetting),
  },
  {
    title: "NewStream",
    allOf: [
      when("stream_type", ["rtsp"], Type.Object({ input_url: inputUrl("rtsp|rtsps") })),
      when("stream_type", ["rtmp"], Type.Object({ input_url: inputUrl("rtmp|rtmps") })),
    ],
  },
);
export type NewStream = Static<typeof NewStream>;

/** Multipart; only for the OpenAPI document. */
export const NewVideo = Type.Object(
  {
    file: Type.String({ format: "binary", description: "An MP4, MOV or AVI file with the matching extension." }),
    alias: Type.Optional(Alias),
    loop: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Play the file as a live source: in real time, starting again at its end, like a camera.",
      }),
    ),
  },
  { title: "NewVideo" },
);

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
    stream_type: orNull(Type.Enum(["rtsp", "rtmp"]), { description: "Null: a file." }),
    input_url: Type.String({ description: "Credentials are shown as `***`. For a file, the name of the upload." }),
    telemetry_cfg: orNull(TelemetryCfg),
    loop: Type.Boolean({ description: "True: a file that is played as a live source and starts again at its end." }),
    status: Type.Enum(["unknown", "offline", "streaming", "processing"]),
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

export const SourceListing = listing({ sources: Type.Array(SourceRecord) });

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

/** Linear: alternatives of fixed length. */
export const MOMENT =
  "^[12]\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])(T([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,6})?)?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d))?$";

export const moment = (description: string) =>
  Type.String({
    pattern: MOMENT,
    description: `${description} ISO 8601: \`2026-05-17T08:30:00Z\`, or a day.`,
  });

export const RecordingQuery = Type.Object({
  ...PageQuery.properties,
  source_uuid: Type.Optional(Uuid),
  since: Type.Optional(moment("Recordings that end at this time or later.")),
  until: Type.Optional(moment("Recordings that start before this time.")),
});

export const RecordingListing = listing({ recordings: Type.Array(RecordingRecord) });
