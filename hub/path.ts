/**
 * Stream paths (`<username>/<stream path>`), keys and tracks in the addresses that clients send. RTSP clients put the track
 * before or after the query; RTMP clients split the path at any slash; both put the key in various places. SRT callers send
 * a stream id.
 */

export interface StreamPath {
  /** Without a slash at either end. */
  readonly path: string;
  /** `api_key` of the query. */
  readonly apiKey: string | null;
}

/** Below their username, users choose names that begin with a letter, a digit or `_`; the service has others, with `~`. */
const SEGMENT = /^[A-Za-z0-9_~][A-Za-z0-9._~-]*$/;
const MAX_PATH_CHARS = 255;
/** Escaped, with the query. */
const MAX_RAW_CHARS = 2048;

/** Reads the part of an address after the host. Null unless it is a valid stream path. */
export function readPath(raw: string): StreamPath | null {
  if (raw.length > MAX_RAW_CHARS) return null;
  const { path: escaped, query } = splitQuery(raw);
  // Unescaped after splitting: an escaped slash must not create a segment.
  const segments = escaped
    .replace(/^\/|\/$/g, "")
    .split("/")
    .map(decode);
  if (segments.length < 2 || !segments.every((segment) => segment !== null && SEGMENT.test(segment))) return null;
  if (segments[0]?.startsWith("~")) return null;
  const path = segments.join("/");
  return path.length > MAX_PATH_CHARS ? null : { path, apiKey: readKey(query) };
}

/** Null without a key, or with an empty one. */
function readKey(query: string): string | null {
  for (const pair of query.split("&")) {
    const [name, value] = pair.split("=", 2);
    if (name === "api_key") return decode(value ?? "") || null;
  }
  return null;
}

