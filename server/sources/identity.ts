/** What makes two sources, or two outputs, of a user the same: 32 bytes. The alias does not count. */
import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "../../schemas/json.ts";
import { readAuthority } from "../net/url.ts";
import type { TelemetrySetting } from "./telemetry-cfg.ts";

export const identifyStream = (inputUrl: string, telemetry: TelemetrySetting | null): Buffer =>
  digest(["stream", lowerHost(inputUrl), telemetry === null ? null : { ...telemetry }]);

export const identifyOutput = (type: string, url: string | null, settings: string | null): Buffer =>
  digest(["output", type, url === null || type === "rtsp" ? url : lowerHost(url), settings]);

const digest = (value: Json): Buffer => createHash("sha256").update(canonicalJson(value)).digest();

/** Scheme and host mean the same in capitals; the rest may not. */
function lowerHost(url: string): string {
  const authority = readAuthority(url);
  if (typeof authority === "string") return url;
  const { hostAt, writtenHost, scheme } = authority;
  const between = url.slice(scheme.length, hostAt);
  return `${scheme}${between}${writtenHost.toLowerCase()}${url.slice(hostAt + writtenHost.length)}`;
}
