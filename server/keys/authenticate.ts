/** From an API key to its user. Wrong keys are counted by address. */
import { originOf } from "../../schemas/client-origin.ts";
import type { Config } from "../../schemas/config.ts";
import { TokenBuckets } from "../async/token-buckets.ts";
import { ServiceError } from "../service-error.ts";
import { findKeyById, markUsed } from "../store/api-keys.ts";
import type { Sql } from "../store/client.ts";
import { toUser } from "../store/users.ts";
import type { User, UserLimits } from "../user.ts";
import { digestKey, isSameDigest } from "./keys.ts";

export interface KeyRecord {
  readonly user: User;
  readonly keySha256: Uint8Array;
  /** Of the key or its user. */
  readonly revokedAt: Date | null;
  /** Called when the digest is right. */
  onUsed?(): void;
}

/** Rejects with `ServiceError`. Wrong keys count against the address. */
export type Authenticate = (key: string | null, address: string) => Promise<User>;

type FindKey = (keyId: string) => Promise<KeyRecord | null>;

export function findKeyIn(sql: Sql, config: Config): FindKey {
  const limits = readLimits(config);
  return async (keyId) => {
    const row = await findKeyById(sql, keyId);
    if (row === null) return null;
    const { keyUuid: uuid, keyName: name, scopes, sourceUuids, keyExpiresAt: expiresAt, person } = row;
    return {
      user: toUser(row, limits, { uuid, name, scopes, sourceUuids, expiresAt, person }),
      keySha256: row.keyDigest,
      revokedAt: row.keyRevokedAt ?? row.revokedAt,
      // Only shown: a failure has no effect.
      onUsed: () => void (row.isStale && markUsed(sql, uuid).catch(() => {})),
    };
  };
}

/** Limits of a key that has none of its own. */
export function readLimits({ limits }: Config): UserLimits {
  return {
    processes: limits.processes,
    sources: limits.sources,
    outputsRegistered: limits.outputs_registered,
    outputsActive: limits.outputs_active,
    alerts: limits.alerts,
    subscriptions: limits.subscriptions,
    videoBytes: limits.video_bytes,
    storageBytes: limits.storage_bytes,
    requestsPerMinute: limits.requests_per_minute,
    socketClients: limits.socket_clients,
  };
}

/** Limits how many keys an address can guess. */
export interface GuessGate {
  /** Throws `rate_limited` while the address has to wait. Otherwise `end` follows. */
  begin(address: string): void;
  end(address: string, wasWrong: boolean): void;
}

/** A valid key is not looked up again for this long. A change by another server takes effect after this time. */
const FRESH_MS = 1000;
/** A key that was valid within this time does not wait when others guess from the same address. */
const KNOWN_MS = 600_000;
const MAX_KNOWN = 10_000;

export class Authenticator {
  readonly #find: FindKey;
  readonly #gate: GuessGate;
  readonly #now: () => number;
  /** By the key's digest, in the order of the last check. Keys themselves are not kept. */
  readonly #known = new Map<string, { readonly user: User; readonly checkedMs: number }>();
  readonly #checks = new Map<string, Promise<User | null>>();
  /** What was checked before is not fresh. */
  #renewedMs = Number.NEGATIVE_INFINITY;

  constructor(find: FindKey, gate: GuessGate, now: () => number = () => performance.now()) {
    this.#find = find;
    this.#gate = gate;
    this.#now = now;
  }

