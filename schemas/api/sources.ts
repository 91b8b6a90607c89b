/** Video files and streams. */
import { type Static, Type } from "typebox";
import { when } from "./conditions.ts";
import { listing, PageQuery, Timestamp, Uuid } from "./records.ts";
import { TelemetryMessage } from "./telemetry.ts";

/** What cannot be seen and changes how the text around it is read: zero-width characters and bidirectional controls. */
const UNSEEN = "\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff";

/** Aliases are shown, never used as a path. */
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

/** Of `vendor_a`, whose messages do not tell them. */
const adapter = {
  sensor_hfov: Type.Optional(sensor_hfov),
  sensor_vfov: Type.Optional(sensor_vfov),
  geoid_separation_m: Type.Optional(
    Type.Number({ minimum: -200, maximum: 200, description: "Metres of the geoid above the ellipsoid." }),
  ),
  gimbal_yaw_frame: Type.Optional(Type.Enum(["north", "body"], { description: "What the gimbal's yaw counts from." })),
};

const plainText = (maxLength: number, description: string, more: { readonly secret?: true } = {}) =>
  Type.String({ minLength: 1, maxLength, pattern: "^[^\\u0000-\\u001f\\u007f]*$", description, ...more });

const LEVEL = "(\\+|[^+#/\\u0000-\\u001f\\u007f]*)";

export const MqttParameters = Type.Object({
  ip: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: "^([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)$",
    description: "Address or name of the broker's host, without a port.",
  }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  topic: Type.String({
    minLength: 1,
    maxLength: 1024,
    pattern: `^(#|${LEVEL}(/${LEVEL})*(/#)?)$`,
    description:
      "The topic to read, 1 to 1024 characters without control characters. `+` stands for one whole level, `#` at the end for all that follow.",
  }),
  username: Type.Optional(plainText(255, "A user of the broker, 1 to 255 characters.")),
  password: Type.Optional(
    plainText(
      255,
      "That user's password, 1 to 255 characters without control characters. Shown as `***`; `***` in an update leaves it as it is.",
      { secret: true },
    ),
  ),
  ...adapter,
});

export const WebsocketParameters = Type.Object(adapter);

export const StaticParameters = Type.Object({ sensor_hfov, sensor_vfov, ...places });

export const TelemetryCfg = Type.Object(
  {
    type: Type.Enum([...TELEMETRY_CHANNELS], { description: "The channel that telemetry comes by." }),
    format: Type.Optional(Type.Enum([...TELEMETRY_FORMATS], { default: "native", description: "Of the messages." })),
    parameters: Type.Optional(Type.Union([Type.Object({}), Type.Null()])),
  },
  {
    title: "TelemetryCfg",
    description:
      "`mqtt` (3.1.1 or 5, without TLS) needs the parameters `ip`, `port` and `topic`; `websocket` none; `static` has the telemetry itself as its parameters, and the format `native` only.",
    allOf: [
      when("type", ["mqtt"], Type.Object({ parameters: MqttParameters })),
      when(
        "type",
        ["websocket"],
        Type.Object({ parameters: Type.Optional(Type.Union([WebsocketParameters, Type.Null()])) }),
      ),
      when(
        "type",
        ["static"],
        Type.Object({ format: Type.Optional(Type.Enum(["native"])), parameters: StaticParameters }),
      ),
    ],
  },
);

const TelemetrySetting = Type.Union([TelemetryCfg, Type.Null()], { description: "Null: no telemetry." });

const inputUrl = (schemes: string) =>
  Type.String({
    maxLength: 2048,
    pattern: `^(${schemes})://[^/?#\\s\\\\]+([/?#][^\\s\\\\]*)?$`,
    description: `An address that begins with ${schemes.replaceAll("|", ":// or ")}:// and a host, of at most 2048 characters.`,
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

/** Multipart: for the document only. */
export const NewVideo = Type.Object(
  {
    file: Type.String({ format: "binary", description: "An mp4, mov or avi file with a name that says so." }),
    alias: Type.Optional(Alias),
  },
  { title: "NewVideo" },
);

export const SourceChange = Type.Object(
  { alias: Type.Optional(Alias), telemetry_cfg: Type.Optional(TelemetrySetting) },
  { title: "SourceChange", description: "What is left out stays. Telemetry changes with the next start." },
);
export type SourceChange = Static<typeof SourceChange>;

export const SourceRecord = Type.Object(
  {
    uuid: Uuid,
    source_uuid: Uuid,
    alias: Type.String(),
    type: Type.Enum(["file", "stream"]),
    stream_type: Type.Union([Type.Enum(["rtsp", "rtmp"]), Type.Null()], { description: "Null: a file." }),
    input_url: Type.String({ description: "Credentials are shown as `***`. Of a file, the name it was uploaded as." }),
    telemetry_cfg: Type.Union([TelemetryCfg, Type.Null()]),
    status: Type.Enum(["unknown", "offline", "streaming", "processing"]),
    created_at: Timestamp,
    hls_url: Type.Optional(Type.String({ description: "Media-server sources only: for a while, without a key." })),
    webrtc_url: Type.Optional(
      Type.String({ description: "WHEP. Media-server sources only: for a while, without a key." }),
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
    stopped_at: Type.Union([Timestamp, Type.Null()]),
    detail: Type.Union([Type.String(), Type.Null()], { description: "Why it ended, if not because its stream did." }),
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

const moment = (description: string) =>
  Type.String({
    pattern:
      "^[12]\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])(T([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,6})?)?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d))?$",
    description: `${description} ISO 8601: \`2026-05-17T08:30:00Z\`, or a day.`,
  });

export const RecordingQuery = Type.Object({
  ...PageQuery.properties,
  source_uuid: Type.Optional(Uuid),
  since: Type.Optional(moment("Those that went on then or later.")),
  until: Type.Optional(moment("Those that had begun before.")),
});

export const RecordingListing = listing({ recordings: Type.Array(RecordingRecord) });
