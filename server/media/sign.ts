/**
 * Addresses that are good for a while without a key: `?token=<end>.<mac>`, the MAC over what it is for and until when
 * (HMAC-SHA256, a secret of this installation). Who has one may see that one thing, and may hand it on.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** What an address is for: `source/<uuid>`, and so everything below it that can be signed. */
export type Resource = `${string}/${string}`;

export interface Signer {
  /** Good for `media.url_seconds`, or a little longer: addresses that are asked for soon after each other are alike. */
  sign(resource: Resource): string;
  isGood(resource: string, token: string): boolean;
}

const TOKEN = /^([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/;
const BASE = 36;
/** Of the time that addresses are good for. */
const STEP = 1 / 12;

export function createSigner(secret: Uint8Array, seconds: number, now: () => number = Date.now): Signer {
  const macOf = (resource: string, end: string): Buffer =>
    createHmac("sha256", secret).update(`windhover 1\n${resource}\n${end}`).digest();
  const step = Math.max(1, Math.floor(seconds * STEP));
  return {
    sign(resource) {
      const end = (Math.ceil((now() / 1000 + seconds) / step) * step).toString(BASE);
      return `${end}.${macOf(resource, end).toString("base64url")}`;
    },
    isGood(resource, token) {
      const [, end, mac] = TOKEN.exec(token) ?? [];
      if (end === undefined || mac === undefined) return false;
      const isRight = timingSafeEqual(Buffer.from(mac, "base64url"), macOf(resource, end));
      return isRight && Number.parseInt(end, BASE) * 1000 > now();
    },
  };
}
