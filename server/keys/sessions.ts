/**
 * Sessions of people who signed in through an identity provider. A session is an API key with a person, scopes and an
 * expiry; the browser has it in a cookie that scripts cannot read. So what holds for keys holds for sessions.
 */
import type { IncomingMessage } from "node:http";

export const SESSION_COOKIE = "windhover_session";

interface CookieOptions {
  readonly maxAgeSeconds: number;
  readonly isSecure: boolean;
  readonly sameSite: "Strict" | "Lax";
  readonly path: string;
}

export function writeCookie(name: string, value: string, options: CookieOptions): string {
  const { maxAgeSeconds, isSecure, sameSite, path } = options;
  const parts = [`${name}=${value}`, `Path=${path}`, `Max-Age=${maxAgeSeconds}`, "HttpOnly", `SameSite=${sameSite}`];
  return [...parts, ...(isSecure ? ["Secure"] : [])].join("; ");
}

/** Null: not sent. Of several with this name, the first. */
export function readCookie({ headers }: Pick<IncomingMessage, "headers">, name: string): string | null {
  const found = (headers.cookie ?? "").split(";").find((pair) => pair.trimStart().startsWith(`${name}=`));
  return found?.trim().slice(name.length + 1) ?? null;
}

/**
 * The session of a request, as a key; null: none. A browser sends the cookie also with requests that other pages make it
 * send (CSRF), so it counts only for pages of this service: by `Sec-Fetch-Site`, or by `Origin` where that is not sent.
 */
function readSession(request: Pick<IncomingMessage, "headers" | "method">, publicUrl: string): string | null {
  const session = readCookie(request, SESSION_COOKIE);
  return session !== null && isOwnPage(request, publicUrl) ? session : null;
}

function isOwnPage({ headers, method }: Pick<IncomingMessage, "headers" | "method">, publicUrl: string): boolean {
  const changes = !["GET", "HEAD"].includes(method ?? "");
  const site = headers["sec-fetch-site"];
  // `none`: typed by the user, or a bookmark.
  if (site !== undefined) return site === "same-origin" || (site === "none" && !changes);
  const { origin, upgrade } = headers;
  // Browsers send it with everything but plain GET. A websocket can be opened from any page.
  if (origin === undefined) return !changes && upgrade === undefined;
  const host = hostOf(origin);
  return host !== null && [headers.host, hostOf(publicUrl)].includes(host);
}

const hostOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).host : null);

/** What a request authenticates with. */
export interface Credential {
  /** The session of the console is a key, too. */
  readonly key: string;
  /** It must not get into addresses: scripts of pages cannot read it. */
  readonly isSession: boolean;
}

interface CredentialPlace {
  readonly publicUrl: string;
  /** Another node passed the request on, and has checked where the session comes from. */
  readonly isPassedOn: boolean;
  /** `api_key` of the address counts. */
  readonly acceptsUrl: boolean;
}

/** The header `api_key`, else `Authorization: Bearer`, else the address, else the session. Null: none. */
export function readCredential(request: IncomingMessage, place: CredentialPlace): Credential | null {
  const { headers, url = "" } = request;
  const header = typeof headers.api_key === "string" ? headers.api_key : "";
  const query = place.acceptsUrl && url.includes("?") ? url.slice(url.indexOf("?") + 1) : "";
  const key = header || readBearer(headers.authorization) || new URLSearchParams(query).get("api_key");
  if (key) return { key, isSession: false };
  const session = place.isPassedOn ? readCookie(request, SESSION_COOKIE) : readSession(request, place.publicUrl);
  return session === null ? null : { key: session, isSession: true };
}

const readBearer = (authorization: string | undefined): string | null =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? null;
