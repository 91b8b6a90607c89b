/** Users, and their minutes. */
import { randomBytes } from "node:crypto";
import { ServiceError } from "../service-error.ts";
import { ALL_RIGHTS, type KeyRights, type User, type UserLimits } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { NEAR_SHARE } from "./events.ts";

export interface UserRow extends Omit<User, "limits" | "key"> {
  /** The public part of its first key. */
  readonly keyId: string;
  readonly keySha256: Buffer;
  /** Only those that differ from the configuration. */
  readonly limits: Partial<UserLimits>;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
  /** Null: unlimited. */
  readonly allocatedMs: number | null;
  /** To be allocated; only a master has any. */
  readonly pendingMs: number;
}

export type NewUser = Omit<UserRow, "uuid" | "revokedAt" | "createdAt">;

/** Why a user was not created: the name is in use, or the master is not a master or is revoked. */
type UserRefusal = "username_taken" | "no_such_master";

export async function createUser(sql: Sql, user: NewUser): Promise<UserRow | UserRefusal> {
  const { masterUuid } = user;
  return sql.begin(async (tx) => {
    if (masterUuid !== null) {
      const masters = await tx`
        select from users where uuid = ${masterUuid} and master_uuid is null and revoked_at is null for key share`;
      if (masters.length === 0) return "no_such_master";
    }
    await freeName(tx, user.username);
    return (await insertUser(tx, user)) ?? "username_taken";
  });
}

const MAX_NAME = 63;

/** A revoked user gives its name up: it is renamed to `<name>-revoked-<digits>`. */
async function freeName(sql: Queries, username: string): Promise<void> {
  const suffix = `-revoked-${randomBytes(4).toString("hex")}`;
  await sql`
    update users set username = left(username, ${MAX_NAME - suffix.length}) || ${suffix}
    where username = ${username} and revoked_at is not null`;
}

/** Whether processes of this user are recorded. */
export async function findHasRecording(sql: Queries, uuid: string): Promise<boolean> {
  const [found] = await sql<Pick<UserRow, "hasRecording">[]>`select has_recording from users where uuid = ${uuid}`;
  return found?.hasRecording ?? false;
}

/** For a query with the table users. */
export const hasValidKey = (sql: Queries) => sql`users.revoked_at is null and coalesce(users.expires_at > now(), true)`;

/** Whether the owner of a process still has process recording and a valid key. */
export async function mayRecord(sql: Queries, processUuid: string): Promise<boolean> {
  const found = await sql`
    select from processes join users on users.uuid = user_uuid
    where processes.uuid = ${processUuid} and users.has_recording and ${hasValidKey(sql)}`;
  return found.length > 0;
}

/** Only if there are no users, revoked ones included. Of several servers that start at once, one creates it. */
export async function createFirstUser(sql: Sql, user: NewUser): Promise<UserRow | null> {
  return sql.begin(async (tx) => {
    await tx`lock table users in share row exclusive mode`;
    const [first] = await tx`select from users limit 1`;
    return first === undefined ? insertUser(tx, user) : null;
  });
}

function insertUser(sql: Queries, user: NewUser): Promise<UserRow | null> {
  const row = { ...user, uuid: newUuid(), limits: sql.json({ ...user.limits }) };
  return firstOf(sql<UserRow[]>`
    insert into users ${sql(row)} on conflict (username) do nothing returning *`);
}

/** Also of a revoked or expired key: the caller checks that. */
export const findUserByKeyId = (sql: Queries, keyId: string): Promise<UserRow | null> =>
  firstOf(sql<UserRow[]>`
    select users.* from api_keys join users on users.uuid = user_uuid where api_keys.key_id = ${keyId}`);

export const findUserByName = (sql: Queries, username: string): Promise<UserRow | null> =>
  firstOf(sql<UserRow[]>`select * from users where username = ${username}`);

/** Masters in the order of creation, each followed by its children. */
export const listUsers = (sql: Queries): Promise<readonly UserRow[]> =>
  sql<UserRow[]>`
    select users.* from users left join users as masters on masters.uuid = users.master_uuid
    order by coalesce(masters.created_at, users.created_at), coalesce(masters.uuid, users.uuid),
      users.master_uuid nulls first, users.created_at, users.uuid`;

/** With the children of a master. Resolves with the users revoked now, this one first. */
export async function revokeUser(sql: Sql, uuid: string): Promise<readonly UserRow[]> {
  return sql.begin(async (tx) => {
    // Children are created under a lock of their master, so that none is missed.
    await tx`select from users where uuid = ${uuid} for update`;
    const revoked = await tx<UserRow[]>`
      update users set revoked_at = now()
      where (uuid = ${uuid} or master_uuid = ${uuid}) and revoked_at is null returning *`;
    return revoked.toSorted(
      (a, b) => Number(b.uuid === uuid) - Number(a.uuid === uuid) || order(a.username, b.username),
    );
  });
}

const order = (a: string, b: string): number => (a < b ? -1 : 1);

