/**
 * Who has subscribed to which process, and what each of them is told. One ear a process, however many have subscribed.
 * Nothing here ever makes a process wait.
 */
import type { Logger } from "pino";
import type { NewSubscription, SubscriptionChoice } from "../../schemas/api/webhooks.ts";
import type { Config } from "../../schemas/config.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { Poller } from "../async/poller.ts";
import { withTimeout } from "../async/timing.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { Processes, ProcessNotice } from "../processes/processes.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";
import { findLeftSubscriptions, insertSubscription, type SubscriptionRow } from "../store/subscriptions.ts";
import type { User } from "../user.ts";
import { closeSubscriptions } from "./close-subscriptions.ts";
import { GatheringWriter } from "./gathering-writer.ts";
import { checkAddresses, prepareSubscription } from "./prepare-subscription.ts";
import { ProcessGathering } from "./process-gathering.ts";
import { removeSubscriptions } from "./remove-subscriptions.ts";

export interface WebhookNeeds {
  readonly sql: Sql;
  readonly config: Pick<Config, "webhooks" | "network">;
  readonly delivery: Delivery;
  readonly log: Logger;
}

/** A process, as far as it matters here. */
export interface HeardProcess {
  readonly row: Pick<ProcessRow, "uuid" | "nextTrackId">;
  /** Of the first holder it is 1. */
  readonly fence: number;
  follow(listener: (notice: ProcessNotice) => void): () => void;
}

/** For the last words to the database. */
const CLOSE_MS = 3_000;
/** Whoever held the process sees to it first. */
const GRACE_SECONDS = 60;
const SWEEP_BATCH = 100;

export class Webhooks {
  readonly #needs: WebhookNeeds;
  readonly #writer: GatheringWriter;
  readonly #heard = new Map<string, ProcessGathering>();
  readonly #sweeping = new Poller(() => this.#sweepAgain());

  constructor(needs: WebhookNeeds) {
    const { sql, delivery, log } = needs;
    this.#needs = needs;
    this.#writer = new GatheringWriter({ sql, delivery, log, config: needs.config.webhooks });
    this.#sweeping.start(needs.config.webhooks.sweep_seconds * 1000 * Math.random());
  }

  follow(process: HeardProcess): void {
    const { uuid, nextTrackId } = process.row;
    const { fence } = process;
    const gathering = new ProcessGathering({ uuid, fence }, { lastTrackId: nextTrackId - 1, isNew: fence === 1 });
    this.#heard.set(uuid, gathering);
    this.#writer.add(gathering);
    const forget = (): void => {
      if (this.#heard.get(uuid) === gathering) this.#heard.delete(uuid);
      this.#writer.look();
    };
    process.follow((notice) => {
      if (notice.type === "message" && notice.channel === "detection_data") this.#hear(gathering, notice.message);
      else if (notice.type === "state" && (notice.state === "finished" || notice.state === "failed")) gathering.end();
      else if (notice.type === "ended") {
        gathering.leave();
        forget();
      }
    });
  }

  /** Rejects with `ServiceError`. */
  async subscribe(
    processes: Pick<Processes, "expectOffer">,
    { user, processUuid, wish }: { readonly user: User; readonly processUuid: string; readonly wish: NewSubscription },
  ): Promise<SubscriptionRow> {
    const { sql, config, delivery } = this.#needs;
    checkAddresses(wish);
    await processes.expectOffer(user, processUuid, "detections");
    const { row, destination } = await prepareSubscription(wish, { user, processUuid, network: config.network });
    const inserted = await sql.begin(async (transaction) => {
      const made = await insertSubscription(transaction, row, user.limits.subscriptions);
      await delivery.saveDestination(transaction, destination);
      return made;
    });
    this.#heard.get(processUuid)?.add(inserted);
    return inserted;
  }

  /** Resolves with the uuids of those that were there; what waits for them is not delivered. */
  async unsubscribe(processUuid: string, choice: SubscriptionChoice): Promise<readonly string[]> {
    const { sql, delivery } = this.#needs;
    const gone = await removeSubscriptions(sql, delivery, processUuid, choice);
    for (const uuid of gone) this.#heard.get(processUuid)?.remove(uuid);
    return gone;
  }

  /** Resolves when all that is to be written now was tried. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** Those of processes that ended while nobody saw to it. */
  async sweep(graceSeconds = GRACE_SECONDS): Promise<void> {
    const { sql, delivery } = this.#needs;
    for (;;) {
      const left = await findLeftSubscriptions(sql, graceSeconds, SWEEP_BATCH);
      await closeSubscriptions(sql, delivery, left);
      if (left.length > 0) delivery.wake();
      if (left.length < SWEEP_BATCH) return;
    }
  }

  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, this.#sweeping.close());
    await withTimeout(CLOSE_MS, this.#writer.close());
  }

  #hear(gathering: ProcessGathering, message: JsonRecord): void {
    if (!Array.isArray(message.active_tracks)) return;
    gathering.see(message as unknown as DetectionMessage, Date.now());
    this.#writer.look();
  }

  async #sweepAgain(): Promise<number> {
    await this.sweep().catch((error: unknown) =>
      this.#needs.log.warn({ err: error }, "subscriptions of ended processes could not be removed; it is tried again"),
    );
    return this.#needs.config.webhooks.sweep_seconds * 1000 * (0.75 + Math.random() / 2);
  }
}
