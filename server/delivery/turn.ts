/** One receiver's turn: what waits for it is sent in order, until nothing is left, something fails or others should go. */
import type { Logger } from "pino";
import { backoff } from "../async/timing.ts";
import type { Sql } from "../store/client.ts";
import { type ClaimedDestination, restDestination, yieldDestination } from "../store/destinations.ts";
import { noteFailure, readWaiting, stopDestination, type WaitingParcel } from "../store/parcels.ts";
import type { Courier, CourierConfig, DeliveryFault } from "./courier.ts";
import type { DeliveryCounts } from "./delivery-counts.ts";
import type { Receipts } from "./receipts.ts";

export interface TurnNeeds {
  readonly sql: Sql;
  readonly config: CourierConfig["delivery"];
  readonly log: Logger;
  readonly nodeUuid: string;
  readonly courier: Courier;
  readonly receipts: Receipts;
  readonly counts: DeliveryCounts;
  /** The receiver is not ours any more, or nothing more may be sent. */
  readonly signal: AbortSignal;
  /** It ends after what is under way. */
  isOver(): boolean;
}

/** What is in memory of one receiver. */
const BATCH_BYTES = 1_048_576;
/** Then others get the place, if any wait. */
const TURN_MS = 1_000;

/** A fault of ours; the others are not told of it as if it were the receiver's. */
export const BROKEN: DeliveryFault = { reason: "it could not be sent, for a reason of the service's own" };

/** Rejects when the database does; the receiver is free again after its lease then. */
export async function takeTurn(destination: ClaimedDestination, needs: TurnNeeds): Promise<void> {
  const { sql, nodeUuid, courier, receipts, counts, signal } = needs;
  const { uuid, target } = destination;
  const { kind } = target;
  const untilMs = performance.now() + TURN_MS;
  const isOver = () => needs.isOver() || performance.now() > untilMs;
  let { failures } = destination;
  // What has arrived in an earlier turn is not found again.
  await receipts.settle();
  while (!signal.aborted) {
    const held = { uuid, nodeUuid, target };
    const waiting = await readWaiting(sql, held, { most: courier.most, bytes: BATCH_BYTES });
    if (waiting === null) return;
    const { parcels, isChanged, ...rest } = waiting;
    // Claimed anew, with its new target.
    if (isChanged) return yieldDestination(sql, uuid, nodeUuid);
    if (parcels.length === 0) {
      if (await restDestination(sql, { ...held, ...rest })) return;
      continue;
    }
    let arrived = 0;
    const fault = await courier
      .send(target, parcels, {
        ...{ signal, isOver, isCareful: failures > 0 },
        onDelivered: ({ seq }) => {
          receipts.add({ destinationUuid: uuid, seq });
          arrived += 1;
        },
      })
      .catch((error: unknown) => {
        needs.log.error({ destination: uuid, kind, err: error }, "a courier broke");
        return BROKEN;
      });
    if (arrived > 0) failures = 0;
    counts.add(kind, { attempts: arrived, delivered: arrived });
    await receipts.settle();
    const failed = parcels[arrived];
    if (fault !== null && failed !== undefined) {
      if (!signal.aborted) await fail(destination, { fault, failed, failures }, needs);
      return;
    }
    if (isOver()) return yieldDestination(sql, uuid, nodeUuid);
  }
}

interface Failure {
  readonly fault: DeliveryFault;
  readonly failed: WaitingParcel;
  /** Before this one. */
  readonly failures: number;
}

async function fail(
  { uuid, target: { kind } }: ClaimedDestination,
  { fault, failed, failures }: Failure,
  { sql, config, log, nodeUuid, counts }: TurnNeeds,
): Promise<void> {
  counts.add(kind, { attempts: 1, failures: 1 });
  const { reason, isFinal = false, retryMs: askedMs = 0 } = fault;
  const about = { destination: uuid, kind, reason };
  if (isFinal) {
    log.warn(about, "a receiver wants nothing more");
    return stopDestination(sql, uuid, reason);
  }
  const rule = { firstMs: config.retry_first_seconds * 1000, maxMs: config.retry_most_seconds * 1000 };
  const isGivenUp = await noteFailure(sql, {
    ...{ destinationUuid: uuid, nodeUuid, seq: failed.seq, reason },
    retryMs: Math.max(askedMs, backoff(failures + 1, rule)),
    giveUpSeconds: kind === "webhook" ? config.webhook_seconds : null,
  });
  if (isGivenUp) counts.add(kind, { dropped: 1 });
  // The first of many: those that follow say the same.
  if (isGivenUp) log.warn({ ...about, parcel: failed.id }, "a notice was tried for too long and is given up");
  else if (failures === 0) log.warn(about, "a receiver cannot be delivered to; it is tried again");
}