  /** Rejects with `api_key_missing`, `api_key_invalid`, `api_key_expired` or `rate_limited`. */
  readonly authenticate: Authenticate = async (key, address) => {
    if (key === null || key === "")
      throw new ServiceError("api_key_missing", {
        detail: "Send your API key in the header `api_key`, or as `Authorization: Bearer`.",
      });
    const digest = digestKey(key);
    const name = digest?.sha256.toString("base64") ?? "";
    const known = this.#known.get(name);
    const ageMs = this.#ageOf(name);
    if (known !== undefined && ageMs < FRESH_MS && known.checkedMs > this.#renewedMs) return expectCurrent(known.user);
    const isGuess = ageMs >= KNOWN_MS;
    if (isGuess) this.#gate.begin(address);
    let wasWrong = false;
    try {
      const user = digest === null ? null : await this.#checkOnce(name, digest.id, digest.sha256);
      if (user !== null) return expectCurrent(user);
      wasWrong = true;
      throw new ServiceError("api_key_invalid", { detail: "This API key does not exist or has been revoked." });
    } finally {
      if (isGuess) this.#gate.end(address, wasWrong);
    }
  };

  /** Keys or accounts have changed: each key is looked up again. */
  readonly renew = (): void => {
    this.#renewedMs = this.#now();
    this.#checks.clear();
  };

  /** Valid not long ago, from any address. */
  isKnown(key: string): boolean {
    return this.#ageOf(digestKey(key)?.sha256.toString("base64") ?? "") < KNOWN_MS;
  }

  #ageOf(name: string): number {
    return this.#now() - (this.#known.get(name)?.checkedMs ?? Number.NEGATIVE_INFINITY);
  }

  /** Simultaneous requests with one key share a query. */
  #checkOnce(name: string, id: string, sha256: Buffer): Promise<User | null> {
    const running = this.#checks.get(name);
    if (running !== undefined) return running;
    const check = this.#check(name, id, sha256).finally(() => {
      if (this.#checks.get(name) === check) this.#checks.delete(name);
    });
    this.#checks.set(name, check);
    return check;
  }

  async #check(name: string, id: string, sha256: Buffer): Promise<User | null> {
    const checkedMs = this.#now();
    const record = await this.#find(id);
    this.#known.delete(name);
    if (record === null || record.revokedAt !== null || !isSameDigest(record.keySha256, sha256)) return null;
    record.onUsed?.();
    this.#known.set(name, { user: record.user, checkedMs });
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value ?? "");
    return record.user;
  }
}

function expectCurrent(user: User): User {
  for (const expiresAt of [user.expiresAt, user.key.expiresAt])
    if (expiresAt !== null && expiresAt.getTime() <= Date.now())
      throw new ServiceError("api_key_expired", { detail: `This API key expired at ${expiresAt.toISOString()}.` });
  return user;
}

/** Wrong keys by address. An address above the limit waits with every key: responses would confirm a guess. */
export class LoginGate implements GuessGate {
  readonly #perMinute: number;
  readonly #buckets: TokenBuckets;
  /** Keys being looked up, by network: each may be wrong. */
  readonly #running = new Map<string, number>();

  constructor(perMinute: number, buckets = new TokenBuckets()) {
    this.#perMinute = perMinute;
    this.#buckets = buckets;
  }

  begin(address: string): void {
    const network = originOf(address);
    const running = this.#running.get(network) ?? 0;
    const wait = this.#buckets.peek(network, this.#perMinute, running);
    if (wait === 0) {
      this.#running.set(network, running + 1);
      return;
    }
    throw new ServiceError("rate_limited", {
      detail: `Too many wrong keys from this address; the limit is ${this.#perMinute} per minute.`,
      retryAfterSeconds: wait,
    });
  }

  end(address: string, wasWrong: boolean): void {
    const network = originOf(address);
    const running = (this.#running.get(network) ?? 1) - 1;
    if (running === 0) this.#running.delete(network);
    else this.#running.set(network, running);
    if (wasWrong) this.#buckets.take(network, this.#perMinute);
  }
}

/** A client with an open stream. */
export interface KeyHolder {
  readonly apiKey: string | null;
  readonly address: string;
}

/**
 * Calls `onInvalid` when a key is revoked or expires: streams stay open for days. A database failure has no effect. Returns
 * how to stop.
 */
export function watchKey(
  authenticate: Authenticate,
  { apiKey, address }: KeyHolder,
  everySeconds: number,
  onInvalid: () => void,
): () => void {
  const timer = setInterval(() => {
    authenticate(apiKey, address).catch((error: unknown) => {
      const code = error instanceof ServiceError ? error.code : null;
      if (code !== "api_key_invalid" && code !== "api_key_expired") return;
      clearInterval(timer);
      onInvalid();
    });
  }, everySeconds * 1000);
  return () => clearInterval(timer);
}
