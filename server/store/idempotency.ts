/** Answers to requests with an idempotency key, kept for a day. */
import type { Json } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "./client.ts";

export interface KeyedRequest {
  readonly userUuid: string;
  readonly key: string;
  /** SHA-256 of the request: 32 bytes. */
  readonly digest: Buffer;
}

export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The request is executed here. Writes with an earlier fence are ignored. */
export interface Claim extends KeyedRequest {
  readonly fence: number;
}

/** Keys of a user within a day. */
const MOST_KEYS = 10_000;
const KEPT = "24 hours";
/** Removed with every new key, so that more are removed than added. */
const REMOVED = 20;

/**
 * The answer that is kept, or a claim to execute the request. Rejects with `idempotency_key_reused` for another request,
 * with `request_in_progress` while it is executed, and with `rate_limited`.
 */
export async function claimRequest(sql: Sql, request: KeyedRequest, leaseSeconds: number): Promise<KeptAnswer | Claim> {
  const { userUuid, key, digest } = request;
  const lease = sql`now() + make_interval(secs => ${leaseSeconds})`;
  await sql`
    delete from idempotency_keys where ctid = any(array(
      select ctid from idempotency_keys where created_at < now() - ${KEPT}::text::interval
      order by created_at limit ${REMOVED} for update skip locked))`;
  // One statement: of several requests at once, one gets the claim. An answer that is too old counts as none.
  const [claimed] = await sql<{ fence: number }[]>`
    insert into idempotency_keys as kept (user_uuid, key, digest, lease_until)
    select ${userUuid}::uuid, ${key}::text, ${digest}::bytea, ${lease}
    where (select count(*) from idempotency_keys where user_uuid = ${userUuid}) < ${MOST_KEYS}
      or exists (select from idempotency_keys where user_uuid = ${userUuid} and key = ${key})
    on conflict (user_uuid, key) do update set
      digest = excluded.digest, status = null, headers = null, body = null, lease_until = excluded.lease_until,
      fence = kept.fence + 1, created_at = now()
    where kept.created_at < now() - ${KEPT}::text::interval
      or (kept.status is null and kept.lease_until < now() and kept.digest = excluded.digest)
    returning fence`;
  if (claimed !== undefined) return { ...request, fence: claimed.fence };
  const [known] = await sql<{ digest: Buffer; status: number | null; headers: KeptAnswer["headers"]; body: unknown }[]>`
    select digest, status, headers, body from idempotency_keys where user_uuid = ${userUuid} and key = ${key}`;
  if (known === undefined)
    throw new ServiceError("rate_limited", {
      detail: `${MOST_KEYS} idempotency keys of this key were used within 24 hours, which is the limit`,
      retryAfterSeconds: 60,
    });
  if (!known.digest.equals(digest))
    throw new ServiceError("idempotency_key_reused", {
      detail: "this Idempotency-Key was sent with another path, query or body; use a new one for each new request",
    });
  if (known.status === null)
    throw new ServiceError("request_in_progress", {
      detail: "a request with this Idempotency-Key is being executed; retry to get its answer",
      retryAfterSeconds: 1,
    });
  return { status: known.status, headers: known.headers, body: known.body };
}

const own = (sql: Sql, { userUuid, key, fence }: Claim) =>
  sql`user_uuid = ${userUuid} and key = ${key} and fence = ${fence} and status is null`;

export async function renewClaim(sql: Sql, claim: Claim, leaseSeconds: number): Promise<void> {
  await sql`
    update idempotency_keys set lease_until = now() + make_interval(secs => ${leaseSeconds}) where ${own(sql, claim)}`;
}

export async function keepAnswer(sql: Sql, claim: Claim, { status, headers, body }: KeptAnswer): Promise<void> {
  await sql`
    update idempotency_keys set
      status = ${status}, headers = ${sql.json({ ...headers })}, body = ${sql.typed.sealed(body as Json)}
    where ${own(sql, claim)}`;
}

/** The request failed: it can be sent again. */
export async function releaseRequest(sql: Sql, claim: Claim): Promise<void> {
  await sql`delete from idempotency_keys where ${own(sql, claim)}`;
}
