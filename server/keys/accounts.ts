/** Limits and flags of accounts, changed by their master or an operator. */
import type { AccountChange, AccountRecord } from "../../schemas/api/keys.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { changeUser, listAccount, type UserChange, type UserRow } from "../store/users.ts";
import type { User, UserLimits } from "../user.ts";
import { readExpiry } from "./api-keys.ts";

/** Names of limits in the API, in the configuration and on the command line. */
export const LIMITS: Readonly<Record<keyof AccountRecord["limits"], keyof UserLimits>> = {
  processes: "processes",
  sources: "sources",
  outputs_registered: "outputsRegistered",
  outputs_active: "outputsActive",
  alerts: "alerts",
  subscriptions: "subscriptions",
  video_bytes: "videoBytes",
  storage_bytes: "storageBytes",
  requests_per_minute: "requestsPerMinute",
  socket_clients: "socketClients",
};

const FLAGS = {
  track_logger: "hasTrackLogger",
  recording: "hasRecording",
  enhancement: "hasEnhancement",
  graph_author: "isGraphAuthor",
} as const satisfies Partial<Record<keyof AccountRecord, keyof User>>;

type FlagName = keyof typeof FLAGS;
type LimitName = keyof typeof LIMITS;
const namesOf = <N extends string>(table: Readonly<Record<N, unknown>>): readonly N[] => Object.keys(table) as N[];

export class Accounts {
  readonly #sql: Sql;
  /** Of an account that has none of its own. */
  readonly #limits: UserLimits;

  constructor(sql: Sql, limits: UserLimits) {
    this.#sql = sql;
    this.#limits = limits;
  }

  /** The account of a user, and its children. */
  async list(user: User): Promise<readonly AccountRecord[]> {
    return (await listAccount(this.#sql, user.uuid)).map((row) => this.#describe(row, user));
  }

  /** Rejects with `user_not_found`, `operator_key_needed` and `invalid_input`; then nothing is changed. */
  async change(user: User, username: string, change: AccountChange): Promise<AccountRecord> {
    const row = (await listAccount(this.#sql, user.uuid)).find((account) => account.username === username);
    if (row === undefined)
      throw new ServiceError("user_not_found", {
        detail: `Neither this account nor one of its children is named ${username}; GET /accounts lists them.`,
      });
    if (!user.isOperator && row.uuid === user.uuid)
      throw new ServiceError("operator_key_needed", {
        detail: "Limits of an account are changed by its master or an operator: ask the operator of this service.",
      });
    const applied = this.#read(user, row, change);
    return this.#describe(await changeUser(this.#sql, row.uuid, applied), user);
  }

  #read(user: User, row: UserRow, change: AccountChange): UserChange {
    const limits: Partial<Record<keyof UserLimits, number>> = { ...row.limits };
    const faults: { path: string; message: string }[] = [];
    for (const name of namesOf<LimitName>(LIMITS)) {
      const value = change.limits?.[name];
      if (value === undefined) continue;
      const own = user.limits[LIMITS[name]];
      const effective = value ?? this.#limits[LIMITS[name]];
      if (!user.isOperator && effective > own)
        faults.push({ path: `/limits/${name}`, message: `is ${effective}; the limit of this key is ${own}` });
      if (value === null) delete limits[LIMITS[name]];
      else limits[LIMITS[name]] = value;
    }
    const flags: Partial<Record<(typeof FLAGS)[FlagName], boolean>> = {};
    for (const name of namesOf<FlagName>(FLAGS)) {
      const value = change[name];
      if (value === undefined) continue;
      if (value && !user.isOperator && !user[FLAGS[name]])
        faults.push({ path: `/${name}`, message: "cannot be given: this key does not have it" });
      flags[FLAGS[name]] = value;
    }
    const expiresAt = readExpiry(change.expires_at);
    if (!user.isOperator && user.expiresAt !== null && isLater(expiresAt, user.expiresAt))
      faults.push({
        path: "/expires_at",
        message: `is later than ${user.expiresAt.toISOString()}, when this key expires`,
      });
    if (faults.length > 0) throw invalidInput(faults);
    return { limits, ...flags, ...(expiresAt !== undefined && { expiresAt }) };
  }

  #describe(row: UserRow, { uuid, username }: User): AccountRecord {
    const { hasTrackLogger, hasRecording, hasEnhancement, isGraphAuthor, isOperator } = row;
    const limits = { ...this.#limits, ...row.limits };
    return {
      ...{ uuid: row.uuid, username: row.username, product: row.product },
      master: row.masterUuid === uuid ? username : null,
      limits: Object.fromEntries(
        namesOf<LimitName>(LIMITS).map((name) => [name, limits[LIMITS[name]]]),
      ) as AccountRecord["limits"],
      ...{ track_logger: hasTrackLogger, recording: hasRecording, enhancement: hasEnhancement },
      ...{ graph_author: isGraphAuthor, operator: isOperator },
      expires_at: row.expiresAt?.toISOString() ?? null,
      created_at: row.createdAt.toISOString(),
    };
  }
}

/** Null is never. */
const isLater = (time: Date | null | undefined, limit: Date): boolean =>
  time !== undefined && (time === null || time > limit);
