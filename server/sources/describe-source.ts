import type { SourceRecord } from "../../schemas/api/sources.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { WatchUrls } from "../media/signed-urls.ts";
import type { SourceRow } from "../store/sources.ts";
import { maskTelemetry } from "./telemetry-cfg.ts";

/** What is known of a media-server source besides its row. */
export interface SourceView {
  isLive(hubPath: string): boolean;
  watchUrls(uuid: string): WatchUrls;
}

/** As clients see it: without secrets. */
export const describeSource = (source: SourceRow, view: SourceView): SourceRecord => ({
  uuid: source.uuid,
  source_uuid: source.uuid,
  alias: source.alias,
  type: source.type,
  stream_type: source.streamType,
  input_url: source.type === "file" ? source.inputUrl : maskCredentials(source.inputUrl),
  telemetry_cfg: maskTelemetry(source.telemetryCfg),
  status: statusOf(source, view),
  created_at: source.createdAt,
  ...(source.hubPath !== null && view.watchUrls(source.uuid)),
});

function statusOf({ isProcessing, hubPath }: SourceRow, view: SourceView): SourceRecord["status"] {
  if (isProcessing) return "processing";
  if (hubPath === null) return "unknown";
  return view.isLive(hubPath) ? "streaming" : "offline";
}
