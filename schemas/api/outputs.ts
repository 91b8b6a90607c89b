/** Outputs of a process: video streams, data sockets, Cursor on Target, brokers, and slots attached as branches. */
import { type Static, Type } from "typebox";
import { COT_URL, COT_URL_MEANS } from "../cot-target.ts";
import { MQTT_URL, MQTT_URL_MEANS } from "../mqtt-target.ts";
import { TRANSPORT_URL, TRANSPORT_URL_MEANS } from "../transport-target.ts";
import { aliasFilter, jsonObject, listing, listQuery, orNull, Timestamp, Uuid, when } from "./records.ts";
import { Alias } from "./sources.ts";

export const OUTPUT_TYPES = ["rtsp", "rtmp", "srt", "detection_data", "drone_data", "cot", "mqtt", "mpegts"] as const;
const OUTPUT_STATUSES = ["idle", "starting", "live", "retrying", "failed"] as const;

const SETTINGS_MEAN =
  "Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video.";
const Settings = orNull(Type.Enum(["360p", "720p", "1080p"]), { description: SETTINGS_MEAN });

export const OUTPUT_CODECS = ["h264", "h265"] as const;
const CODEC_MEANS =
  "Extension: the codec of the video. H.265 needs a lower bit rate than H.264 and, without a hardware encoder, about three times the processor time; most browsers do not play it. Ignored for outputs without video.";
const OutputCodec = Type.Enum([...OUTPUT_CODECS], { description: CODEC_MEANS });

const BOXES_MEANS = "Extension: draw boxes, labels and trails on the video. Ignored for outputs without video.";
const Boxes = Type.Boolean({ description: BOXES_MEANS });

const BITRATE_MEANS =
  "Extension: bit rate of the video in kbit/s, from 50 to 100000. Null: that of the resolution (360p: 1000, 720p: 2500, 1080p: 4500; otherwise 3000). Ignored for outputs without video.";
const Bitrate = orNull(Type.Integer({ minimum: 50, maximum: 100_000 }), { description: BITRATE_MEANS });

const AUDIO_MEANS =
  "Extension: send the sound of the source (AAC), too, as it was received and in step with the picture. A source without it is sent without sound, and `status_detail` says so. WebRTC has no sound. Only for outputs with video.";
const Audio = Type.Boolean({ description: AUDIO_MEANS });

const RtspPath = Type.String({
  maxLength: 255,
  pattern: "^rtsp://[A-Za-z0-9_][A-Za-z0-9._~-]*(/[A-Za-z0-9_][A-Za-z0-9._~-]*)*$",
  description:
    "`rtsp://` and the path of the stream, without host and port: segments of letters, digits and `._~-`, separated by `/`, each beginning with a letter, a digit or `_`.",
});

const RtmpUrl = Type.String({
  maxLength: 2048,
  pattern: "^rtmps?://[^/?#\\s\\\\]+(/[^/?#\\s\\\\]+)+/?([?#][^\\s\\\\]*)?$",
  description: "`rtmp://host:port/path` of at most 2048 characters.",
});

/** Extension: MPEG-TS to an SRT listener. */
const SrtUrl = Type.String({
  maxLength: 2048,
  pattern: "^srt://[^/?#\\s\\\\]+:\\d{1,5}/?([?][^\\s\\\\]*)?$",
  description:
    "`srt://host:port` of a listener, with `?streamid=`, `passphrase=` (10 to 79 characters), `latency=` (milliseconds) and `pbkeylen=` if it needs them; at most 2048 characters.",
});
/** Extension: objects as Cursor on Target events, for maps. */
const CotUrl = Type.String({ maxLength: 2048, pattern: COT_URL, description: COT_URL_MEANS });
/** Extension: detection messages to a broker. */
const MqttUrl = Type.String({ maxLength: 2048, pattern: MQTT_URL, description: MQTT_URL_MEANS });
/** Extension: video with telemetry and tracks as KLV. */
const TransportUrl = Type.String({ maxLength: 2048, pattern: TRANSPORT_URL, description: TRANSPORT_URL_MEANS });

const pem = (what: string) => Type.String({ minLength: 1, maxLength: 65_536, description: `${what} (PEM).` });

