/** Where a started process is reached. */
import type { StartedProcess } from "../../schemas/api/processes.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { brokerUrl, type TelemetrySetting } from "../sources/telemetry-cfg.ts";

export interface Reach {
  /** Scheme, host and port that clients reach us at. */
  readonly publicUrl: string;
  readonly apiKey: string;
}

export function describeStarted(uuid: string, telemetry: TelemetrySetting | null, reach: Reach): StartedProcess {
  const url = (base: string, what: string): string =>
    `${base}/process/${uuid}/${what}?api_key=${encodeURIComponent(reach.apiKey)}`;
  // http becomes ws, https becomes wss.
  const sockets = reach.publicUrl.replace(/^http/, "ws");
  return {
    process_uuid: uuid,
    feed_url: url(reach.publicUrl, "feed"),
    detection_data_url: url(sockets, "detection_data"),
    telemetry_url: telemetry?.type === "websocket" ? url(sockets, "telemetry") : describeTelemetry(telemetry),
  };
}

function describeTelemetry(telemetry: TelemetrySetting | null): string {
  if (telemetry === null) return "Not configured";
  const broker = brokerUrl(telemetry);
  return broker === null ? telemetry.type : maskCredentials(`${broker}/${telemetry.parameters.topic}`);
}
