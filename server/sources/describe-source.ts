import type { SourceRecord } from "../../schemas/api/sources.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { SourceRow } from "../store/sources.ts";
import { maskTelemetry } from "./telemetry-cfg.ts";

/** As clients see it: without secrets. */
export const describeSource = (source: SourceRow): SourceRecord => ({
  uuid: source.uuid,
  source_uuid: source.uuid,
  alias: source.alias,
  type: source.type,
  stream_type: source.streamType,
  input_url: source.type === "file" ? source.inputUrl : maskCredentials(source.inputUrl),
  telemetry_cfg: maskTelemetry(source.telemetryCfg),
  status: source.isProcessing ? "processing" : "unknown",
  created_at: source.createdAt,
});
