/** The machines that share this database, and the signing key of the installation. Times are of the database: clocks of machines differ. */
import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { Poller } from "../async/poller.ts";
import { newUuid } from "../uuid.ts";
import { type Fragment, type Queries, type Sql, writtenRow } from "./client.ts";

export interface Node {
  readonly uuid: string;
  /** Removes it for the others at once. */
  leave(): Promise<void>;
}

/** Of what a machine holds in the database: its own row, processes and enhancements. */
export const NODE_LEASE = {
  /** Without a renewal, other machines take over afterwards. */
  leaseSeconds: 15,
  /** Interval of renewals: less than half of the lease, so that one may fail. */
  renewMs: 4_000,
};
export type NodeLease = Readonly<typeof NODE_LEASE>;

/** Registers this machine and renews its row. */
export async function joinNodes(sql: Sql, log: Logger, limits: NodeLease = NODE_LEASE): Promise<Node> {
  const uuid = newUuid();
  await renewNode(sql, uuid);
  const renewing = new Poller(async () => {
    try {
      await renewNode(sql, uuid);
      await expireNodes(sql, limits.leaseSeconds);
    } catch (error) {
      log.warn({ err: error }, "node could not be renewed in the database; retrying");
    }
    return limits.renewMs;
  });
  renewing.start(limits.renewMs);
  return {
    uuid,
    leave: async () => {
      await renewing.close();
      await removeNodes(sql, sql`uuid = ${uuid}`);
    },
  };
}

/** Registers a node again that had expired. */
export async function renewNode(sql: Queries, uuid: string): Promise<void> {
  await sql`insert into nodes ${sql({ uuid })} on conflict (uuid) do update set seen_at = now()`;
}

/** Removes nodes that were not renewed within the lease, with their upload reservations. Returns their uuids. */
export async function expireNodes(sql: Queries, leaseSeconds: number): Promise<readonly string[]> {
  return removeNodes(sql, sql`seen_at < now() - make_interval(secs => ${leaseSeconds})`);
}

async function removeNodes(sql: Queries, which: Fragment): Promise<readonly string[]> {
  const gone = await sql<{ uuid: string }[]>`
    with gone as (delete from nodes where ${which} returning uuid),
      freed as (delete from upload_reservations where node_uuid in (select uuid from gone))
    select uuid from gone`;
  return gone.map(({ uuid }) => uuid);
}

const SECRET_BYTES = 32;

/** Of this installation: created by the first call. */
export async function readSigningKey(sql: Sql): Promise<Uint8Array> {
  const fresh = sql.typed.sealed(randomBytes(SECRET_BYTES).toString("base64"));
  await sql`insert into signing_keys (secret) values (${fresh}) on conflict do nothing`;
  const { secret } = await writtenRow(sql<{ secret: string }[]>`select secret from signing_keys`);
  return Buffer.from(secret, "base64");
}
