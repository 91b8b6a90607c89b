/**
 * How nodes of one service recognise each other: by a MAC with a key that is derived from the signing key of the
 * installation. Anyone who can read that key (database and `secrets.key`) can act as a node; there is no second secret to distribute.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

/** What a MAC is for: one made for a purpose is not valid for another. */
export type Purpose = "request" | "relay";

/** Validity of a signature: longer than clocks of nodes differ, as short as replaying needs. */
export const SIGNATURE_SECONDS = 60;

const SIGNATURE = /^([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/;
const BASE = 36;

export class ClusterKey {
  readonly #key: Buffer;
  readonly #now: () => number;

  constructor(signingKey: Uint8Array, now: () => number = Date.now) {
    this.#key = Buffer.from(hkdfSync("sha256", signingKey, "", "windhover nodes 1", 32));
    this.#now = now;
  }

  /** `<end>.<mac>`: valid for these parts, in this order, until the end. */
  sign(purpose: Purpose, parts: readonly string[], seconds = SIGNATURE_SECONDS): string {
    const end = Math.ceil(this.#now() / 1000 + seconds).toString(BASE);
    return `${end}.${this.#mac(purpose, parts, end).toString("base64url")}`;
  }

  isGood(purpose: Purpose, parts: readonly string[], signature: string): boolean {
    const [, end, mac] = SIGNATURE.exec(signature) ?? [];
    if (end === undefined || mac === undefined) return false;
    const isRight = timingSafeEqual(Buffer.from(mac, "base64url"), this.#mac(purpose, parts, end));
    return isRight && Number.parseInt(end, BASE) * 1000 > this.#now();
  }

  /** Of JSON: no two lists of parts have the same text. */
  #mac(purpose: Purpose, parts: readonly string[], end: string): Buffer {
    return createHmac("sha256", this.#key)
      .update(JSON.stringify([purpose, end, ...parts]))
      .digest();
  }
}
