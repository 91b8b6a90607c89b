/** Which output is attached to which process: one active process an output. */
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import type { Queries, Sql } from "./client.ts";
import { lockUser } from "./lock-user.ts";
import type { OutputRow } from "./outputs.ts";

export interface AttachedOutput {
  readonly outputUuid: string;
  readonly type: OutputRow["type"];
  readonly url: string | null;
  readonly settings: string | null;
  /** Of its owner: rtsp outputs are served below that name. */
  readonly username: string;
}

/** Attaching it again changes nothing. */
export async function attachOutput(
  sql: Sql,
  user: User,
  processUuid: string,
  outputUuid: string,
): Promise<AttachedOutput> {
  return sql.begin(async (sql) => {
    await lockUser(sql, user.uuid);
    const output = await findOutput(sql, user.uuid, outputUuid);
    const [holder] = await sql<{ processUuid: string }[]>`
      select process_uuid from process_outputs where output_uuid = ${outputUuid}`;
    if (holder?.processUuid === processUuid) return output;
    if (holder !== undefined)
      throw new ServiceError("output_in_use", {
        detail: `the output is attached to process ${holder.processUuid}; detach it there (DELETE /process/${holder.processUuid}/${outputUuid}) or register another`,
      });
    await expectActiveOutput(sql, user);
    await expectAlone(sql, user.uuid, output);
    await sql`insert into process_outputs (output_uuid, process_uuid) values (${outputUuid}, ${processUuid})`;
    return output;
  });
}

/** Null when it is not attached to that process. */
export async function findAttached(
  sql: Queries,
  processUuid: string,
  outputUuid: string,
): Promise<AttachedOutput | null> {
  const [found] = await sql<AttachedOutput[]>`
    select output_uuid, type, url, settings, username
    from process_outputs join outputs on outputs.uuid = output_uuid join users on users.uuid = outputs.user_uuid
    where process_uuid = ${processUuid} and output_uuid = ${outputUuid}`;
  return found ?? null;
}

export async function detachOutput(sql: Queries, processUuid: string, outputUuid: string): Promise<void> {
  await sql`delete from process_outputs where process_uuid = ${processUuid} and output_uuid = ${outputUuid}`;
}

export async function listAttached(sql: Queries, processUuid: string): Promise<readonly AttachedOutput[]> {
  return sql<AttachedOutput[]>`
    select output_uuid, type, url, settings, username
    from process_outputs join outputs on outputs.uuid = output_uuid join users on users.uuid = outputs.user_uuid
    where process_uuid = ${processUuid} order by attached_at, output_uuid`;
}

async function findOutput(sql: Queries, userUuid: string, outputUuid: string): Promise<AttachedOutput> {
  const [found] = await sql<AttachedOutput[]>`
    select outputs.uuid as output_uuid, type, url, settings, username
    from outputs join users on users.uuid = outputs.user_uuid
    where outputs.uuid = ${outputUuid} and user_uuid = ${userUuid} for key share of outputs`;
  if (found === undefined)
    throw new ServiceError("output_not_found", {
      detail: `there is no output ${outputUuid}; GET /outputs lists those there are`,
    });
  return found;
}

/** Two would fight for one address, and one of them would encode for nobody. */
async function expectAlone(sql: Queries, userUuid: string, { outputUuid, url }: AttachedOutput): Promise<void> {
  if (url === null) return;
  const [other] = await sql<{ outputUuid: string; processUuid: string }[]>`
    select output_uuid, process_uuid
    from process_outputs join outputs on outputs.uuid = output_uuid
    where user_uuid = ${userUuid} and url = ${sql.typed.sealed(url)} and output_uuid <> ${outputUuid} limit 1`;
  if (other === undefined) return;
  const { outputUuid: uuid, processUuid } = other;
  throw new ServiceError("path_in_use", {
    detail: `the output ${uuid} goes there already, attached to process ${processUuid}; detach it there (DELETE /process/${processUuid}/${uuid}) or register this one with another address`,
  });
}

/** Rejects when as many outputs and branches are attached as the user may have. The user is locked. */
export async function expectActiveOutput(sql: Queries, user: User): Promise<void> {
  const active = await countAttached(sql, user.uuid);
  const limit = user.limits.outputsActive;
  if (active >= limit)
    throw new ServiceError("outputs_limit_reached", {
      detail: `${active} outputs and branches of this key are attached and it may have ${limit}; detach one and try again`,
    });
}

async function countAttached(sql: Queries, userUuid: string): Promise<number> {
  const [row] = await sql<{ active: number }[]>`
    select
      (select count(*) from process_outputs join outputs on outputs.uuid = output_uuid where user_uuid = ${userUuid})
      + (select count(*) from process_branches join processes on processes.uuid = process_uuid
         where user_uuid = ${userUuid} and state not in ('finished', 'failed')) as active`;
  return row?.active ?? 0;
}
