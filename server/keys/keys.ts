/** API keys: `wh_<id>_<secret>`. The id is public and identifies the record; of the whole key only its SHA-256 is stored. */
import crypto, { randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import type { Sql } from "../store/client.ts";
import { createFirstUser, createUser, findUserByName, type NewUser, type UserRow } from "../store/users.ts";

const ID_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";
const ID_LENGTH = 10;
const SECRET_BYTES = 32;
const GENERATED = /^wh_([a-z0-9]{1,32})_[A-Za-z0-9_-]+$/;
/** Visible ASCII: safe in a header and in a query. */
const SAFE = /^[\x21-\x7e]{16,200}$/;

/** 256 random bits. */
export function makeKey(): string {
  const id = Array.from({ length: ID_LENGTH }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join("");
  return `wh_${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
}

/** Null if it cannot be a key. A key chosen by the operator (`bootstrap_key`) has no id: a digest of another text serves as one. */
export function digestKey(key: string): { readonly id: string; readonly sha256: Buffer } | null {
  if (!SAFE.test(key)) return null;
  const id = GENERATED.exec(key)?.[1] ?? `x${sha256(`id of ${key}`).toString("hex").slice(0, 16)}`;
  return { id, sha256: sha256(key) };
}

/** In constant time. */
export const isSameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

/** Every request needs one: `hash`, which is new in Node 20.12, takes less time. */
const sha256 = (text: string): Buffer =>
  crypto.hash?.("sha256", text, "buffer") ?? crypto.createHash("sha256").update(text).digest();

/** A new user with its first key. `master`: the username of its master; null for a master. */
export type KeyOrder = Omit<NewUser, "masterUuid" | "keyId" | "keySha256"> & { readonly master: string | null };

/** The message is complete: shown without a stack. */
export class KeyFault extends Error {
  override readonly name = "KeyFault";
}

export const USERNAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** The key is returned once and cannot be read again. Throws `KeyFault`. */
export async function createKey(sql: Sql, order: KeyOrder): Promise<{ readonly key: string; readonly row: UserRow }> {
  const { username, master: masterName } = order;
  if (!USERNAME.test(username))
    throw new KeyFault(
      `"${username}" is not a valid username; expected up to 63 lower-case letters, digits, - and _, starting with a letter or a digit`,
    );
  const master = masterName === null ? null : await findUserByName(sql, masterName);
  if (masterName !== null && master === null) throw new KeyFault(`there is no key named ${masterName}`);
  const key = makeKey();
  const row = await createUser(sql, toNewUser(key, order, master?.uuid ?? null));
  if (row === "username_taken") throw new KeyFault(`an account named ${username} exists already; choose another name`);
  if (row === "no_such_master")
    throw new KeyFault(`${masterName} is not a master key, or is revoked; only a master key has children`);
  return { key, row };
}

const FIRST: KeyOrder = {
  username: "master",
  master: null,
  product: "windhover",
  pendingMs: 0,
  allocatedMs: null,
  expiresAt: null,
  hasTrackLogger: true,
  // Recording takes a core from detection and fills the disk: keys with it are created with --recording.
  hasRecording: false,
  hasEnhancement: true,
  isGraphAuthor: true,
  isOperator: true,
  limits: {},
};

/** Creates a master key with all permissions but recording if the database has no keys; else null. Throws `KeyFault` if the given key is not valid. */
export async function createFirstKey(sql: Sql, givenKey: string | null): Promise<string | null> {
  const key = givenKey ?? makeKey();
  const row = await createFirstUser(sql, toNewUser(key, FIRST, null));
  return row === null ? null : key;
}

function toNewUser(key: string, { master: _, ...order }: KeyOrder, masterUuid: string | null): NewUser {
  const digest = digestKey(key);
  if (digest === null)
    throw new KeyFault("bootstrap_key is not a valid key: expected 16 to 200 visible ASCII characters without spaces");
  return { ...order, masterUuid, keyId: digest.id, keySha256: digest.sha256 };
}
