/** How many mails each user has sent (table `mail_counts`), counted by recipients and for all nodes together. */
import type { Queries } from "./client.ts";

const isOver = (sql: Queries) => sql`mail_counts.since <= now() - interval '1 hour'`;

/** Milliseconds until the user may send again; 0: now. */
export async function readMailWaitMs(sql: Queries, userUuid: string, perHour: number): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select (extract(epoch from since + interval '1 hour' - now()) * 1000)::double precision as ms
    from mail_counts where user_uuid = ${userUuid} and amount >= ${perHour} and not (${isOver(sql)})`;
  return Math.max(0, row?.ms ?? 0);
}

export async function countMails(sql: Queries, userUuid: string, amount: number): Promise<void> {
  await sql`
    insert into mail_counts (user_uuid, since, amount) values (${userUuid}, now(), ${amount})
    on conflict (user_uuid) do update set
      amount = excluded.amount + case when ${isOver(sql)} then 0 else mail_counts.amount end,
      since = case when ${isOver(sql)} then now() else mail_counts.since end`;
}