/** Extension: for TAK clients and servers. */
export const TakSettings = Type.Object(
  {
    callsign: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 40,
        pattern: "^[^\\u0000-\\u001f\\u007f]*$",
        description: "Name of the camera on maps. Default: the alias of the output.",
      }),
    ),
    camera: Type.Optional(
      Type.Boolean({
        default: true,
        description: "Send the position of the camera, its field of view, and the point in its centre.",
      }),
    ),
    video_url: Type.Optional(
      Type.String({
        maxLength: 255,
        pattern: "^(rtsp|rtsps|rtmp|srt|http|https)://[^/?#\\s\\\\]+([/?#][^\\s\\\\]*)?$",
        description: "Address of the video that TAK clients open for the camera: `play_url` of an rtsp output.",
      }),
    ),
    authorities: Type.Optional(
      pem("For `tls`: certificates of the authorities that the server is trusted by; default: the public ones"),
    ),
    server_name: Type.Optional(
      Type.String({
        maxLength: 255,
        pattern: "^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$",
        description: "For `tls`: the name in the certificate of the server, if it is not the host of the URL.",
      }),
    ),
    certificate: Type.Optional(pem("For `tls`: the certificate of this client, with its chain")),
    key: Type.Optional(pem("For `tls`: its private key, not encrypted. Shown as `***`")),
  },
  { title: "TakSettings", additionalProperties: false },
);
export type TakSettings = Static<typeof TakSettings>;

const VIDEO = {
  settings: Type.Optional(Settings),
  codec: Type.Optional(OutputCodec),
  boxes: Type.Optional(Boxes),
  bitrate: Type.Optional(Bitrate),
  audio: Type.Optional(Audio),
};
/** Of types without video. */
const NoAudio = Type.Object({
  audio: Type.Optional(Type.Literal(false, { description: "This type has no video, and so no sound." })),
});

export const NewOutput = Type.Object(
  {
    alias: Alias,
    type: Type.Enum([...OUTPUT_TYPES]),
    url: Type.Optional(
      Type.Unknown({
        description:
          "For video outputs and `mqtt`, with the type as its scheme (or `rtmps`, `mqtts`), for `cot`, with `udp`, `tcp`, `tls` or `mqtt`, and for `mpegts`, with `udp` or `srt`. Ignored for other types.",
      }),
    ),
    settings: Type.Optional(Type.Unknown({ description: SETTINGS_MEAN })),
    codec: Type.Optional(Type.Unknown({ description: `${CODEC_MEANS} Default: \`h264\`.` })),
    boxes: Type.Optional(
      Type.Unknown({
        description: `${BOXES_MEANS} Default: true, and false for \`mpegts\`, whose objects are metadata.`,
      }),
    ),
    bitrate: Type.Optional(Type.Unknown({ description: BITRATE_MEANS })),
    audio: Type.Optional(Type.Unknown({ description: `${AUDIO_MEANS} Default: false.` })),
    tak: Type.Optional(Type.Unknown({ description: "For `cot`: `TakSettings`. Ignored for other types." })),
  },
  {
    title: "NewOutput",
    allOf: [
      when("type", ["rtsp"], Type.Object({ url: RtspPath, ...VIDEO })),
      when("type", ["rtmp"], Type.Object({ url: RtmpUrl, ...VIDEO })),
      when("type", ["srt"], Type.Object({ url: SrtUrl, ...VIDEO })),
      when("type", ["cot"], Type.Object({ url: CotUrl, tak: Type.Optional(TakSettings) })),
      when("type", ["mqtt"], Type.Object({ url: MqttUrl })),
      when("type", ["mpegts"], Type.Object({ url: TransportUrl, ...VIDEO })),
      when("type", ["cot", "mqtt", "detection_data", "drone_data"], NoAudio),
    ],
  },
);
export type NewOutput = Static<typeof NewOutput>;

export const OutputChange = Type.Object(
  {
    alias: Type.Optional(Alias),
    url: Type.Optional(
      orNull(Type.String({ maxLength: 2048, description: "As in `POST /output`, with the type's scheme." })),
    ),
    settings: Type.Optional(Settings),
    codec: Type.Optional(orNull(OutputCodec)),
    boxes: Type.Optional(orNull(Boxes)),
    bitrate: Type.Optional(Bitrate),
    audio: Type.Optional(orNull(Audio)),
  },
  { title: "OutputChange" },
);
export type OutputChange = Static<typeof OutputChange>;

