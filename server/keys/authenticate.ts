/** From a key to its user. */
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { digestKey, isSameDigest } from "./key.ts";

export interface KeyRecord {
  readonly user: User;
  readonly keySha256: Uint8Array;
  readonly revokedAt: Date | null;
}

/** Rejects with `ServiceError`. Wrong keys count against the address. */
export type Authenticate = (key: string | null, address: string) => Promise<User>;

export type FindKey = (keyId: string) => Promise<KeyRecord | null>;

/** Of those who guess. */
export interface GuessGate {
  /** Throws `rate_limited` while the address has to wait, for what it has under way too. Else `end` follows. */
  begin(address: string): void;
  end(address: string, wasWrong: boolean): void;
}

/**
 * A key that was right is taken as right for so long without asking the database: a client that asks often would
 * otherwise cost a query each time. A revocation is honoured as late as this, no later.
 */
const FRESH_MS = 1000;
/** For so long a key that was right is not held back when others guess from the same address. */
const KNOWN_MS = 600_000;
const MOST_KNOWN = 10_000;

interface Known {
  user: User;
  checkedMs: number;
}

export class Authenticator {
  readonly #find: FindKey;
  readonly #gate: GuessGate;
  readonly #now: () => number;
  /** By the key's digest: keys themselves are not kept. In the order of their last check. */
  readonly #known = new Map<string, Known>();
  readonly #underWay = new Map<string, Promise<User | null>>();

  constructor(find: FindKey, gate: GuessGate, now: () => number = () => performance.now()) {
    this.#find = find;
    this.#gate = gate;
    this.#now = now;
  }

  /** Rejects with `api_key_missing`, `api_key_invalid`, `api_key_expired` or `rate_limited`. */
  readonly authenticate = async (key: string | null, address: string): Promise<User> => {
    if (key === null || key === "")
      throw new ServiceError("api_key_missing", { detail: "Send your API key in the header `api_key`." });
    const digest = digestKey(key);
    const name = digest?.sha256.toString("base64") ?? "";
    const ageMs = this.#now() - (this.#known.get(name)?.checkedMs ?? Number.NEGATIVE_INFINITY);
    if (ageMs < FRESH_MS) return expectCurrent((this.#known.get(name) as Known).user);
    const isGuess = ageMs >= KNOWN_MS;
    if (isGuess) this.#gate.begin(address);
    let wasWrong = false;
    try {
      const user = digest === null ? null : await this.#checkOnce(name, digest.id, digest.sha256);
      if (user !== null) return expectCurrent(user);
      wasWrong = true;
      throw new ServiceError("api_key_invalid", { detail: "This API key does not exist, or has been revoked." });
    } finally {
      if (isGuess) this.#gate.end(address, wasWrong);
    }
  };

  /** It was right not long ago, from whatever address. */
  isKnown(key: string): boolean {
    const name = digestKey(key)?.sha256.toString("base64") ?? "";
    return this.#now() - (this.#known.get(name)?.checkedMs ?? Number.NEGATIVE_INFINITY) < KNOWN_MS;
  }

  /** Those who ask with the same key at the same time share one query. */
  #checkOnce(name: string, id: string, sha256: Buffer): Promise<User | null> {
    const underWay = this.#underWay.get(name);
    if (underWay !== undefined) return underWay;
    const check = this.#check(name, id, sha256).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, check);
    return check;
  }

  async #check(name: string, id: string, sha256: Buffer): Promise<User | null> {
    const askedMs = this.#now();
    const record = await this.#find(id);
    this.#known.delete(name);
    if (record === null || record.revokedAt !== null || !isSameDigest(record.keySha256, sha256)) return null;
    this.#known.set(name, { user: record.user, checkedMs: askedMs });
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.keys().next().value ?? "");
    return record.user;
  }
}

function expectCurrent(user: User): User {
  if (user.expiresAt === null || user.expiresAt.getTime() > Date.now()) return user;
  throw new ServiceError("api_key_expired", { detail: `This API key expired at ${user.expiresAt.toISOString()}.` });
}
