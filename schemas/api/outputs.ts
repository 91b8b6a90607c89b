/** Outputs of a process: video streams, data sockets, Cursor on Target, brokers, and slots attached as branches. */
import { type Static, Type } from "typebox";
import { COT_URL, COT_URL_MEANS } from "../cot-target.ts";
import { MQTT_URL, MQTT_URL_MEANS } from "../mqtt-target.ts";
import { jsonObject, listing, orNull, Timestamp, Uuid, when } from "./records.ts";
import { Alias } from "./sources.ts";

export const OUTPUT_TYPES = ["rtsp", "rtmp", "detection_data", "drone_data", "cot", "mqtt"] as const;
const OUTPUT_STATUSES = ["idle", "starting", "live", "retrying", "failed"] as const;

const SETTINGS_MEAN =
  "Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video.";
const Settings = orNull(Type.Enum(["360p", "720p", "1080p"]), { description: SETTINGS_MEAN });

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

/** Extension: objects as Cursor on Target events, for maps. */
const CotUrl = Type.String({ maxLength: 2048, pattern: COT_URL, description: COT_URL_MEANS });
/** Extension: detection messages to a broker. */
const MqttUrl = Type.String({ maxLength: 2048, pattern: MQTT_URL, description: MQTT_URL_MEANS });

export const NewOutput = Type.Object(
  {
    alias: Alias,
    type: Type.Enum([...OUTPUT_TYPES]),
    url: Type.Optional(
      Type.Unknown({
        description:
          "For video outputs and `mqtt`, with the type as its scheme (or `rtmps`, `mqtts`), and for `cot`, with `udp` or `mqtt`. Ignored for other types.",
      }),
    ),
    settings: Type.Optional(Type.Unknown({ description: SETTINGS_MEAN })),
  },
  {
    title: "NewOutput",
    allOf: [
      when("type", ["rtsp"], Type.Object({ url: RtspPath, settings: Type.Optional(Settings) })),
      when("type", ["rtmp"], Type.Object({ url: RtmpUrl, settings: Type.Optional(Settings) })),
      when("type", ["cot"], Type.Object({ url: CotUrl })),
      when("type", ["mqtt"], Type.Object({ url: MqttUrl })),
    ],
  },
);
export type NewOutput = Static<typeof NewOutput>;

/** The body of an output with a URL; `settings` for video only. */
export interface OutputTarget {
  readonly url: string;
  readonly settings?: Static<typeof Settings>;
}

/** Status of an output. Counters start when it is attached or its process restarts. */
export const OutputProgress = {
  status: Type.Enum([...OUTPUT_STATUSES]),
  status_detail: orNull(Type.String(), {
    description: "Why it is not live or receives no data, if known.",
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