/** Adds minutes to a master. Rejects with `ServiceError` if it is not a master, or is revoked. */
export async function addPending(sql: Queries, masterUuid: string, ms: number): Promise<void> {
  const added = await sql`
    update users set pending_ms = pending_ms + ${ms}
    where uuid = ${masterUuid} and master_uuid is null and revoked_at is null`;
  if (added.count === 1) return;
  throw new ServiceError("master_key_needed", {
    detail: "This key is a child key or is revoked; only a master key can allocate minutes.",
  });
}

export interface Allocation {
  readonly masterUuid: string;
  /** Name of the master or of one of its children. */
  readonly username: string;
  readonly ms: number;
}

/** All or nothing; simultaneous calls never allocate more than there is. Rejects with `ServiceError`. */
export async function allocate(sql: Sql, { masterUuid, username, ms }: Allocation): Promise<void> {
  await sql.begin(async (tx) => {
    // In a fixed order, so that two calls cannot deadlock.
    const rows = await tx<UserRow[]>`
      select * from users
      where revoked_at is null and (uuid = ${masterUuid} or (username = ${username} and master_uuid = ${masterUuid}))
      order by uuid for update`;
    const master = rows.find(({ uuid }) => uuid === masterUuid);
    const receiver = rows.find((row) => row.username === username);
    if (master === undefined || master.masterUuid !== null) {
      throw new ServiceError("master_key_needed", {
        detail: "This key is a child key; only its master can allocate minutes.",
      });
    }
    if (receiver === undefined) {
      throw new ServiceError("user_not_found", {
        detail: `Neither this key nor one of its children is named ${username}; GET /user_info lists them.`,
      });
    }
    if (receiver.allocatedMs === null) {
      throw new ServiceError("minutes_unlimited", {
        detail: `${username} has unlimited minutes; allocate to a key that was created with a limit (\`windhover keys create NAME --minutes N\`).`,
      });
    }
    if (master.pendingMs < ms) {
      const minutes = (amountMs: number) => Math.floor(amountMs / 600) / 100;
      throw new ServiceError("minutes_not_pending", {
        detail: `${minutes(ms)} minutes requested, but only ${minutes(master.pendingMs)} are left to allocate.`,
      });
    }
    await tx`update users set pending_ms = pending_ms - ${ms} where uuid = ${master.uuid}`;
    await tx`update users set allocated_ms = allocated_ms + ${ms} where uuid = ${receiver.uuid}`;
  });
}

/** `limits`: defaults, from the configuration. `key`: that of the request. */
export function toUser(row: UserRow, limits: UserLimits, key: KeyRights = ALL_RIGHTS): User {
  const { uuid, username, product, masterUuid, expiresAt } = row;
  const { hasTrackLogger, hasRecording, hasEnhancement, isGraphAuthor, isOperator } = row;
  const flags = { hasTrackLogger, hasRecording, hasEnhancement, isGraphAuthor, isOperator };
  return { uuid, username, product, masterUuid, ...flags, limits: { ...limits, ...row.limits }, expiresAt, key };
}

/** Who may only read: for holders of a signed URL. */
const READS: KeyRights = Object.freeze({ ...ALL_RIGHTS, name: "signed URL", scopes: ["read"] as const });

/** The user of a process, with the right to read. Null: the process does not exist, or its user is revoked or expired. */
export async function findOwner(sql: Queries, processUuid: string, limits: UserLimits): Promise<User | null> {
  const row = await firstOf(sql<UserRow[]>`
    select users.* from processes join users on users.uuid = user_uuid
    where processes.uuid = ${processUuid} and ${hasValidKey(sql)}`);
  return row === null ? null : toUser(row, limits, READS);
}