function splitQuery(text: string): { path: string; query: string } {
  const mark = text.indexOf("?");
  return mark === -1 ? { path: text, query: "" } : { path: text.slice(0, mark), query: text.slice(mark + 1) };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export interface StreamAddress {
  readonly path: string;
  /** The key or token, from any of the places where clients put it. */
  readonly secret: string | null;
}

/** As received with RTMP's `connect`. */
export interface RtmpConnect {
  readonly app: string;
  readonly tcUrl: string;
}

/** The address of an RTMP publisher: `rtmp://host/<username>/<path>?api_key=…`, split into app and name. Null if invalid. */
export function readStreamAddress({ app, tcUrl }: RtmpConnect, name: string): StreamAddress | null {
  const parts = [app, name].map(splitQuery);
  const joined = parts
    .map(({ path }) => path.replace(/^\/+|(?<!\/)\/+$/g, ""))
    .filter((path) => path !== "")
    .join("/");
  const found = readPath(joined);
  if (found === null) return null;
  const queries = [...parts.map(({ query }) => query).reverse(), splitQuery(tcUrl).query];
  const first = (read: (query: string) => string | null) => queries.map(read).find((secret) => secret !== null);
  const secret = first(readKey) ?? first(readPassword) ?? readUserinfo(tcUrl);
  return { path: found.path, secret };
}

/** `user=…&pass=…`: how clients send the password of a URL. */
const readPassword = (query: string): string | null => new URLSearchParams(query).get("pass") || null;

const readUserinfo = (url: string): string | null => decode(URL.canParse(url) ? new URL(url).password : "") || null;

export interface StreamIdAddress extends StreamAddress {
  readonly action: "publish" | "play";
}

/** Why a stream id is rejected: not of the syntax; a mode or a type of resource that is not supported. */
export type StreamIdFault = "syntax" | "mode" | "type";

const STREAM_ID_PREFIX = "#!::";
const MODES: ReadonlyMap<string, StreamIdAddress["action"]> = new Map([
  ["publish", "publish"],
  ["request", "play"],
]);

/** The stream id of an SRT caller (SRT Access Control): `#!::r=<username>/<path>,u=<key>,m=publish`. */
export function readStreamId(text: string): StreamIdAddress | StreamIdFault {
  if (!text.startsWith(STREAM_ID_PREFIX)) return "syntax";
  const fields = new Map<string, string>();
  for (const field of text.slice(STREAM_ID_PREFIX.length).split(",")) {
    const mark = field.indexOf("=");
    if (mark < 1 || fields.has(field.slice(0, mark))) return "syntax";
    fields.set(field.slice(0, mark), field.slice(mark + 1));
  }
  const found = readPath(fields.get("r") ?? "");
  if (found === null) return "syntax";
  // By the standard, a request is the default.
  const action = MODES.get(fields.get("m") ?? "request");
  if (action === undefined) return "mode";
  if ((fields.get("t") ?? "stream") !== "stream") return "type";
  return { path: found.path, secret: fields.get("u") || null, action };
}

export interface RequestUrl {
  /** As received, without user and password. */
  readonly url: string;
  /** Everything after the host, query included. */
  readonly rest: string;
  /** From the user info; most clients send it in a header instead. */
  readonly password: string | null;
}

const URL_PARTS = /^(rtsps?:\/\/)(?:([^/?#@]*)@)?([^/?#@]*)([/?].*)?$/i;

/** Reads the URL of an RTSP request. Null unless it is one. */
export function readRequestUrl(url: string): RequestUrl | null {
  const [, scheme, userinfo, host, rest = ""] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined) return null;
  const password = userinfo?.includes(":") ? userinfo.slice(userinfo.indexOf(":") + 1) : "";
  return { url: `${scheme}${host}${rest}`, rest, password: (decode(password) ?? password) || null };
}

/** Matches `trackControl` of media/rtsp/sdp.ts. */
const TRACK = /^(.*?)\/trackID=(\d{1,2})\/?(\?.*)?$/s;

/** Splits a player's SETUP address into the stream's address and the track; null for the whole stream. */
export function splitTrack(rest: string): { rest: string; track: number | null } {
  const [, before, track, query] = TRACK.exec(rest) ?? [];
  return track === undefined ? { rest, track: null } : { rest: `${before}${query ?? ""}`, track: Number(track) };
}

/** Names of tracks that were announced without one. */
const UNNAMED = /\/(?:trackID|streamid|track|stream)=?(\d)$/i;

/** Finds the track of a publisher's SETUP, by the control names that it announced at `base`. -1 if there is none. */
export function findTrack(rest: string, base: string, controls: readonly string[]): number {
  const path = tidy(splitQuery(base).path);
  const query = base.slice(splitQuery(base).path.length);
  const requested = tidy(rest);
  const requestedPath = tidy(splitQuery(requested).path);
  const named = controls.findIndex((control) => {
    // Of absolute ones, the host does not count: behind a proxy it differs.
    const absolute = readRequestUrl(control)?.rest;
    if (absolute !== undefined) return tidy(absolute) === requested;
    if (control === "" || control === "*") return false;
    const name = control.replace(/^\//, "");
    return requestedPath === `${path}/${name}` || requested === tidy(`${path}${query}/${name}`);
  });
  if (named !== -1) return named;
  // Of one track, the address may also be that of the stream, or lack the query, which has the key.
  const isOnly = (control: string): boolean =>
    tidy(splitQuery(readRequestUrl(control)?.rest ?? "").path) === requestedPath;
  if (controls.length === 1 && (requestedPath === path || controls.some(isOnly))) return 0;
  const [, number] = controls.every((control) => control === "") ? (UNNAMED.exec(requestedPath) ?? []) : [];
  return number !== undefined && requestedPath.startsWith(`${path}/`) && Number(number) < controls.length
    ? Number(number)
    : -1;
}

/** Clients join addresses with one slash too many. */
const tidy = (address: string): string => address.replace(/\/+/g, "/").replace(/\/$/, "");
