/** Which slots clients have attached to which process. They count as active outputs of the user. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { User } from "../user.ts";
import { expectActiveOutput } from "./attachments.ts";
import type { Queries, Sql } from "./client.ts";
import { lockUser } from "./lock-user.ts";

export interface BranchRow {
  readonly uuid: string;
  readonly slot: string;
  readonly params: JsonRecord;
  readonly attachedAt: Date;
}

export type NewBranch = Pick<BranchRow, "uuid" | "slot" | "params">;

/** Rejects with `outputs_limit_reached`. */
export function insertBranch(sql: Sql, user: User, processUuid: string, branch: NewBranch): Promise<BranchRow> {
  const { uuid, slot, params } = branch;
  return sql.begin(async (sql) => {
    await lockUser(sql, user.uuid);
    await expectActiveOutput(sql, user);
    const [inserted] = await sql<BranchRow[]>`
      insert into process_branches (uuid, process_uuid, slot, params)
      values (${uuid}, ${processUuid}, ${slot}, ${sql.json(params)})
      returning uuid, slot, params, attached_at`;
    if (inserted === undefined) throw new Error("the new branch was not returned");
    return inserted;
  });
}

export async function deleteBranch(sql: Queries, processUuid: string, uuid: string): Promise<void> {
  await sql`delete from process_branches where process_uuid = ${processUuid} and uuid = ${uuid}`;
}

/** In the order in which they were attached. */
export async function listBranches(sql: Queries, processUuid: string): Promise<readonly BranchRow[]> {
  return sql<BranchRow[]>`
    select uuid, slot, params, attached_at from process_branches
    where process_uuid = ${processUuid} order by attached_at, uuid`;
}