/** Serialises everything that counts against limits of this user until the end of the transaction. Locked before any row. */
export async function lockUser(sql: Queries, userUuid: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${userUuid}, 7))`;
}

export interface UsageEntry {
  readonly processUuid: string;
  /** Of the claim under which it ran. */
  readonly fence: number;
  /** Total under that claim, so that writing it twice counts once. */
  readonly runningMs: number;
}

/**
 * A total never decreases. Entries of a lost claim are ignored: the new owner counts the process. The entry with which a user
 * has nearly used up the minutes is an event, once for each amount of minutes that the user has had.
 */
export async function writeUsage(sql: Queries, entries: readonly UsageEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ ...entry, runningMs: Math.round(entry.runningMs) }));
  // One statement; it sees `usage` as it was before.
  await sql`
    with written as (
      insert into usage (process_uuid, fence, user_uuid, running_ms)
      select processes.uuid, processes.fence, processes.user_uuid, max(entries."runningMs")
      from jsonb_to_recordset(${sql.json(rows)}) as entries ("processUuid" uuid, fence bigint, "runningMs" bigint)
      join processes on processes.uuid = entries."processUuid" and processes.fence = entries.fence
      group by processes.uuid
      on conflict (process_uuid, fence) do update
        set running_ms = greatest(usage.running_ms, excluded.running_ms), updated_at = now()
      returning process_uuid, fence, user_uuid, running_ms
    ), totals as (
      select users.uuid, allocated_ms,
        (select sum(running_ms) from written where user_uuid = users.uuid)
        + (select coalesce(sum(running_ms), 0) from usage where user_uuid = users.uuid
            and not exists (select from written where (process_uuid, fence) = (usage.process_uuid, usage.fence))) as used_ms
      from users where allocated_ms > 0 and users.uuid in (select user_uuid from written)
    )
    insert into events (user_uuid, type, data, key)
    select uuid, 'quota-near', jsonb_build_object('quota', 'minutes', 'used', round(used_ms / 60000, 2),
      'limit', round(allocated_ms / 60000.0, 2)), 'minutes ' || allocated_ms
    from totals where used_ms >= allocated_ms * ${NEAR_SHARE}::numeric
    on conflict do nothing`;
}

export interface Subscription {
  readonly userUuid: string;
  readonly username: string;
  readonly consumedMs: number;
  /** Null: unlimited. Never below 0. */
  readonly remainingMs: number | null;
  readonly pendingMs: number;
  readonly expiresAt: Date | null;
}

const subscriptionColumns = (sql: Queries) => sql`
  users.uuid as user_uuid, username, expires_at, pending_ms, used.ms as consumed_ms,
  case when allocated_ms is not null then greatest(allocated_ms - used.ms, 0) end as remaining_ms`;

const used = (sql: Queries) => sql`
  lateral (select coalesce(sum(running_ms), 0)::bigint as ms from usage where usage.user_uuid = users.uuid) as used`;

/** Null if the user does not exist. */
export const readSubscription = (sql: Queries, userUuid: string): Promise<Subscription | null> =>
  firstOf(sql<Subscription[]>`
    select ${subscriptionColumns(sql)} from users, ${used(sql)} where users.uuid = ${userUuid}`);

/** Children of a master that are not revoked, by name. */
export const listChildSubscriptions = (sql: Queries, masterUuid: string): Promise<readonly Subscription[]> =>
  sql<Subscription[]>`
    select ${subscriptionColumns(sql)} from users, ${used(sql)}
    where users.master_uuid = ${masterUuid} and revoked_at is null order by username`;

/** Whether a user may continue to run processes. */
export interface Standing extends Pick<Subscription, "userUuid" | "remainingMs"> {
  readonly isExpired: boolean;
  readonly isRevoked: boolean;
}

/** Of users that exist. */
export async function readStandings(sql: Queries, userUuids: readonly string[]): Promise<readonly Standing[]> {
  if (userUuids.length === 0) return [];
  return sql<Standing[]>`
    select ${subscriptionColumns(sql)}, coalesce(expires_at <= now(), false) as is_expired,
      revoked_at is not null as is_revoked
    from users, ${used(sql)} where users.uuid in ${sql([...userUuids])}`;
}

/** Why this user's processes must stop; null when they may run. */
export function findLimit({
  remainingMs,
  isExpired,
  isRevoked,
}: Omit<Standing, "userUuid">): { readonly code: string; readonly detail: string } | null {
  if (isRevoked) return { code: "api_key_invalid", detail: "the key was revoked" };
  if (isExpired) return { code: "api_key_expired", detail: "the key has expired" };
  if (remainingMs !== null && remainingMs <= 0)
    return { code: "usage_limit_reached", detail: "the minutes of this key are used up" };
  return null;
}

/** Rejects with `usage_limit_reached`. */
export async function expectMinutes(sql: Queries, userUuid: string): Promise<void> {
  const [standing] = await readStandings(sql, [userUuid]);
  const error = standing === undefined ? null : findLimit(standing);
  if (error?.code === "usage_limit_reached")
    throw new ServiceError("usage_limit_reached", { detail: `${error.detail}; GET /user_info shows its minutes` });
}

/** A user and its children that are not revoked, by name; the user first. */
export const listAccount = (sql: Queries, uuid: string): Promise<readonly UserRow[]> =>
  sql<UserRow[]>`
    select * from users where (uuid = ${uuid} or master_uuid = ${uuid}) and revoked_at is null
    order by master_uuid nulls first, uuid <> ${uuid}, username`;

export type UserChange = Partial<
  Pick<
    UserRow,
    "limits" | "hasTrackLogger" | "hasRecording" | "hasEnhancement" | "isGraphAuthor" | "isOperator" | "expiresAt"
  >
>;

/** Takes effect within a second; a flag of processes with their next start. */
export async function changeUser(sql: Queries, uuid: string, { limits, ...change }: UserChange): Promise<UserRow> {
  const row = { ...change, ...(limits !== undefined && { limits: sql.json({ ...limits }) }) };
  return writtenRow(
    Object.keys(row).length === 0
      ? sql<UserRow[]>`select * from users where uuid = ${uuid}`
      : sql<UserRow[]>`update users set ${sql(row)} where uuid = ${uuid} returning *`,
  );
}
