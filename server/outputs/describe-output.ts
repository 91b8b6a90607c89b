import type { OutputRecord } from "../../schemas/api/outputs.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Signer } from "../media/sign.ts";
import { watchUrls } from "../media/watch-urls.ts";
import type { OutputRow } from "../store/outputs.ts";

/** Where rtsp outputs are watched. */
export interface OutputHub {
  readonly rtspPort: number;
  readonly signer: Signer;
}

/** As clients see it. `publicUrl` is that of the call: where clients reach us. */
export const describeOutput = (
  output: OutputRow,
  username: string,
  publicUrl: string,
  { rtspPort, signer }: OutputHub,
): OutputRecord => ({
  uuid: output.uuid,
  output_uuid: output.uuid,
  alias: output.alias,
  type: output.type,
  url: output.url === null ? null : maskCredentials(output.url),
  settings: output.settings,
  play_url: output.type === "rtsp" ? playUrl(output.url ?? "", username, publicUrl, rtspPort) : null,
  attached_to: output.attachedTo,
  status: statusOf(output),
  created_at: output.createdAt,
  ...(output.type === "rtsp" && watchUrls(signer, publicUrl, "output", output.uuid)),
});

const playUrl = (url: string, username: string, publicUrl: string, rtspPort: number): string =>
  `rtsp://${new URL(publicUrl).hostname}:${rtspPort}/${username}/${url.slice("rtsp://".length)}`;

function statusOf({ attachedTo, processState }: OutputRow): OutputRecord["status"] {
  if (attachedTo === null) return "idle";
  return processState === "starting" ? "starting" : "live";
}
