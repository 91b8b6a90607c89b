/**
 * RTSP headers with their own syntax: `Transport` (RFC 2326, 12.39), and `Authorization` as in HTTP: Basic (RFC 7617) on both
 * sides, Digest (RFC 2617) as a client.
 */

import { createHash, randomBytes } from "node:crypto";

/** Numbers for RTP and RTCP. */
export type Pair = readonly [rtp: number, rtcp: number];

export type Transport =
  /** Null: the server chooses the channels. */
  | { readonly kind: "tcp"; readonly channels: Pair | null; readonly isRecord: boolean }
  /** Ports of the client. */
  | { readonly kind: "udp"; readonly ports: Pair; readonly isRecord: boolean };

const MAX_CHANNEL = 255;
const MAX_PORT = 65_535;

/** The first supported alternative; null without one: multicast, secure profiles, missing ports. */
export function readTransport(header: string): Transport | null {
  for (const one of header.split(",")) {
    const transport = readOne(one.trim());
    if (transport !== null) return transport;
  }
  return null;
}

function readOne(text: string): Transport | null {
  const [protocol = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map(rest.map((part) => splitParameter(part)));
  // Before RFC 2326 it was called "receive".
  const isRecord = /^"?(?:record|receive)"?$/i.test(parameters.get("mode") ?? "");
  if (parameters.has("multicast")) return null;
  switch (protocol.toUpperCase()) {
    case "RTP/AVP/TCP": {
      const given = parameters.get("interleaved");
      if (given === undefined) return { kind: "tcp", channels: null, isRecord };
      const channels = readPair(given, MAX_CHANNEL);
      return channels === null ? null : { kind: "tcp", channels, isRecord };
    }
    case "RTP/AVP":
    case "RTP/AVP/UDP": {
      const ports = readPair(parameters.get("client_port") ?? "", MAX_PORT);
      return ports === null || ports.includes(0) ? null : { kind: "udp", ports, isRecord };
    }
    default:
      return null;
  }
}

function splitParameter(part: string): [string, string] {
  const at = part.indexOf("=");
  return at === -1 ? [part.toLowerCase(), ""] : [part.slice(0, at).toLowerCase(), part.slice(at + 1)];
}

/** `4-5`, or `4` for the same. */
function readPair(text: string, max: number): Pair | null {
  const [, first, second] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  if (first === undefined) return null;
  const low = Number(first);
  const high = second === undefined ? low + 1 : Number(second);
  return low > max || high > max || low === high ? null : [low, high];
}

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** The password of a request; the user name is ignored. Null without one, and for schemes other than Basic. */
export function readBasicPassword(header: string | undefined): string | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/=]{1,2048})$/i.exec(header ?? "") ?? [];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const at = text.indexOf(":");
  return at === -1 ? null : text.slice(at + 1) || null;
}

/** Answers a server's challenge, computed for each request. */
export class Authorization {
  readonly #credentials: Credentials;
  readonly #digest: Map<string, string> | null;
  #count = 0;

  private constructor(credentials: Credentials, digest: Map<string, string> | null) {
    this.#credentials = credentials;
    this.#digest = digest;
  }

  /** Null if the server asks for an unsupported scheme. */
  static answer(challenge: string | undefined, credentials: Credentials): Authorization | null {
    const digest = /(?:^|,\s*)digest\s+(.*)$/is.exec(challenge ?? "")?.[1];
    const parameters = digest === undefined ? null : readParameters(digest);
    // Prefers Digest, unless it requires a hash other than MD5.
    if (parameters !== null && /^(md5)?$/i.test(parameters.get("algorithm") ?? "")) {
      return new Authorization(credentials, parameters);
    }
    return /(?:^|,\s*)basic\b/i.test(challenge ?? "") ? new Authorization(credentials, null) : null;
  }

  write(method: string, url: string): string {
    const { user, password } = this.#credentials;
    if (this.#digest === null) return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    const realm = this.#digest.get("realm") ?? "";
    const nonce = this.#digest.get("nonce") ?? "";
    const secret = md5(`${user}:${realm}:${password}`);
    const request = md5(`${method}:${url}`);
    const fields = [`username="${user}"`, `realm="${realm}"`, `nonce="${nonce}"`, `uri="${url}"`];
    if (/\bauth\b/i.test(this.#digest.get("qop") ?? "")) {
      const count = (++this.#count).toString(16).padStart(8, "0");
      const own = randomBytes(8).toString("hex");
      const response = md5(`${secret}:${nonce}:${count}:${own}:auth:${request}`);
      fields.push(`qop=auth`, `nc=${count}`, `cnonce="${own}"`, `response="${response}"`);
    } else fields.push(`response="${md5(`${secret}:${nonce}:${request}`)}"`);
    const opaque = this.#digest.get("opaque");
    if (opaque !== undefined) fields.push(`opaque="${opaque}"`);
    return `Digest ${fields.join(", ")}`;
  }
}

function readParameters(text: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [, name, quoted, bare] of text.matchAll(/(?<![A-Za-z])([A-Za-z]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))/g)) {
    const key = (name as string).toLowerCase();
    // Another challenge may follow in the same header: the first value counts.
    if (!parameters.has(key)) parameters.set(key, quoted ?? bare ?? "");
  }
  return parameters;
}

const md5 = (text: string): string => createHash("md5").update(text).digest("hex");
