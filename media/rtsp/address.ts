/** The address of an RTSP server to publish to: `rtsp://user:password@host:port/path?query`. */
import type { Credentials } from "./authorization.ts";
import { trackControl } from "./sdp.ts";

export interface RtspAddress {
  readonly host: string;
  readonly port: number;
  /** As it goes into requests: without user and password. */
  readonly url: string;
  readonly credentials: Credentials | null;
}

const DEFAULT_PORT = 554;

/** Throws when it is none. The message has nothing of the address in it, which may hold a password. */
export function readRtspAddress(text: string): RtspAddress {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "rtsp:" || url.hostname === "")
    throw new Error("an address of the form rtsp://host/path is expected");
  const hasUser = url.username !== "" || url.password !== "";
  const credentials = hasUser ? { user: decode(url.username), password: decode(url.password) } : null;
  const path = url.pathname.replace(/\/$/, "");
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    url: `rtsp://${url.host}${path}${url.search}`,
    credentials,
  };
}

export function trackUrl(url: string, track: number): string {
  const [path, query] = url.split("?", 2);
  return `${path}/${trackControl(track)}${query === undefined ? "" : `?${query}`}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
