/** The addresses in requests: clients put the track before the query or behind it, and the key where they like. */
import { trackControl } from "../../media/rtsp/sdp.ts";

export interface RequestUrl {
  /** As it came, without user and password. */
  readonly url: string;
  /** What is after the host, query and all. */
  readonly rest: string;
  /** The password before the host: most clients send it in a header instead. */
  readonly password: string | null;
}

const URL_PARTS = /^(rtsps?:\/\/)(?:([^/?#@]*)@)?([^/?#@]*)([/?].*)?$/i;

/** Null for what is no address of RTSP. */
export function readRequestUrl(url: string): RequestUrl | null {
  const [, scheme, userinfo, host, rest] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined) return null;
  const password = userinfo?.includes(":") ? decode(userinfo.slice(userinfo.indexOf(":") + 1)) || null : null;
  return { url: `${scheme}${host}${rest ?? ""}`, rest: rest ?? "", password };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const TRACK = new RegExp(`^(.*?)/${trackControl(0).replace("0", "(\\d{1,2})")}/?(\\?.*)?$`, "s");

/** Of a player's SETUP: the stream's own address, and which of our tracks; null for the stream as a whole. */
export function splitTrack(rest: string): { rest: string; track: number | null } {
  const [, before, track, query] = TRACK.exec(rest) ?? [];
  return track === undefined ? { rest, track: null } : { rest: `${before}${query ?? ""}`, track: Number(track) };
}

/**
 * Of a publisher's SETUP: which of the tracks it announced at `base`, by the names that it gave them. -1 for none.
 */
export function findTrack(rest: string, base: string, controls: readonly string[]): number {
  const path = withoutQuery(base).replace(/\/$/, "");
  const query = base.slice(withoutQuery(base).length);
  const asked = rest.replace(/\/$/, "");
  const named = controls.findIndex((control) => {
    const absolute = readRequestUrl(control)?.rest;
    if (absolute !== undefined) return absolute.replace(/\/$/, "") === asked;
    if (control === "" || control === "*") return false;
    return withoutQuery(asked) === `${path}/${control}` || asked === `${path}${query}/${control}`;
  });
  if (named !== -1) return named;
  return controls.length === 1 && withoutQuery(asked) === path ? 0 : -1;
}

const withoutQuery = (text: string): string => (text.includes("?") ? text.slice(0, text.indexOf("?")) : text);
