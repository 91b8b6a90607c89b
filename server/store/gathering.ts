/** How far subscriptions have been told, which is written in the transaction that makes the parcel. */

import type { Queries } from "./client.ts";
import type { Claim } from "./processes.ts";

export interface GatheringRow {
  readonly uuid: string;
  /** The last that was made, and how many tracks it tells of. */
  readonly parcelId: string | null;
  readonly parcelCount: number;
  /** Something is on its way to its receiver. */
  readonly isWaiting: boolean;
}

/** Of these, those that are there still, while the process is held under this claim. Locked until the end of the transaction. */
export async function lockGathering(
  sql: Queries,
  { uuid: processUuid, fence }: Claim,
  uuids: readonly string[],
): Promise<ReadonlyMap<string, GatheringRow>> {
  const rows = await sql<GatheringRow[]>`
    select subscriptions.uuid, parcel_id, parcel_count,
      exists (select from parcels where destination_uuid = subscriptions.uuid) as is_waiting
    from subscriptions join processes on processes.uuid = process_uuid
    where subscriptions.uuid in ${sql([...uuids])} and process_uuid = ${processUuid} and fence = ${fence}
    order by subscriptions.uuid for update of subscriptions`;
  return new Map(rows.map((row) => [row.uuid, row]));
}

export interface ToldRow {
  readonly uuid: string;
  readonly parcelId: string;
  readonly parcelCount: number;
  readonly toldCount: number;
  readonly nextMs: number;
}

export async function saveGathering(sql: Queries, told: readonly ToldRow[]): Promise<void> {
  if (told.length === 0) return;
  await sql`
    update subscriptions set
      parcel_id = told."parcelId", parcel_count = told."parcelCount", told_count = told."toldCount",
      next_at = to_timestamp(told."nextMs" / 1000)
    from jsonb_to_recordset(${sql.json(told.map((one) => ({ ...one })))})
      as told (uuid uuid, "parcelId" text, "parcelCount" integer, "toldCount" integer, "nextMs" double precision)
    where subscriptions.uuid = told.uuid`;
}
