/** Drafts of one process to the outbox, and how far its subscriptions are told, in one transaction. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { Delivery, Parcel } from "../delivery/delivery.ts";
import type { Queries, Sql } from "../store/client.ts";
import { type GatheringRow, lockGathering, saveGathering } from "../store/gathering.ts";
import type { Claim } from "../store/processes.ts";
import type { Outcome } from "./drafts.ts";
import type { SubscriptionDraft } from "./process-gathering.ts";

export type Outbox = Pick<Delivery, "enqueue" | "amend">;

/** By the uuid of the subscription; null: it is gone, or the process is another machine's. */
export type Outcomes = ReadonlyMap<string, Outcome | null>;

/** All new ones or all amended ones: receivers are locked in the order of their uuids. */
export function writeDrafts(
  sql: Sql,
  outbox: Outbox,
  claim: Claim,
  drafts: readonly SubscriptionDraft[],
): Promise<Outcomes> {
  const ordered = [...drafts].sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
  return sql.begin(async (transaction) => {
    const uuids = ordered.map(({ uuid }) => uuid);
    const rows = await lockGathering(transaction, claim, uuids);
    const there = ordered.filter(({ uuid }) => rows.has(uuid));
    const added = await enqueueNew(transaction, outbox, there, rows);
    const amended = await amendOld(transaction, outbox, there, rows);
    const outcomes = new Map([...added, ...amended]);
    await saveGathering(
      transaction,
      there
        .filter(({ uuid }) => outcomes.get(uuid)?.isNews === true)
        .map(({ uuid, draft: { id, trackCount, toldCount, nextMs } }) => ({
          ...{ uuid, parcelId: id, parcelCount: trackCount, toldCount, nextMs },
        })),
    );
    return new Map(uuids.map((uuid) => [uuid, outcomes.get(uuid) ?? null]));
  });
}

type Rows = ReadonlyMap<string, GatheringRow>;
type Written = readonly [uuid: string, outcome: Outcome & { readonly isNews: boolean }];

/** One that is there already was committed by an attempt whose end nobody heard. */
async function enqueueNew(
  sql: Queries,
  outbox: Outbox,
  drafts: readonly SubscriptionDraft[],
  rows: Rows,
): Promise<readonly Written[]> {
  const fresh = drafts.filter(({ draft }) => !draft.isAmended);
  const isThere = ({ uuid, draft }: SubscriptionDraft) => rows.get(uuid)?.parcelId === draft.id;
  const waits = ({ uuid, draft }: SubscriptionDraft) => draft.isPatient && rows.get(uuid)?.isWaiting === true;
  const parcels = fresh.filter((one) => !isThere(one) && !waits(one)).map(toParcel);
  if (parcels.length > 0) await outbox.enqueue(sql, parcels);
  return fresh.map((one) => {
    if (!isThere(one) && waits(one)) return [one.uuid, { kind: "waits", trackCount: 0, isNews: false }];
    const trackCount = isThere(one) ? (rows.get(one.uuid)?.parcelCount ?? 0) : one.draft.trackCount;
    return [one.uuid, { kind: "written", trackCount, isNews: !isThere(one) }];
  });
}

async function amendOld(
  sql: Queries,
  outbox: Outbox,
  drafts: readonly SubscriptionDraft[],
  rows: Rows,
): Promise<readonly Written[]> {
  const open = drafts.filter(({ draft }) => draft.isAmended);
  // Sent together and answered in this order.
  const answers = await Promise.all(open.map((one) => outbox.amend(sql, toParcel(one))));
  return open.map(({ uuid, draft }, at) => {
    const row = rows.get(uuid);
    const known = row?.parcelId === draft.id ? row.parcelCount : 0;
    return answers[at] === true
      ? [uuid, { kind: "written", trackCount: draft.trackCount, isNews: true }]
      : [uuid, { kind: "late", trackCount: known, isNews: false }];
  });
}

const toParcel = ({ uuid, draft: { id, body, dueMs } }: SubscriptionDraft): Parcel => ({
  ...{ id, destinationUuid: uuid, body: body as unknown as JsonRecord, dueAt: new Date(dueMs) },
});
