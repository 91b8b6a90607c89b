/** What the owners of processes report about them all the time. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { Queries } from "./client.ts";
import { isUnowned } from "./nodes.ts";
import type { Claim, ProcessRow } from "./processes.ts";

/** What changes all the time while it runs. */
export interface ProcessProgress
  extends Claim,
    Pick<ProcessRow, "positionNs" | "nextTrackId" | "framesLost" | "restarts"> {
  /** What it uses; null: not measured yet. */
  readonly usedCores: number | null;
  readonly usedBytes: number | null;
  /** For listings of other machines; null where there are none. */
  readonly view: JsonRecord | null;
}

/** Of all processes of a machine in one statement. Resolves with those that the machine still owns. */
export async function saveProgress(sql: Queries, entries: readonly ProcessProgress[]): Promise<ReadonlySet<string>> {
  if (entries.length === 0) return new Set();
  const rows = await sql<{ uuid: string }[]>`
    with entries as (
      select * from jsonb_to_recordset(${sql.json(entries.map((entry) => ({ ...entry })))}) as entries (
        uuid uuid, fence bigint, "positionNs" bigint, "nextTrackId" bigint, "framesLost" bigint, restarts integer,
        "usedCores" real, "usedBytes" bigint, view jsonb)),
    saved as (
      update processes set
        position_ns = entries."positionNs", next_track_id = greatest(next_track_id, entries."nextTrackId"),
        frames_lost = entries."framesLost", restarts = entries.restarts,
        used_cores = coalesce(entries."usedCores", used_cores), used_bytes = coalesce(entries."usedBytes", used_bytes)
      from entries
      where processes.uuid = entries.uuid and processes.fence = entries.fence and state not in ('finished', 'failed')
      returning processes.uuid),
    views as (
      insert into process_views (process_uuid, fence, view)
      select entries.uuid, entries.fence, entries.view from entries join saved using (uuid)
      where entries.view is not null
      on conflict (process_uuid) do update set fence = excluded.fence, view = excluded.view, updated_at = now())
    select uuid from saved`;
  return new Set(rows.map(({ uuid }) => uuid));
}

export interface StoredView {
  readonly view: JsonRecord;
  /** Its owner is lost, and no other machine has resumed it yet. */
  readonly isLost: boolean;
}

/** As their owners have last shown them, by uuid. */
export async function readViews(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, StoredView>> {
  if (uuids.length === 0) return new Map();
  const rows = await sql<(StoredView & { uuid: string })[]>`
    select process_uuid as uuid, view, process_views.fence <> processes.fence or ${isUnowned(sql)} as is_lost
    from process_views join processes on processes.uuid = process_uuid
    where process_uuid in ${sql([...uuids])} and state not in ('finished', 'failed')`;
  return new Map(rows.map(({ uuid, ...stored }) => [uuid, stored]));
}
