/** New keys, and with each a user. */
import type { Sql } from "../store/client.ts";
import { createFirstUser, createUser, findUserByName, type NewUser, type UserRow } from "../store/users.ts";
import type { UserLimits } from "../user.ts";
import { digestKey, makeKey } from "./key.ts";

export interface KeyOrder {
  readonly username: string;
  /** The username of its master; null for a master. */
  readonly master: string | null;
  readonly product: string;
  /** Of a master: minutes to hand out. Of a child, or null: see `allocatedMs`. */
  readonly pendingMs: number;
  /** Minutes it may use itself; null for any number. */
  readonly allocatedMs: number | null;
  readonly expiresAt: Date | null;
  readonly hasTrackLogger: boolean;
  readonly hasRecording: boolean;
  readonly hasEnhancement: boolean;
  readonly isGraphAuthor: boolean;
  readonly isOperator: boolean;
  readonly limits: Partial<UserLimits>;
}

/** Told in full by its message. */
export class KeyFault extends Error {
  override readonly name = "KeyFault";
}

export const USERNAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** The key is shown here and never again. Throws `KeyFault`. */
export async function createKey(sql: Sql, order: KeyOrder): Promise<{ readonly key: string; readonly row: UserRow }> {
  if (!USERNAME.test(order.username))
    throw new KeyFault(
      `"${order.username}" is no username; expected lower-case letters, digits, - and _, 63 at most, the first a letter or a digit`,
    );
  const master = order.master === null ? null : await findUserByName(sql, order.master);
  if (order.master !== null && master === null) throw new KeyFault(`there is no key named ${order.master}`);
  const key = makeKey();
  const row = await createUser(sql, toNewUser(key, order, master?.uuid ?? null));
  if (row === "username_taken")
    throw new KeyFault(`there is a key named ${order.username} already, maybe a revoked one; choose another name`);
  if (row === "no_such_master")
    throw new KeyFault(`${order.master} is no master key, or is revoked; only a master key has children`);
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
  // Would take a core from detection and fill the disk of whoever only tries it: for that a key is made with --recording.
  hasRecording: false,
  hasEnhancement: true,
  isGraphAuthor: true,
  isOperator: true,
  limits: {},
};

/** On an empty database one master key that may do everything, and records nothing of it; else null. Throws `KeyFault` for a given key that is none. */
export async function createFirstKey(sql: Sql, givenKey: string | null): Promise<string | null> {
  const key = givenKey ?? makeKey();
  const row = await createFirstUser(sql, toNewUser(key, FIRST, null));
  return row === null ? null : key;
}

function toNewUser(key: string, { username, master: _, ...order }: KeyOrder, masterUuid: string | null): NewUser {
  const digest = digestKey(key);
  if (digest === null)
    throw new KeyFault("bootstrap_key is no key: expected 16 to 200 visible ASCII characters, without spaces");
  return { ...order, username, masterUuid, keyId: digest.id, keySha256: digest.sha256 };
}
