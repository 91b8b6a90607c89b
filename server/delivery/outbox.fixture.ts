/** Outboxes on a real database, with destinations of users that the test creates. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { makeConfig } from "../api/app.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog } from "../store/database.fixture.ts";
import type { NewDelivery } from "../store/deliveries.ts";
import { type DeliveryStatus, readStatuses, saveDestination, type Target } from "../store/destinations.ts";
import { createUser } from "../store/users.ts";
import { newUuid } from "../uuid.ts";
import { Outbox, type OutboxOptions } from "./outbox.ts";

/** Short, so that tests need not wait. */
const SETTINGS = { DELIVERY_RETRY_MOST_SECONDS: "0.2" };
export const LIMITS = { retryFirstMs: 100, lookMs: 200 };

export type Settings = Readonly<Record<string, string>>;

/** Closed with the test. */
export async function openOutbox(
  sql: Sql,
  settings: Settings = {},
  more: Partial<OutboxOptions> = {},
): Promise<Outbox> {
  const outbox = await makeOutbox(sql, settings, more);
  after(() => outbox.close());
  return outbox;
}

/** The caller closes it. */
export function makeOutbox(sql: Sql, settings: Settings = {}, more: Partial<OutboxOptions> = {}): Promise<Outbox> {
  const config = makeConfig({ ...SETTINGS, ...settings });
  return Outbox.open({
    ...{ sql, config, log: silentLog, nodeUuid: newUuid(), softwareVersion: "1.2.3", isAlone: false, ...more },
    limits: { ...LIMITS, ...more.limits },
  });
}

export async function addUser(sql: Sql): Promise<string> {
  const user = await createUser(sql, {
    ...{ username: `user-${randomBytes(4).toString("hex")}`, masterUuid: null, product: "test" },
    ...{ keyId: newUuid(), keySha256: randomBytes(32), limits: {}, expiresAt: null, allocatedMs: null, pendingMs: 0 },
    ...{ hasTrackLogger: false, hasRecording: false, hasEnhancement: false, isGraphAuthor: false, isOperator: false },
  });
  assert.ok(typeof user === "object");
  return user.uuid;
}

/** Resolves with its uuid. */
export async function addDestination(sql: Sql, userUuid: string, target: Target): Promise<string> {
  const uuid = newUuid();
  await saveDestination(sql, { uuid, userUuid, target });
  return uuid;
}

export const mqttTarget = (port: number, more: Partial<Extract<Target, { kind: "mqtt" }>> = {}): Target => ({
  ...{ kind: "mqtt", url: `mqtt://127.0.0.1:${port}`, topic: "alerts/yard", qos: 1 },
  ...{ username: null, password: null, ...more },
});

export const SECRET = `whsec_${Buffer.from("a secret of twenty-four.").toString("base64")}`;

export const webhookTarget = (url: string, more: Partial<Extract<Target, { kind: "webhook" }>> = {}): Target => ({
  ...{ kind: "webhook", url, secret: SECRET, authUrl: null, ...more },
});

/** Deliveries with these numbers, in one transaction. */
export async function enqueue(outbox: Outbox, sql: Sql, uuid: string, numbers: readonly number[]): Promise<void> {
  await sql.begin((tx) =>
    outbox.enqueue(
      tx,
      numbers.map((number) => newDelivery(uuid, { number })),
    ),
  );
  outbox.wake();
}

export function newDelivery(destinationUuid: string, body: object): NewDelivery {
  const id = newUuid();
  return { id, destinationUuid, body: JSON.stringify({ id, ...body }) };
}

export async function statusOf(sql: Sql, uuid: string): Promise<DeliveryStatus> {
  return (await readStatuses(sql, [uuid])).get(uuid) ?? assert.fail("the destination does not exist");
}

export const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);
