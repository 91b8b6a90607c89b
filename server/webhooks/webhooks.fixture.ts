/** Webhooks over a real database: processes that show what the test says, and what waits in the outbox. */
import type { EventType, NotificationFormat, WebhookNotification } from "../../schemas/api/webhooks.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { makeConfig, makeUser } from "../api/app.fixture.ts";
import type { Delivery, Parcel } from "../delivery/delivery.ts";
import type { ProcessNotice } from "../processes/processes.ts";
import { insertUser } from "../sources/sources.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog } from "../store/database.fixture.ts";
import { closeDestination, readStandings, removeDestination, saveDestination } from "../store/destinations.ts";
import { amendParcel, insertParcels } from "../store/parcels.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { messageOf } from "./gather/gather.fixture.ts";
import { type HeardProcess, Webhooks } from "./webhooks.ts";

/** The outbox without anybody who delivers. */
export const stillOutbox: Delivery = {
  saveDestination,
  closeDestination,
  removeDestination,
  enqueue: async (sql, parcels) => void (await insertParcels(sql, parcels.map(write), 10_000)),
  amend: (sql, parcel) => amendParcel(sql, write(parcel)),
  wake() {},
  attempt: async () => ({ delivered: false, status: null, detail: "nobody delivers", ms: 0 }),
  standings: readStandings,
};

const write = ({ id, destinationUuid, body, dueAt }: Parcel) => ({
  ...{ id, destinationUuid, body: JSON.stringify(body), dueAt: dueAt ?? null },
});

/** One that shows what the test says. */
export class ShownProcess implements HeardProcess {
  readonly row: HeardProcess["row"];
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

  tell(notice: ProcessNotice): void {
    for (const listener of this.listeners) listener(notice);
  }

  show(...ids: readonly number[]): void {
    const message = messageOf(ids, 0, this.row.uuid) as unknown as JsonRecord;
    this.tell({ type: "message", channel: "detection_data", message });
  }

  end(state: "finished" | "failed" = "finished"): void {
    this.tell({ type: "state", state, error: null });
    this.tell({ type: "ended" });
  }

  /** The server ends, or another machine has it. */
  halt(): void {
    this.tell({ type: "ended" });
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

/** As the next start of the server would have them, with this outbox. */
export class Stage {
  readonly sql: Sql;
  readonly user: User;
  readonly webhooks: Webhooks;

  private constructor(sql: Sql, user: User, delivery: Delivery) {
    this.sql = sql;
    this.user = user;
    const config = makeConfig({ WEBHOOKS_GATHER_SECONDS: "0.01", WEBHOOKS_SWEEP_SECONDS: "100000" });
    this.webhooks = new Webhooks({ sql, config, delivery, log: silentLog });
  }

  static async open(
    sql: Sql,
    { user, delivery = stillOutbox }: { user?: User; delivery?: Delivery } = {},
  ): Promise<Stage> {
    return new Stage(sql, user ?? (await addUser(sql)), delivery);
  }

  async process(): Promise<ShownProcess> {
    const process = new ShownProcess(await addProcess(this.sql, this.user));
    this.webhooks.follow(process);
    return process;
  }

  /** Resolves with its uuid. */
  async subscribe(
    { row }: ShownProcess,
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

  async parcels(subscriptionUuid: string): Promise<readonly WaitingParcel[]> {
    const rows = await this.sql<{ id: string; body: string; dueAt: Date; isOpen: boolean }[]>`
      select id, body, due_at, is_open from parcels where destination_uuid = ${subscriptionUuid} order by seq`;
    return rows.map(({ body, dueAt, ...rest }) => ({ ...rest, dueMs: dueAt.getTime(), body: JSON.parse(body) }));
  }

  /** Ids of tracks, by parcel. */
  async toldIds(subscriptionUuid: string): Promise<readonly (readonly number[])[]> {
    const parcels = await this.parcels(subscriptionUuid);
    return parcels.map(({ body }) => (body.type === "new-tracks" ? body.detections.map(({ id }) => id) : []));
  }

  async close(): Promise<void> {
    await this.webhooks.close();
  }
}

export interface WaitingParcel {
  readonly id: string;
  readonly body: WebhookNotification;
  readonly dueMs: number;
  /** Not on its way yet. */
  readonly isOpen: boolean;
}
