/** Which machine runs a process. */

import { hasRoomFor, lockRoom, type Reserved, takeFrom } from "./capacity.ts";
import type { Queries, Sql } from "./client.ts";
import { firstOf } from "./client.ts";
import { isUnowned } from "./nodes.ts";
import type { Claim, ProcessRow } from "./processes.ts";

export interface ProcessOwner {
  readonly nodeUuid: string;
  readonly fence: number;
}

/** The nodes that own these processes, which have not ended; others are left out. */
export async function findOwners(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, ProcessOwner>> {
  const rows = await sql<(ProcessOwner & { uuid: string })[]>`
    select uuid, node_uuid, fence from processes
    where uuid in ${sql([...uuids])} and node_uuid is not null and state not in ('finished', 'failed')`;
  return new Map(rows.map(({ uuid, nodeUuid, fence }) => [uuid, { nodeUuid, fence }]));
}

interface Claimer {
  readonly nodeUuid: string;
  /** There are no other machines. */
  readonly isAlone: boolean;
  /** Also processes of machines whose lease has ended. */
  readonly canTakeOver: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Those that it runs, or is about to. Read again once rows are locked: one may have been started meanwhile. */
  listHeld(): readonly string[];
  /** Others had time to claim their part: it takes one more than its own. */
  readonly isPatient: boolean;
  /** Only this one, which another machine hands over. */
  readonly only?: string;
}

/** Per call. */
const MAX_CLAIMED = 64;

/**
 * Claims processes without an owner, oldest first: as many as this machine has room for, up to the average number of
 * processes a machine, so that those of a lost one are spread over the others. What no machine has room for waits.
 */
export async function claimFree(sql: Sql, claimer: Claimer): Promise<readonly ProcessRow[]> {
  const { nodeUuid, isAlone, canTakeOver, labels, isPatient, only = null } = claimer;
  const held = claimer.listHeld();
  // What every live machine has declined is claimed once more, and fails: those that could run it may have ended.
  const isFree = sql`
    state not in ('finished', 'failed') and ${sql.json(labels)} @> labels
    and (not declined_by ? ${nodeUuid} or not exists (select from nodes where ${canRun(sql)}))
    and case
      -- Given up by this machine. Without \`started_at\`: being started here.
      when processes.node_uuid = ${nodeUuid} then started_at is not null
        and uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json([...held])}))
      when ${isAlone} or processes.node_uuid is null then true
      else ${canTakeOver} and ${isUnowned(sql)} end
    ${only === null ? sql`` : sql`and uuid = ${only}`}`;
  return sql.begin(async (sql): Promise<readonly ProcessRow[]> => {
    let room = await lockRoom(sql, nodeUuid);
    const [{ active = 0, nodes = 1 } = {}] = await sql<{ active: number; nodes: number }[]>`
      select (select count(*) from processes where state not in ('finished', 'failed')) as active,
        (select count(*) from nodes where lease_until > now() and drains_until is null) as nodes`;
    const part = Math.max(isPatient ? 1 : 0, Math.ceil(active / Math.max(1, nodes)) - held.length);
    const share = isAlone || only !== null ? MAX_CLAIMED : Math.min(MAX_CLAIMED, part);
    const found = await sql<(Reserved & { uuid: string; nodeUuid: string | null })[]>`
      select uuid, node_uuid, cores, memory_bytes from processes where ${isFree}
      order by created_at limit ${share} for update skip locked`;
    const heldNow = new Set(claimer.listHeld());
    const chosen: string[] = [];
    const waiting: string[] = [];
    for (const process of found.filter((one) => one.nodeUuid !== nodeUuid || !heldNow.has(one.uuid)))
      if (hasRoomFor(room, process)) {
        room = takeFrom(room, process);
        chosen.push(process.uuid);
      } else waiting.push(process.uuid);
    if (waiting.length > 0)
      await sql`update processes set waiting_since = coalesce(waiting_since, now()) where uuid in ${sql(waiting)}`;
    if (chosen.length === 0) return [];
    return sql<ProcessRow[]>`
      update processes set node_uuid = ${nodeUuid}, fence = fence + 1, waiting_since = null
      where uuid in ${sql(chosen)} returning *`;
  });
}

/**
 * This machine cannot run it: it lacks its file or its graph. Another one claims it. False: every live machine has
 * declined it, or it is not this machine's any longer.
 */
export async function declineProcess(sql: Queries, { uuid, fence }: Claim, nodeUuid: string): Promise<boolean> {
  const { count } = await sql`
    update processes set node_uuid = null, declined_by = declined_by || to_jsonb(${nodeUuid}::text)
    where uuid = ${uuid} and fence = ${fence}
      and exists (select from nodes where nodes.uuid <> ${nodeUuid} and ${canRun(sql)})`;
  return count > 0;
}

/** A live machine that has not declined the process. */
const canRun = (sql: Queries) => sql`lease_until > now() and not processes.declined_by ? nodes.uuid::text`;

/** Processes that no machine has room for, or whose labels no live machine has. */
export async function countWaiting(sql: Queries): Promise<number> {
  const row = await firstOf(sql<{ waiting: number }[]>`
    select count(*) as waiting from processes
    where state not in ('finished', 'failed') and (waiting_since is not null or ${isUnowned(sql)} and not exists (
      select from nodes where lease_until > now() and nodes.labels @> processes.labels))`);
  return row?.waiting ?? 0;
}

interface UnheldProcesses {
  readonly userUuid: string;
  /** Only this one; null: all of the user. */
  readonly uuid: string | null;
  /** Its own claims count as not running. */
  readonly nodeUuid: string;
  /** These are running there. */
  readonly held: readonly string[];
}

export interface UnheldClaim extends Claim {
  /** It was not running and has ended. Otherwise its owner stops it. */
  readonly isEnded: boolean;
}

/** Ends processes that no machine runs, and sets the desired state of the others to `stopped`. */
export async function stopUnheld(sql: Queries, unheld: UnheldProcesses): Promise<readonly UnheldClaim[]> {
  const { userUuid, uuid, nodeUuid, held } = unheld;
  const isFree = sql`(processes.node_uuid = ${nodeUuid} or ${isUnowned(sql)})`;
  return sql<UnheldClaim[]>`
    with stopped as (
      update processes set
        desired = 'stopped',
        state = case when ${isFree} then 'finished' else state end,
        finished_at = case when ${isFree} then now() end,
        fence = case when ${isFree} then fence + 1 else fence end
      where user_uuid = ${userUuid} and state not in ('finished', 'failed')
        ${uuid === null ? sql`` : sql`and uuid = ${uuid}`}
        -- Not a start in progress, nor one whose client has gone.
        and (started_at is not null or not ${isFree})
        and uuid not in (select value::uuid from jsonb_array_elements_text(${sql.json([...held])}))
      returning uuid, fence, state = 'finished' as is_ended),
    freed as (delete from process_outputs using stopped where process_uuid = stopped.uuid and stopped.is_ended)
    select uuid, fence, is_ended from stopped order by uuid`;
}

/** Lets the next server, or another machine, take it over at once. */
export async function releaseClaim(sql: Queries, { uuid, fence }: Claim): Promise<void> {
  await sql`update processes set node_uuid = null where uuid = ${uuid} and fence = ${fence}`;
}
