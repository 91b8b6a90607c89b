/** Webhooks on a real database: processes with tracks chosen by the test, and the deliveries that wait. */
import type { EventType, NotificationFormat, WebhookNotification } from "../../schemas/api/webhooks.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { makeConfig, makeUser } from "../api/app.fixture.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import { insertUser } from "../sources/sources.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog } from "../store/database.fixture.ts";
import { amendDelivery, insertDeliveries } from "../store/deliveries.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { messageOf } from "./collectors.fixture.ts";
import { type ObservedProcess, Webhooks } from "./webhooks.ts";

type Delivery = Pick<Outbox, "enqueue" | "amend" | "wake">;

/** An outbox that sends nothing. */
export const idleOutbox: Delivery = {
  enqueue: async (sql, deliveries) => void (await insertDeliveries(sql, deliveries, 10_000)),
  amend: amendDelivery,
  wake() {},
};

/** A process with tracks chosen by the test. */
export class FakeProcess implements ObservedProcess {
  readonly row: ObservedProcess["row"];
  readonly fence: number;
  readonly listeners: ((notice: ProcessNotice) => void)[] = [];

  constructor(uuid: string, { nextTrackId = 1, fence = 1 } = {}) {
    this.row = { uuid, nextTrackId };
    this.fence = fence;
  }

  follow(listener: (notice: ProcessNotice) => void): () => void {
    this.listeners.push(listener);
    listener({ type: "state", state: "running", error: null });
    return () => {};
  }

  notify(notice: ProcessNotice): void {
    for (const listener of this.listeners) listener(notice);
  }

  show(...ids: readonly number[]): void {
    const message = messageOf(ids, 0, this.row.uuid) as unknown as JsonRecord;
    this.notify({ type: "message", channel: "detection_data", message });
  }

  end(state: "finished" | "failed" = "finished"): void {
    this.notify({ type: "state", state, error: null });
    this.notify({ type: "ended" });
  }

  /** The server ends, or another node has it. */
  halt(): void {
    this.notify({ type: "ended" });
  }
}

export async function addUser(sql: Sql, limits: Partial<User["limits"]> = {}): Promise<User> {
  const user = makeUser(`user-${newUuid()}`, limits);
  await insertUser(sql, user);
  return user;
}

export async function addProcess(sql: Sql, user: User, uuid = newUuid()): Promise<string> {
  await sql`
    insert into processes ${sql({
      ...{ uuid, userUuid: user.uuid, fence: 1, sourceUuid: newUuid(), sourceUrl: "rtsp://camera", graph: "detect" },
      ...{ params: sql.json({}), hasTrackLogger: false, desired: "running", state: "running" },
    })}`;
  return uuid;
}

const offered = { expectOffer: async () => {} };

/** The webhooks of one server. */
export class Stage {
  readonly sql: Sql;
  readonly user: User;
  readonly webhooks: Webhooks;

  private constructor(sql: Sql, user: User, delivery: Delivery) {
    this.sql = sql;
    this.user = user;
    const limits = { gatherMs: 10, sweepMs: 1e8 };
    this.webhooks = new Webhooks({ sql, config: makeConfig(), delivery, log: silentLog, ...limits });
  }

  static async open(
    sql: Sql,
    { user, delivery = idleOutbox }: { user?: User; delivery?: Delivery } = {},
  ): Promise<Stage> {
    return new Stage(sql, user ?? (await addUser(sql)), delivery);
  }

  async process(): Promise<FakeProcess> {
    const process = new FakeProcess(await addProcess(this.sql, this.user));
    this.webhooks.follow(process);
    return process;
  }

  /** Resolves with its uuid. */
  async subscribe(
    { row }: FakeProcess,
    eventType: EventType = "new-tracks",
    more: { backoffSeconds?: number; url?: string; format?: NotificationFormat } = {},
  ): Promise<string> {
    const { backoffSeconds = 3600, url = "http://127.0.0.1:9/hook", format = "simple" } = more;
    const wish = {
      ...{ notification_url: url, event_type: eventType, auth_url: null, notifier_policy_type: "backoff" as const },
      ...{ notifier_policy_args: { backoff_seconds: backoffSeconds }, notification_format: format },
    };
    return (await this.webhooks.subscribe(offered, { user: this.user, processUuid: row.uuid, wish })).uuid;
  }

  async deliveries(subscriptionUuid: string): Promise<readonly WaitingDelivery[]> {
    const rows = await this.sql<{ id: string; body: string; dueAt: Date; isOpen: boolean }[]>`
      select id, body, due_at, is_open from parcels where destination_uuid = ${subscriptionUuid} order by seq`;
    return rows.map(({ body, dueAt, ...rest }) => ({ ...rest, dueMs: dueAt.getTime(), body: JSON.parse(body) }));
  }

  /** The receiver has got what waits. Resolves with it. */
  async arrive(subscriptionUuid: string): Promise<readonly WaitingDelivery[]> {
    const waiting = await this.deliveries(subscriptionUuid);
    await this.sql`delete from parcels where destination_uuid = ${subscriptionUuid}`;
    return waiting;
  }

  /** Ids of tracks, by delivery. */
  async sentIds(subscriptionUuid: string): Promise<readonly (readonly number[])[]> {
    const deliveries = await this.deliveries(subscriptionUuid);
    return deliveries.map(({ body }) => (body.type === "new-tracks" ? body.detections.map(({ id }) => id) : []));
  }

  async close(): Promise<void> {
    await this.webhooks.close();
  }
}

export interface WaitingDelivery {
  readonly id: string;
  readonly body: WebhookNotification;
  readonly dueMs: number;
  /** It can be amended. */
  readonly isOpen: boolean;
}
