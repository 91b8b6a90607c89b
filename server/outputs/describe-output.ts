/** Outputs as clients see them. */
import type { OutputRecord, TakSettings } from "../../schemas/api/outputs.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerMessage } from "../../schemas/runner.ts";
import { type Signer, watchUrls } from "../keys/signed-urls.ts";
import type { OutputRow } from "../store/outputs.ts";
import { OUTPUT_TYPE } from "./output-types.ts";

/** How an attached slot is doing in the current runner of its process. */
export type AttachmentStatus = Pick<
  Extract<RunnerMessage, { type: "attachment" }>,
  "status" | "detail" | "framesSent" | "framesDropped"
>;

export interface OutputState extends AttachmentStatus {
  readonly outputUuid: string;
  readonly type: OutputRow["type"];
}

/** Where rtsp outputs are watched. */
export interface OutputHub {
  readonly rtspPort: number;
  readonly signer: Signer;
}

/** Running processes with their outputs, by uuid. */
type OutputViews = ReadonlyMap<string, { readonly outputs: readonly OutputState[] }>;

/** Null if it is attached to none of them. */
export function findState(views: OutputViews, { uuid, attachedTo }: OutputRow): OutputState | null {
  const outputs = attachedTo === null ? [] : (views.get(attachedTo)?.outputs ?? []);
  return outputs.find(({ outputUuid }) => outputUuid === uuid) ?? null;
}

/** `publicUrl`: base URL of this server as the client sees it. `live`: in the process that it is attached to. */
export const describeOutput = (
  output: OutputRow,
  username: string,
  publicUrl: string,
  { rtspPort, signer }: OutputHub,
  live: OutputState | null,
): OutputRecord => ({
  uuid: output.uuid,
  output_uuid: output.uuid,
  alias: output.alias,
  type: output.type,
  url: output.url === null ? null : maskCredentials(output.url),
  settings: output.settings,
  ...(OUTPUT_TYPE[output.type].hasVideo
    ? { codec: output.codec, boxes: output.boxes, bitrate: output.bitrate, audio: output.audio }
    : { codec: null, boxes: null, bitrate: null, audio: null }),
  ...(output.tak !== null && { tak: maskTak(output.tak) }),
  play_url: output.type === "rtsp" ? playUrl(output.url ?? "", username, publicUrl, rtspPort) : null,
  attached_to: output.attachedTo,
  ...describeState(stateOf(output, live)),
  created_at: output.createdAt,
  ...(output.type === "rtsp" && watchUrls(signer, publicUrl, "output", output.uuid)),
});

const maskTak = ({ key, video_url, ...tak }: TakSettings): TakSettings => ({
  ...tak,
  ...(video_url !== undefined && { video_url: maskCredentials(video_url) }),
  ...(key !== undefined && { key: "***" }),
});

const playUrl = (url: string, username: string, publicUrl: string, rtspPort: number): string =>
  `rtsp://${new URL(publicUrl).hostname}:${rtspPort}/${username}/${url.slice("rtsp://".length)}`;

type ShownState = Pick<OutputState, "detail" | "framesSent" | "framesDropped"> & Pick<OutputRecord, "status">;

export const describeState = ({ status, detail, framesSent, framesDropped }: ShownState) => ({
  status,
  status_detail: detail,
  frames_sent: framesSent,
  frames_dropped: framesDropped,
});

function stateOf({ attachedTo, processState }: OutputRow, live: OutputState | null): ShownState {
  const none = { detail: null, framesSent: 0, framesDropped: 0 };
  if (attachedTo === null) return { status: "idle", ...none };
  if (processState === "starting") return { status: "starting", ...none };
  // Nothing more is known of a process on another machine.
  return live ?? { status: "live", ...none };
}