/** The body of an output with a URL; all but `url` and `tak` for video only. */
export interface OutputTarget {
  readonly url: string;
  readonly settings?: Static<typeof Settings>;
  readonly codec?: Static<typeof OutputCodec>;
  readonly boxes?: boolean;
  readonly bitrate?: number | null;
  readonly audio?: boolean;
  /** Of `cot`. */
  readonly tak?: TakSettings;
}

/** Status of an output. Counters start when it is attached or its process restarts. */
export const OutputProgress = {
  status: Type.Enum([...OUTPUT_STATUSES]),
  status_detail: orNull(Type.String(), {
    description: "Why it is not live or receives no data, if known; or why an output with `audio` has no sound.",
  }),
  frames_sent: Type.Integer({ minimum: 0, description: "For `cot` and `mqtt`: messages." }),
  frames_dropped: Type.Integer({
    minimum: 0,
    description: "Frames that arrived faster than they could be encoded or sent.",
  }),
};

export const OutputRecord = Type.Object(
  {
    uuid: Uuid,
    output_uuid: Uuid,
    alias: Type.String(),
    type: Type.Enum([...OUTPUT_TYPES]),
    url: orNull(Type.String(), { description: "Credentials are shown as `***`." }),
    settings: Settings,
    codec: orNull(Type.Enum([...OUTPUT_CODECS]), { description: "Extension. Null for outputs without video." }),
    boxes: orNull(Type.Boolean(), {
      description: "Extension: boxes, labels and trails are drawn. Null for outputs without video.",
    }),
    bitrate: orNull(Type.Integer(), {
      description: "Extension: kbit/s. Null: that of the resolution, or an output without video.",
    }),
    audio: orNull(Type.Boolean(), {
      description: "Extension: with the sound of the source. Null for outputs without video.",
    }),
    tak: Type.Optional(TakSettings),
    play_url: orNull(Type.String(), { description: "For `rtsp`: the URL for playback." }),
    attached_to: orNull(Uuid, { description: "The process that it is attached to." }),
    ...OutputProgress,
    created_at: Timestamp,
    hls_url: Type.Optional(Type.String({ description: "For `rtsp`: HLS. Works without a key, for a limited time." })),
    webrtc_url: Type.Optional(
      Type.String({ description: "For `rtsp`: WHEP. Works without a key, for a limited time." }),
    ),
  },
  { title: "Output" },
);
export type OutputRecord = Static<typeof OutputRecord>;

export const OutputQuery = listQuery(["created_at", "alias"], {
  type: Type.Optional(Type.Enum([...OUTPUT_TYPES])),
  alias: aliasFilter,
  process_uuid: Type.Optional(Type.String({ ...Uuid, description: "Outputs that are attached to this process." })),
});

export const OutputListing = listing({ outputs: Type.Array(OutputRecord) });

const Params = jsonObject();

export const NewBranch = Type.Object(
  {
    slot: Type.String({ minLength: 1, maxLength: 128, description: "A slot of the process's graph." }),
    params: Type.Optional(
      jsonObject("Parameters of the slot; `GET /process/{process_uuid}/branches` returns their schema."),
    ),
  },
  { title: "NewBranch" },
);

export const BranchRecord = Type.Object(
  {
    uuid: Uuid,
    branch_uuid: Uuid,
    process_uuid: Uuid,
    slot: Type.String(),
    params: jsonObject("As sent. Credentials are shown as `***`."),
    attached_at: Timestamp,
    ...OutputProgress,
    status: Type.Enum([...OUTPUT_STATUSES], {
      description:
        "A branch that fails is detached, and the process continues without it. It is attached again when the process restarts.",
    }),
  },
  { title: "Branch" },
);
export type BranchRecord = Static<typeof BranchRecord>;

export const BranchListing = Type.Object({
  branches: Type.Array(BranchRecord, { description: "In the order of attachment." }),
  slots: Type.Record(Type.String(), Params, {
    description: "Available slots with the JSON Schema of their parameters.",
  }),
});
