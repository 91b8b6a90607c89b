/** To which source a resource belongs, for keys that are limited to sources. */
import { firstOf, type Queries } from "./client.ts";

export type ResourceKind = "source" | "process" | "output" | "recording" | "notice" | "clip" | "alert";

/** Null: it belongs to none, or to another user, or does not exist. */
export async function findSourceOf(
  sql: Queries,
  kind: ResourceKind,
  userUuid: string,
  uuid: string,
): Promise<string | null> {
  if (kind === "source") return uuid;
  const found = await firstOf(sql<{ sourceUuid: string | null }[]>`
    select source_uuid from ${FROM[kind](sql, uuid)} and user_uuid = ${userUuid} limit 1`);
  return found?.sourceUuid ?? null;
}

const own = (table: string) => (sql: Queries, uuid: string) => sql`${sql(table)} where uuid = ${uuid}`;

const FROM = {
  process: own("processes"),
  recording: own("recordings"),
  notice: own("notices"),
  clip: own("clips"),
  // That of the process that it is attached to.
  output: (sql: Queries, uuid: string) => sql`
    processes where uuid in (select process_uuid from process_outputs where output_uuid = ${uuid})`,
  // An alert of all processes belongs to no source.
  alert: (sql: Queries, uuid: string) => sql`
    processes where uuid in (select process_uuid from alerts where alerts.uuid = ${uuid})`,
};
