/** Users: one key, one user. What they have used is in `usage.ts`. */
import { ServiceError } from "../service-error.ts";
import type { User, UserLimits } from "../user.ts";
import { newUuid } from "../uuid.ts";
import type { Queries, Sql } from "./client.ts";

export interface UserRow {
  readonly uuid: string;
  readonly username: string;
  readonly masterUuid: string | null;
  readonly product: string;
  /** The public part of the key. */
  readonly keyId: string;
  readonly keySha256: Buffer;
  readonly hasTrackLogger: boolean;
  readonly hasRecording: boolean;
  readonly hasEnhancement: boolean;
  readonly isGraphAuthor: boolean;
  readonly isOperator: boolean;
  /** Only what differs from the configuration. */
  readonly limits: Partial<UserLimits>;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
  /** Null: unlimited. */
  readonly allocatedMs: number | null;
  /** To be handed out; only a master has any. */
  readonly pendingMs: number;
}

export type NewUser = Omit<UserRow, "uuid" | "revokedAt" | "createdAt">;

const COLUMNS = [
  ...(["uuid", "username", "masterUuid", "product", "keyId", "keySha256", "limits", "expiresAt"] as const),
  ...(["hasTrackLogger", "hasRecording", "hasEnhancement", "isGraphAuthor", "isOperator"] as const),
  ...(["allocatedMs", "pendingMs"] as const),
] as const;

/** Why a user was not made: the name is another's (a revoked one's too), or the master is none, or revoked. */
export type UserRefusal = "username_taken" | "no_such_master";

export async function createUser(sql: Sql, user: NewUser): Promise<UserRow | UserRefusal> {
  const { masterUuid } = user;
  return sql.begin(async (tx) => {
    if (masterUuid !== null) {
      const masters = await tx`
        select from users where uuid = ${masterUuid} and master_uuid is null and revoked_at is null for key share`;
      if (masters.length === 0) return "no_such_master";
    }
    return (await insertUser(tx, user)) ?? "username_taken";
  });
}

/** Whether processes of this user are recorded. */
export async function findHasRecording(sql: Queries, uuid: string): Promise<boolean> {
  const [found] = await sql<Pick<UserRow, "hasRecording">[]>`select has_recording from users where uuid = ${uuid}`;
  return found?.hasRecording ?? false;
}

/** Makes one only if there is no user yet, revoked ones included: of several servers that start at once, one does. */
export async function createFirstUser(sql: Sql, user: NewUser): Promise<UserRow | null> {
  return sql.begin(async (tx) => {
    await tx`lock table users in share row exclusive mode`;
    const [first] = await tx`select from users limit 1`;
    return first === undefined ? insertUser(tx, user) : null;
  });
}

async function insertUser(sql: Queries, user: NewUser): Promise<UserRow | null> {
  const row = { ...user, uuid: newUuid(), limits: sql.json({ ...user.limits }) };
  const [made] = await sql<UserRow[]>`
    insert into users ${sql(row, ...COLUMNS)} on conflict (username) do nothing returning *`;
  return made ?? null;
}

/** Also of a revoked or expired key: whoever asks tells these apart. */
export async function findUserByKeyId(sql: Queries, keyId: string): Promise<UserRow | null> {
  const [found] = await sql<UserRow[]>`select * from users where key_id = ${keyId}`;
  return found ?? null;
}

export async function findUserByName(sql: Queries, username: string): Promise<UserRow | null> {
  const [found] = await sql<UserRow[]>`select * from users where username = ${username}`;
  return found ?? null;
}

/** Masters in the order they were made, each followed by its children. */
export async function listUsers(sql: Queries): Promise<readonly UserRow[]> {
  return sql<UserRow[]>`
    select users.* from users left join users as masters on masters.uuid = users.master_uuid
    order by coalesce(masters.created_at, users.created_at), coalesce(masters.uuid, users.uuid),
      users.master_uuid nulls first, users.created_at, users.uuid`;
}

/** The key and, of a master, the keys of its children. Resolves with those that were revoked now, the key itself first. */
export async function revokeUser(sql: Sql, uuid: string): Promise<readonly UserRow[]> {
  return sql.begin(async (tx) => {
    // Keys are created under a lock of their master: one that is being created now is there when this lock is.
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

/** Minutes that a master has bought. Rejects with `ServiceError` when it is none, or is revoked. */
export async function addPending(sql: Queries, masterUuid: string, ms: number): Promise<void> {
  const added = await sql`
    update users set pending_ms = pending_ms + ${ms}
    where uuid = ${masterUuid} and master_uuid is null and revoked_at is null`;
  if (added.count === 1) return;
  throw new ServiceError("master_key_needed", {
    detail: "This key is a child's, or revoked; only a master has minutes to hand out.",
  });
}

export interface Allocation {
  readonly masterUuid: string;
  /** The master's own name, or a child's of it. */
  readonly username: string;
  readonly ms: number;
}

/** All or nothing; calls at once never hand out more than there is. Rejects with `ServiceError`. */
export async function allocate(sql: Sql, { masterUuid, username, ms }: Allocation): Promise<void> {
  await sql.begin(async (tx) => {
    // In one order, so that two calls never wait for each other.
    const rows = await tx<UserRow[]>`
      select * from users
      where revoked_at is null and (uuid = ${masterUuid} or (username = ${username} and master_uuid = ${masterUuid}))
      order by uuid for update`;
    const master = rows.find(({ uuid }) => uuid === masterUuid);
    const receiver = rows.find((row) => row.username === username);
    if (master === undefined || master.masterUuid !== null) {
      throw new ServiceError("master_key_needed", {
        detail: "This key is a child's; only its master hands out minutes.",
      });
    }
    if (receiver === undefined) {
      throw new ServiceError("user_not_found", {
        detail: `Neither this key nor a child of it is named ${username}; GET /user_info lists them.`,
      });
    }
    if (receiver.allocatedMs === null) {
      throw new ServiceError("minutes_unlimited", {
        detail: `${username} may use any number of minutes, so those would be lost; hand them to a key that was made with a limit (\`windhover keys create NAME --minutes N\`).`,
      });
    }
    if (master.pendingMs < ms) {
      const minutes = (amountMs: number) => Math.floor(amountMs / 600) / 100;
      throw new ServiceError("minutes_not_pending", {
        detail: `${minutes(ms)} minutes were asked for, and ${minutes(master.pendingMs)} are left to hand out.`,
      });
    }
    await tx`update users set pending_ms = pending_ms - ${ms} where uuid = ${master.uuid}`;
    await tx`update users set allocated_ms = allocated_ms + ${ms} where uuid = ${receiver.uuid}`;
  });
}

/** As the rest of the server knows a user. `limits`: those of the configuration. */
export function toUser(row: UserRow, limits: UserLimits): User {
  const { uuid, username, product, masterUuid } = row;
  const { hasTrackLogger, hasRecording, hasEnhancement, isGraphAuthor, isOperator } = row;
  const flags = { hasTrackLogger, hasRecording, hasEnhancement, isGraphAuthor, isOperator };
  return {
    uuid,
    username,
    product,
    masterUuid,
    ...flags,
    limits: { ...limits, ...row.limits },
    expiresAt: row.expiresAt,
  };
}
