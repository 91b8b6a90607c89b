/**
 * Addresses that are good for a while without a key: `?token=<end>.<mac>`, the MAC over what it is for and until when
 * (HMAC-SHA256, a secret of this installation). Who has one may see that one thing, and may hand it on.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** What an address is for: `source/<uuid>`, and so everything below it that can be signed. */
export type Resource = `${string}/${string}`;

/** What one who watches it already needs to go on. */
export const goingOn = (resource: string): Resource => `${resource}/going-on` as Resource;

export interface Signer {
  /** Good for `media.url_seconds`, or a little longer: addresses that are asked for soon after each other are alike. */
  sign(resource: Resource): string;
  /** For one who has begun to watch it, and may go on for `media.watch_seconds`, but not begin anew. */
  signGoingOn(resource: Resource): string;
  isGood(resource: string, token: string): boolean;
}

const TOKEN = /^([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/;
const BASE = 36;
/** Of the time that addresses are good for. */
const STEP = 1 / 12;

export interface SignedTimes {
  readonly urlSeconds: number;
  readonly watchSeconds: number;
}

export function createSigner(
  secret: Uint8Array,
  { urlSeconds, watchSeconds }: SignedTimes,
  now: () => number = Date.now,
): Signer {
  const macOf = (resource: string, end: string): Buffer =>
    createHmac("sha256", secret).update(`windhover 1\n${resource}\n${end}`).digest();
  const signFor = (resource: string, seconds: number): string => {
    const step = Math.max(1, Math.floor(seconds * STEP));
    const end = (Math.ceil((now() / 1000 + seconds) / step) * step).toString(BASE);
    return `${end}.${macOf(resource, end).toString("base64url")}`;
  };
  return {
    sign: (resource) => signFor(resource, urlSeconds),
    signGoingOn: (resource) => signFor(goingOn(resource), watchSeconds),
    isGood(resource, token) {
      const [, end, mac] = TOKEN.exec(token) ?? [];
      if (end === undefined || mac === undefined) return false;
      const isRight = timingSafeEqual(Buffer.from(mac, "base64url"), macOf(resource, end));
      return isRight && Number.parseInt(end, BASE) * 1000 > now();
    },
  };
}
