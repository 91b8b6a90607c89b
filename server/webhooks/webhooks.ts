/** Subscriptions of webhooks to processes: one listener for each process, however many subscriptions. Never blocks a process. */
import type { NewSubscription, SubscriptionChoice } from "../../schemas/api/webhooks.ts";
import type { Config } from "../../schemas/config.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { Poller } from "../async/poller.ts";
import { withTimeout } from "../async/timing.ts";
import type { Processes, ProcessNotice } from "../processes/processes.ts";
import { removeDestination, saveDestination } from "../store/destinations.ts";
import type { ProcessRow } from "../store/processes.ts";
import {
  closeSubscriptions,
  deleteSubscriptions,
  findLeftSubscriptions,
  insertSubscription,
  type SubscriptionRow,
} from "../store/subscriptions.ts";
import type { User } from "../user.ts";
import { NotificationWriter, type NotificationWriterDeps } from "./notification-writer.ts";
import { ProcessSubscriptions } from "./process-subscriptions.ts";
import { checkAddresses, destinationOf, prepareSubscription, selectSubscriptions } from "./subscriptions.ts";

export interface WebhooksDeps extends NotificationWriterDeps {
  readonly config: Pick<Config, "network">;
  /** Interval for removing subscriptions of ended processes; set in tests. */
  readonly sweepMs?: number;
}

export interface ObservedProcess {
  readonly row: Pick<ProcessRow, "uuid" | "nextTrackId">;
  /** 1 on its first node. */
  readonly fence: number;
  follow(listener: (notice: ProcessNotice) => void): () => void;
}

/** For the last writes to the database. */
const CLOSE_MS = 3_000;
/** The node of a process cleans up when it ends; others only after this time. */
const GRACE_SECONDS = 60;
const SWEEP_BATCH = 100;
const SWEEP_MS = 60_000;

export class Webhooks {
  readonly #deps: WebhooksDeps;
  readonly #sweepMs: number;
  readonly #writer: NotificationWriter;
  readonly #processes = new Map<string, ProcessSubscriptions>();
  readonly #sweeping = new Poller(() => this.#sweepOnce());

  constructor(deps: WebhooksDeps) {
    this.#deps = deps;
    this.#sweepMs = deps.sweepMs ?? SWEEP_MS;
    this.#writer = new NotificationWriter(deps);
    this.#sweeping.start(this.#sweepMs * Math.random());
  }

  follow(process: ObservedProcess): void {
    const { uuid, nextTrackId } = process.row;
    const { fence } = process;
    const subscriptions = new ProcessSubscriptions(
      { uuid, fence },
      { lastTrackId: nextTrackId - 1, isNew: fence === 1 },
    );
    this.#processes.set(uuid, subscriptions);
    this.#writer.add(subscriptions);
    process.follow((notice) => {
      if (notice.type === "message" && notice.channel === "detection_data") this.#see(subscriptions, notice.message);
      else if (notice.type === "state" && (notice.state === "finished" || notice.state === "failed"))
        subscriptions.isEnded = true;
      else if (notice.type === "ended") {
        subscriptions.isLeft = true;
        if (this.#processes.get(uuid) === subscriptions) this.#processes.delete(uuid);
        this.#writer.schedule();
      }
    });
  }

  /** Rejects with `ServiceError`. */
  async subscribe(
    processes: Pick<Processes, "expectOffer">,
    { user, processUuid, wish }: { readonly user: User; readonly processUuid: string; readonly wish: NewSubscription },
  ): Promise<SubscriptionRow> {
    const { sql, config } = this.#deps;
    checkAddresses(wish);
    await processes.expectOffer(user, processUuid, "detections");
    const row = await prepareSubscription(wish, user, processUuid, config.network);
    const inserted = await sql.begin(async (transaction) => {
      const subscription = await insertSubscription(transaction, row, user.limits.subscriptions);
      await saveDestination(transaction, destinationOf(row));
      return subscription;
    });
    this.#processes.get(processUuid)?.add(inserted);
    return inserted;
  }

  /** With their queues. Resolves with their uuids; rejects with `subscription_not_found`. */
  async unsubscribe(processUuid: string, choice: SubscriptionChoice): Promise<readonly string[]> {
    const deleted = await this.#deps.sql.begin(async (transaction) => {
      const selected = await selectSubscriptions(transaction, processUuid, choice);
      const uuids = await deleteSubscriptions(
        transaction,
        selected.map(({ uuid }) => uuid),
      );
      // Pipelined: sent together, executed in this order.
      await Promise.all(uuids.map((uuid) => removeDestination(transaction, uuid)));
      return uuids;
    });
    for (const uuid of deleted) this.#processes.get(processUuid)?.remove(uuid);
    return deleted;
  }

  /** Resolves after one attempt to store everything that is due. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** Closes subscriptions of processes that ended without a node that noticed it. */
  async sweep(graceSeconds = GRACE_SECONDS): Promise<void> {
    const { sql, delivery } = this.#deps;
    for (;;) {
      const left = await findLeftSubscriptions(sql, graceSeconds, SWEEP_BATCH);
      await closeSubscriptions(sql, left);
      if (left.length > 0) delivery.wake();
      if (left.length < SWEEP_BATCH) return;
    }
  }

  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, this.#sweeping.close());
    await withTimeout(CLOSE_MS, this.#writer.close());
  }

  #see(subscriptions: ProcessSubscriptions, message: JsonRecord): void {
    if (!Array.isArray(message.active_tracks)) return;
    subscriptions.see(message as unknown as DetectionMessage, Date.now());
    this.#writer.schedule();
  }

  async #sweepOnce(): Promise<number> {
    await this.sweep().catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, "subscriptions of ended processes not closed; retrying"),
    );
    return this.#sweepMs * (0.75 + Math.random() / 2);
  }
}
