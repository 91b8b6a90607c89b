/** Where processed video goes. */
import { type Static, Type } from "typebox";
import { when } from "./conditions.ts";
import { listing, Timestamp, Uuid } from "./records.ts";
import { Alias } from "./sources.ts";

export const OUTPUT_TYPES = ["rtsp", "rtmp", "detection_data", "drone_data"] as const;
export const OUTPUT_STATUSES = ["idle", "starting", "live", "retrying", "failed"] as const;

const Settings = Type.Union([Type.Enum(["360p", "720p", "1080p"]), Type.Null()], {
  description: "The resolution. Null keeps that of the input. Ignored where there is no video.",
});

const RtspPath = Type.String({
  maxLength: 255,
  pattern: "^rtsp://[A-Za-z0-9_][A-Za-z0-9._~-]*(/[A-Za-z0-9_][A-Za-z0-9._~-]*)*$",
  description:
    "`rtsp://` and the stream's path alone, without host and port: words of letters, digits and `._~-` with `/` between them, each beginning with a letter, a digit or `_`.",
});

const RtmpUrl = Type.String({
  maxLength: 2048,
  pattern: "^rtmps?://[^/?#\\s\\\\]+(/[^/?#\\s\\\\]+)+([?#][^\\s\\\\]*)?$",
  description: "`rtmp://host:port/path`, of at most 2048 characters.",
});

const NoUrl = Type.Union([Type.Null(), Type.Enum([""])], { description: "This type has no url." });

export const NewOutput = Type.Object(
  {
    alias: Alias,
    type: Type.Enum([...OUTPUT_TYPES]),
    url: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: "Of video outputs; its scheme is the type." }),
    ),
    settings: Type.Optional(Settings),
  },
  {
    title: "NewOutput",
    allOf: [
      when("type", ["rtsp"], Type.Object({ url: RtspPath })),
      when("type", ["rtmp"], Type.Object({ url: RtmpUrl })),
      when("type", ["detection_data", "drone_data"], Type.Object({ url: Type.Optional(NoUrl) })),
    ],
  },
);
export type NewOutput = Static<typeof NewOutput>;

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
    status: Type.Enum([...OUTPUT_STATUSES]),
    created_at: Timestamp,
  },
  { title: "Output" },
);
export type OutputRecord = Static<typeof OutputRecord>;

export const OutputListing = listing({ outputs: Type.Array(OutputRecord) });
