/** Keys of users. Of a key only its digest is stored. */
import type { Scope } from "../../schemas/api/keys.ts";
import { ServiceError } from "../service-error.ts";
import type { KeyRights } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { byCreation, fetchPage, type Page, type PageRequest } from "./page.ts";
import { lockUser, type UserRow } from "./users.ts";

export interface ApiKeyRow extends KeyRights {
  readonly userUuid: string;
  readonly username: string;
  /** The public part of the key. */
  readonly keyId: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface NewApiKey extends Pick<ApiKeyRow, "userUuid" | "name" | "keyId" | "sourceUuids" | "expiresAt"> {
  readonly keySha256: Uint8Array;
  readonly scopes: readonly Scope[];
}

/** Valid keys of one user. */
const MAX_KEYS = 200;

const columns = (sql: Queries) => sql`
  api_keys.uuid, api_keys.user_uuid, users.username, api_keys.name, api_keys.key_id, api_keys.scopes,
  api_keys.source_uuids, api_keys.person, api_keys.created_at, api_keys.last_used_at, api_keys.expires_at,
  coalesce(api_keys.revoked_at, users.revoked_at) as revoked_at`;
const tables = (sql: Queries) => sql`api_keys join users on users.uuid = api_keys.user_uuid`;

/** Of a user: itself and, if it is a master, its children. */
const ofAccount = (sql: Queries, userUuid: string) => sql`
  (users.uuid = ${userUuid} or users.master_uuid = ${userUuid}) and users.revoked_at is null`;

/** Rejects with `keys_limit_reached`. */
export async function insertKey(sql: Sql, key: NewApiKey): Promise<ApiKeyRow> {
  return sql.begin(async (tx) => {
    await lockUser(tx, key.userUuid);
    const [found] = await tx<{ count: number }[]>`
      select count(*)::integer as count from api_keys
      where user_uuid = ${key.userUuid} and person is null
        and revoked_at is null and coalesce(expires_at > now(), true)`;
    if ((found?.count ?? 0) >= MAX_KEYS)
      throw new ServiceError("keys_limit_reached", {
        detail: `The account has ${MAX_KEYS} valid keys, which is the limit; revoke one first.`,
      });
    return write(tx, key);
  });
}

async function write(
  sql: Queries,
  { scopes, sourceUuids, ...rest }: NewApiKey & { person?: string },
): Promise<ApiKeyRow> {
  const row = {
    ...{ ...rest, uuid: newUuid(), scopes: sql.json([...scopes]) },
    sourceUuids: sourceUuids === null ? null : sql.json([...sourceUuids]),
  };
  const { uuid } = await writtenRow(sql<{ uuid: string }[]>`insert into api_keys ${sql(row)} returning uuid`);
  return writtenRow(sql<ApiKeyRow[]>`select ${columns(sql)} from ${tables(sql)} where api_keys.uuid = ${uuid}`);
}

/** Of one user. */
const MAX_SESSIONS = 1000;

/** The session of a person. Removes sessions that have ended, and the oldest ones if there are too many. */
export async function insertSession(sql: Sql, session: NewApiKey & { readonly person: string }): Promise<ApiKeyRow> {
  return sql.begin(async (tx) => {
    await lockUser(tx, session.userUuid);
    const row = await write(tx, session);
    await tx`
      delete from api_keys where user_uuid = ${session.userUuid} and person is not null and (
        revoked_at is not null or expires_at <= now() or uuid in (
          select uuid from api_keys where user_uuid = ${session.userUuid} and person is not null
          order by created_at desc, uuid desc offset ${MAX_SESSIONS}))`;
    return row;
  });
}

/** A key with its user, for authentication. */
export interface FoundKey extends UserRow {
  readonly keyUuid: string;
  readonly keyName: string;
  readonly keyDigest: Buffer;
  readonly scopes: readonly Scope[];
  readonly sourceUuids: readonly string[] | null;
  readonly keyExpiresAt: Date | null;
  readonly keyRevokedAt: Date | null;
  readonly person: string | null;
  /** Its last use was written long enough ago. */
  readonly isStale: boolean;
}

/** Also of a revoked or expired key or user: the caller checks that. */
export const findKeyById = (sql: Queries, keyId: string): Promise<FoundKey | null> =>
  firstOf(sql<FoundKey[]>`
    select users.*, api_keys.uuid as key_uuid, api_keys.name as key_name, api_keys.key_sha256 as key_digest,
      api_keys.scopes, api_keys.source_uuids, api_keys.person, api_keys.expires_at as key_expires_at,
      api_keys.revoked_at as key_revoked_at, ${isStale(sql)} as is_stale
    from ${tables(sql)} where api_keys.key_id = ${keyId}`);

const isStale = (sql: Queries) => sql`coalesce(api_keys.last_used_at < now() - interval '1 minute', true)`;

/** The key is being used. */
export async function markUsed(sql: Queries, uuid: string): Promise<void> {
  await sql`update api_keys set last_used_at = now() where uuid = ${uuid} and ${isStale(sql)}`;
}

export interface KeysRequest extends PageRequest {
  /** Only of this account. */
  readonly username?: string | undefined;
  readonly withRevoked: boolean;
}

/** Of this user and its children, newest first. */
export const listKeys = (sql: Queries, userUuid: string, request: KeysRequest): Promise<Page<ApiKeyRow>> =>
  fetchPage(
    sql,
    request,
    byCreation<ApiKeyRow>("api_keys"),
    (end) => sql<ApiKeyRow[]>`
      select ${columns(sql)} from ${tables(sql)} where ${ofAccount(sql, userUuid)}
      ${request.withRevoked ? sql`` : sql`and api_keys.revoked_at is null`}
      ${request.username === undefined ? sql`` : sql`and users.username = ${request.username}`} ${end}`,
  );

/** Of this user or one of its children, revoked ones included. Rejects with `key_not_found`. */
export async function findKey(sql: Queries, userUuid: string, uuid: string): Promise<ApiKeyRow> {
  const row = await firstOf(sql<ApiKeyRow[]>`
    select ${columns(sql)} from ${tables(sql)} where api_keys.uuid = ${uuid} and ${ofAccount(sql, userUuid)}`);
  if (row !== null) return row;
  throw new ServiceError("key_not_found", {
    detail: `neither this account nor one of its children has a key ${uuid}; GET /keys lists them`,
  });
}

/** Of a user, by its id; revoked ones included. */
export const findKeyRow = (sql: Queries, keyId: string): Promise<ApiKeyRow | null> =>
  firstOf(sql<ApiKeyRow[]>`select ${columns(sql)} from ${tables(sql)} where api_keys.key_id = ${keyId}`);

export async function changeKey(
  sql: Queries,
  uuid: string,
  { name, expiresAt }: { readonly name?: string | undefined; readonly expiresAt?: Date | null | undefined },
): Promise<void> {
  if (name !== undefined) await sql`update api_keys set name = ${name} where uuid = ${uuid}`;
  if (expiresAt !== undefined) await sql`update api_keys set expires_at = ${expiresAt} where uuid = ${uuid}`;
}

/** From now on it expires at this time, unless it does so earlier. */
export async function limitKey(sql: Queries, uuid: string, expiresAt: Date): Promise<void> {
  await sql`update api_keys set expires_at = least(expires_at, ${expiresAt}) where uuid = ${uuid}`;
}

/** False: it was revoked already. */
export async function revokeKey(sql: Sql, uuid: string): Promise<boolean> {
  return sql.begin(async (tx) => {
    const revoked = await tx`
      update api_keys set revoked_at = now() where uuid = ${uuid} and revoked_at is null returning key_id`;
    // Servers of the version before compare with this digest: no text has it.
    await tx`
      update users set key_sha256 = decode(repeat('00', 32), 'hex')
      where key_id in (select key_id from api_keys where uuid = ${uuid})`;
    return revoked.length > 0;
  });
}

/** Those of these keys that are revoked or expired, or whose user is. */
export async function listInvalid(sql: Queries, uuids: readonly string[]): Promise<readonly string[]> {
  if (uuids.length === 0) return [];
  const rows = await sql<{ uuid: string }[]>`
    select keys.uuid from jsonb_array_elements_text(${sql.json([...uuids])}) as keys (uuid)
    left join api_keys on api_keys.uuid = keys.uuid::uuid left join users on users.uuid = api_keys.user_uuid
    where coalesce(api_keys.revoked_at is not null or users.revoked_at is not null
      or api_keys.expires_at <= now() or users.expires_at <= now(), api_keys.uuid is null)`;
  return rows.map(({ uuid }) => uuid);
}
