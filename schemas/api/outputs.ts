/** Where processed video goes, and what was found in it. */
import { type Static, Type } from "typebox";
import { COT_URL, COT_URL_MEANS } from "../cot-target.ts";
import { when } from "./conditions.ts";
import { listing, Timestamp, Uuid } from "./records.ts";
import { Alias } from "./sources.ts";

export const OUTPUT_TYPES = ["rtsp", "rtmp", "detection_data", "drone_data", "cot"] as const;
export const OUTPUT_STATUSES = ["idle", "starting", "live", "retrying", "failed"] as const;

const SETTINGS_MEAN =
  "The most lines of the picture: a smaller one is never enlarged, and the aspect stays. Null keeps the size of the input. Ignored where there is no video.";
const Settings = Type.Union([Type.Enum(["360p", "720p", "1080p"]), Type.Null()], { description: SETTINGS_MEAN });

const RtspPath = Type.String({
  maxLength: 255,
  pattern: "^rtsp://[A-Za-z0-9_][A-Za-z0-9._~-]*(/[A-Za-z0-9_][A-Za-z0-9._~-]*)*$",
  description:
    "`rtsp://` and the stream's path alone, without host and port: words of letters, digits and `._~-` with `/` between them, each beginning with a letter, a digit or `_`.",
});

const RtmpUrl = Type.String({
  maxLength: 2048,
  pattern: "^rtmps?://[^/?#\\s\\\\]+(/[^/?#\\s\\\\]+)+/?([?#][^\\s\\\\]*)?$",
  description: "`rtmp://host:port/path`, of at most 2048 characters.",
});

/** An extension: objects on maps, as Cursor on Target events. */
const CotUrl = Type.String({ maxLength: 2048, pattern: COT_URL, description: COT_URL_MEANS });

export const NewOutput = Type.Object(
  {
    alias: Alias,
    type: Type.Enum([...OUTPUT_TYPES]),
    url: Type.Optional(
      Type.Unknown({
        description:
          "Of video outputs, whose scheme is the type, and of `cot`: `udp` or `mqtt`. Ignored with other types.",
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
    ],
  },
);
export type NewOutput = Static<typeof NewOutput>;

/** What a body holds whose type goes to a URL; settings are those of video. */
export interface OutputTarget {
  readonly url: string;
  readonly settings?: Static<typeof Settings>;
}

/** How an output gets on. Counts are since it was attached, or since its process was last started again. */
export const OutputProgress = {
  status: Type.Enum([...OUTPUT_STATUSES]),
  status_detail: Type.Union([Type.String(), Type.Null()], {
    description: "Why it is not live, or gets nothing to send, where that is known.",
  }),
  frames_sent: Type.Integer({ minimum: 0, description: "Of `cot`: events." }),
  frames_dropped: Type.Integer({
    minimum: 0,
    description: "They came faster than they could be encoded, or than they were taken.",
  }),
};

export const OutputRecord = Type.Object(
  {
    uuid: Uuid,
    output_uuid: Uuid,
    alias: Type.String(),
    type: Type.Enum([...OUTPUT_TYPES]),
    url: Type.Union([Type.String(), Type.Null()], { description: "Credentials are shown as `***`." }),
    settings: Settings,
    play_url: Type.Union([Type.String(), Type.Null()], { description: "Of rtsp: where it is played from." }),
    attached_to: Type.Union([Uuid, Type.Null()], { description: "The process." }),
    ...OutputProgress,
    created_at: Timestamp,
    hls_url: Type.Optional(Type.String({ description: "Of rtsp: HLS, for a while, without a key." })),
    webrtc_url: Type.Optional(Type.String({ description: "Of rtsp: WHEP, for a while, without a key." })),
  },
  { title: "Output" },
);
export type OutputRecord = Static<typeof OutputRecord>;

export const OutputListing = listing({ outputs: Type.Array(OutputRecord) });
