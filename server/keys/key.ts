/** API keys: `wh_<id>_<secret>`. The id is public and finds the record; the whole is kept as its SHA-256 only. */
import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";

const ID_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";
const ID_LENGTH = 10;
const SECRET_BYTES = 32;
const OURS = /^wh_([a-z0-9]{1,32})_[A-Za-z0-9_-]+$/;
/** Visible ASCII: what a header and a query can carry unharmed. */
const SANE = /^[\x21-\x7e]{16,200}$/;

export interface KeyDigest {
  readonly id: string;
  readonly sha256: Buffer;
}

/** 256 random bits. */
export function makeKey(): string {
  const id = Array.from({ length: ID_LENGTH }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join("");
  return `wh_${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
}

/**
 * Null when it cannot be a key at all. A key that an operator made up (`bootstrap_key`) has no id in it: then it is the
 * digest of another text, which tells as little of the key.
 */
export function digestKey(key: string): KeyDigest | null {
  if (!SANE.test(key)) return null;
  const id = OURS.exec(key)?.[1] ?? `x${sha256(`id of ${key}`).toString("hex").slice(0, 16)}`;
  return { id, sha256: sha256(key) };
}

/** Takes the same time whatever differs. */
export const isSameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();
