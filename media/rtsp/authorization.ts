/** Passwords over RTSP, as over HTTP: Basic (RFC 7617) on both sides, Digest (RFC 2617) as a client. */
import { createHash, randomBytes } from "node:crypto";

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Of a request: the password, whatever the name. Null for none, and for anything but Basic. */
export function readBasicPassword(header: string | undefined): string | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/=]{1,2048})$/i.exec(header ?? "") ?? [];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const at = text.indexOf(":");
  return at === -1 ? null : text.slice(at + 1) || null;
}

/** The answer to a server's challenge, made anew for every request. Null when it asks for something else. */
export class Authorization {
  readonly #credentials: Credentials;
  readonly #digest: Map<string, string> | null;
  #count = 0;

  private constructor(credentials: Credentials, digest: Map<string, string> | null) {
    this.#credentials = credentials;
    this.#digest = digest;
  }

  static answer(challenge: string | undefined, credentials: Credentials): Authorization | null {
    const digest = /(?:^|,\s*)digest\s+(.*)$/is.exec(challenge ?? "")?.[1];
    const parameters = digest === undefined ? null : readParameters(digest);
    // The better of the two where both are offered, unless it wants a hash that is not MD5.
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
    // Another challenge may follow in the same header: what came first counts.
    if (!parameters.has(key)) parameters.set(key, quoted ?? bare ?? "");
  }
  return parameters;
}

const md5 = (text: string): string => createHash("md5").update(text).digest("hex");
