/** Keys of an account and its children: created, rotated, changed and revoked by a key that has at least their rights. */
import type { Static } from "typebox";
import type { KeyChange, KeyRotation, NewKey } from "../../schemas/api/keys.ts";
import { OVERLAP_SECONDS } from "../../schemas/api/keys.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import {
  type ApiKeyRow,
  changeKey,
  findKey,
  insertKey,
  limitKey,
  type NewApiKey,
  revokeKey,
} from "../store/api-keys.ts";
import type { Queries, Sql } from "../store/client.ts";
import { findSource } from "../store/sources.ts";
import { listAccount } from "../store/users.ts";
import type { KeyRights, User } from "../user.ts";
import { digestKey, makeKey } from "./keys.ts";
import { hasScope, lacksScope } from "./scopes.ts";

/** With the key itself, which cannot be read again. */
export interface CreatedKey {
  readonly key: string;
  readonly row: ApiKeyRow;
}

export type KeyOrder = Omit<NewApiKey, "keyId" | "keySha256">;

/** Rejects with `source_not_found` and `keys_limit_reached`. Does not check who asks. */
export async function addKey(sql: Sql, order: KeyOrder): Promise<CreatedKey> {
  await expectSources(sql, order);
  const key = makeKey();
  const digest = digestKey(key);
  if (digest === null) throw new Error("a generated key is not valid");
  return { key, row: await insertKey(sql, { ...order, keyId: digest.id, keySha256: digest.sha256 }) };
}

export interface Rotation {
  readonly overlapSeconds: number;
  /** Of the new key. Undefined: as that of the old one. */
  readonly expiresAt?: Date | null | undefined;
}

/** A new key with the same rights. The old one stays valid for a while. Does not check who asks. */
export async function rotateKey(
  sql: Sql,
  old: ApiKeyRow,
  { overlapSeconds, expiresAt }: Rotation,
): Promise<CreatedKey> {
  const { userUuid, name, scopes, sourceUuids } = old;
  const until = expiresAt === undefined ? old.expiresAt : expiresAt;
  if (until !== null && until.getTime() <= Date.now())
    throw invalidInput([{ path: "/expires_at", message: "is missing: the key has expired, and so would the new one" }]);
  const created = await addKey(sql, { userUuid, name, scopes, sourceUuids, expiresAt: until });
  await limitKey(sql, old.uuid, new Date(Date.now() + overlapSeconds * 1000));
  return created;
}

/** What a key of `user` does with keys of its account and, if it is a master, of its children. */
export class AccountKeys {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async create(user: User, { username, name, scopes, source_uuids = null, expires_at }: NewKey): Promise<CreatedKey> {
    const userUuid = await this.#findAccount(user, username ?? user.username);
    const expiresAt = readExpiry(expires_at) ?? null;
    const order = { userUuid, name, scopes, sourceUuids: source_uuids, expiresAt };
    expectGrantable(user.key, order);
    return addKey(this.#sql, order);
  }

  async rotate(user: User, uuid: string, body: Static<typeof KeyRotation>): Promise<CreatedKey> {
    const { overlap_seconds: overlapSeconds = OVERLAP_SECONDS, expires_at } = body;
    const old = await this.#expect(user, uuid);
    if (old.person !== null)
      throw new ServiceError("key_not_found", { detail: `${uuid} is a session: it cannot be rotated, only revoked` });
    const expiresAt = readExpiry(expires_at);
    expectGrantable(user.key, { ...old, expiresAt: expiresAt === undefined ? old.expiresAt : expiresAt });
    return rotateKey(this.#sql, old, { overlapSeconds, expiresAt });
  }

  async change(user: User, uuid: string, { name, expires_at }: KeyChange): Promise<ApiKeyRow> {
    const old = await this.#expect(user, uuid);
    const expiresAt = readExpiry(expires_at);
    // To shorten the life of any key is allowed.
    const isLonger =
      expiresAt === null || (expiresAt !== undefined && old.expiresAt !== null && expiresAt > old.expiresAt);
    if (isLonger) expectGrantable(user.key, { ...old, expiresAt });
    await changeKey(this.#sql, uuid, { name, expiresAt });
    return findKey(this.#sql, user.uuid, uuid);
  }

  async revoke(user: User, uuid: string): Promise<void> {
    await this.#expect(user, uuid);
    if (!(await revokeKey(this.#sql, uuid))) throw notFound(uuid);
  }

  /** Rejects with `key_not_found`, also for a revoked key. */
  async #expect(user: User, uuid: string): Promise<ApiKeyRow> {
    const row = await findKey(this.#sql, user.uuid, uuid);
    if (row.revokedAt !== null) throw notFound(uuid);
    return row;
  }

  async #findAccount(user: User, username: string): Promise<string> {
    const account = (await listAccount(this.#sql, user.uuid)).find((row) => row.username === username);
    if (account !== undefined) return account.uuid;
    throw new ServiceError("user_not_found", {
      detail: `Neither this account nor one of its children is named ${username}; GET /accounts lists them.`,
    });
  }
}

/** A key cannot give more than it has. Rejects with `scope_needed`. */
export function expectGrantable(
  own: KeyRights,
  { scopes, sourceUuids, expiresAt }: Pick<KeyRights, "scopes" | "sourceUuids" | "expiresAt">,
): void {
  const lacking = scopes.find((scope) => !hasScope(own.scopes, scope));
  if (lacking !== undefined) throw new ServiceError("scope_needed", { detail: lacksScope(own.scopes, lacking) });
  const { sourceUuids: ownSources, expiresAt: ownExpiry } = own;
  if (ownSources !== null && !(sourceUuids?.every((uuid) => ownSources.includes(uuid)) ?? false))
    throw new ServiceError("scope_needed", {
      detail: "This key is limited to sources, and the other one would not be.",
    });
  if (ownExpiry !== null && (expiresAt === null || expiresAt > ownExpiry))
    throw new ServiceError("scope_needed", {
      detail: `This key expires at ${ownExpiry.toISOString()}, and the other one would be valid for longer; set its \`expires_at\`.`,
    });
}

/** Undefined: not given. Rejects with `invalid_input` if it is in the past. */
export function readExpiry(text: string | null | undefined): Date | null | undefined {
  if (text === undefined || text === null) return text;
  const time = new Date(text);
  if (time.getTime() > Date.now()) return time;
  throw invalidInput([{ path: "/expires_at", message: "is in the past; expected a future time, or null" }]);
}

async function expectSources(sql: Queries, { userUuid, sourceUuids }: KeyOrder): Promise<void> {
  if (sourceUuids === null) return;
  for (const uuid of sourceUuids) await findSource(sql, userUuid, uuid);
}

const notFound = (uuid: string): ServiceError =>
  new ServiceError("key_not_found", { detail: `the key ${uuid} is revoked` });
