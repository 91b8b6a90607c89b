/** The machines that share this database. Time is the database's own: clocks of machines differ. */
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { newUuid } from "../uuid.ts";
import type { Fragment, Queries, Sql } from "./client.ts";

export interface Node {
  readonly uuid: string;
  /** Gone for the others at once. */
  leave(): Promise<void>;
}

/** Makes this machine known and keeps it so. A database that is away is tried again with the next renewal. */
export async function joinNodes(sql: Sql, limits: Config["node"], log: Logger): Promise<Node> {
  const uuid = newUuid();
  await renewNode(sql, uuid);
  let renewal: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;
  const renew = async () => {
    try {
      await renewNode(sql, uuid);
      await expireNodes(sql, limits.lease_seconds);
    } catch (error) {
      log.warn({ err: error }, "this node could not be renewed in the database");
    }
    schedule();
  };
  const schedule = () => {
    if (isLeaving) return;
    timer = setTimeout(() => {
      renewal = renew();
    }, limits.renew_seconds * 1000);
    timer.unref();
  };
  let isLeaving = false;
  schedule();
  return {
    uuid,
    leave: async () => {
      isLeaving = true;
      if (timer !== null) clearTimeout(timer);
      await renewal;
      await removeNodes(sql, sql`uuid = ${uuid}`);
    },
  };
}

/** Also of one that was taken for dead: it is back. */
export async function renewNode(sql: Queries, uuid: string): Promise<void> {
  await sql`insert into nodes ${sql({ uuid })} on conflict (uuid) do update set seen_at = now()`;
}

/** Removes those that have been silent for the lease, and what only they could have finished. Returns their uuids. */
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

export async function listNodes(sql: Queries): Promise<readonly { uuid: string; startedAt: Date; seenAt: Date }[]> {
  return sql<{ uuid: string; startedAt: Date; seenAt: Date }[]>`select * from nodes order by started_at, uuid`;
}
