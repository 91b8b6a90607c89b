/**
 * URLs that are valid for a limited time without a key: `?token=<end>.<mac>`. The MAC covers the resource and the end time
 * (HMAC-SHA256 with a secret of this installation). The holder can access that one resource, and can share the URL. A session
 * that was opened with a key has a token `<end>.<mac>.<uuid of the key>`, and ends with the key.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** What a URL is for: `source/<uuid>` and everything below it that can be signed. */
export type Resource = `${string}/${string}`;

/** What a client that already watches a stream needs to continue. */
export const goingOn = (resource: string): Resource => `${resource}/going-on` as Resource;

/** Feed, events and data of a running process. Not what `process/<uuid>` is for: its recordings. */
export const LIVE = "/live";
export const liveOf = (processUuid: string): Resource => `process/${processUuid}${LIVE}`;

export interface Signer {
  /** Valid for `media.url_seconds`, or a little longer: URLs signed shortly after each other are identical. */
  sign(resource: Resource): string;
  /**
   * For a client that has started to watch: it can continue for `media.watch_seconds`, but cannot start again. `keyUuid`: the
   * key that it started with; null: a signed URL.
   */
  signGoingOn(resource: Resource, keyUuid?: string | null): string;
  isGood(resource: string, token: string): boolean;
  /** The number of the current period: within one, `sign` always returns the same token for a resource. */
  period(): number;
}

const TOKEN = /^([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})(?:\.([0-9a-f-]{36}))?$/;

/** The key that a session was opened with; null: none. Only for a token that is good. */
export const keyOfToken = (token: string): string | null => TOKEN.exec(token)?.[3] ?? null;

const ofKey = (resource: string, keyUuid: string): string => `${resource}/key/${keyUuid}`;
const BASE = 36;
/** Fraction of the validity by which end times are rounded up. */
const STEP = 1 / 12;

export function createSigner(
  secret: Uint8Array,
  { urlSeconds, watchSeconds }: { readonly urlSeconds: number; readonly watchSeconds: number },
  now: () => number = Date.now,
): Signer {
  const macOf = (resource: string, end: string): Buffer =>
    createHmac("sha256", secret).update(`windhover 1\n${resource}\n${end}`).digest();
  const endAfter = (seconds: number): number => {
    const step = Math.max(1, Math.floor(seconds * STEP));
    return Math.ceil((now() / 1000 + seconds) / step) * step;
  };
  const signFor = (resource: string, seconds: number): string => {
    const end = endAfter(seconds).toString(BASE);
    return `${end}.${macOf(resource, end).toString("base64url")}`;
  };
  return {
    period: () => endAfter(urlSeconds),
    sign: (resource) => signFor(resource, urlSeconds),
    signGoingOn(resource, keyUuid = null) {
      if (keyUuid === null) return signFor(goingOn(resource), watchSeconds);
      return `${signFor(ofKey(goingOn(resource), keyUuid), watchSeconds)}.${keyUuid}`;
    },
    isGood(resource, token) {
      const [, end, mac, key] = TOKEN.exec(token) ?? [];
      if (end === undefined || mac === undefined) return false;
      const signed = key === undefined ? resource : ofKey(resource, key);
      const isRight = timingSafeEqual(Buffer.from(mac, "base64url"), macOf(signed, end));
      return isRight && Number.parseInt(end, BASE) * 1000 > now();
    },
  };
}

export type Watched = "source" | "output";

/** URLs in the records of sources and outputs. `publicUrl`: base URL of this server as the client sees it. */
export function watchUrls(signer: Pick<Signer, "sign">, publicUrl: string, kind: Watched, uuid: string) {
  const base = `${publicUrl}/${kind}/${uuid}`;
  const token = signer.sign(`${kind}/${uuid}`);
  return { hls_url: `${base}/hls/index.m3u8?token=${token}`, webrtc_url: `${base}/whep?token=${token}` };
}
