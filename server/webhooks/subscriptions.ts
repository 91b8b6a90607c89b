/** Subscriptions as clients see them: checked when they are created, described, selected, and tested with a sample. */
import { randomBytes } from "node:crypto";
import type {
  CreatedSubscription,
  NewSubscription,
  SubscriptionChoice,
  SubscriptionRecord,
  WebhookNotification,
} from "../../schemas/api/webhooks.ts";
import type { Config } from "../../schemas/config.ts";
import type { TrackEntry } from "../../schemas/detection-message.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import { describeStatus, type Outbox } from "../delivery/outbox.ts";
import { guardAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import type { Queries } from "../store/client.ts";
import type { DeliveryStatus, Destination } from "../store/destinations.ts";
import { listSubscriptions, type NewSubscriptionRow, type SubscriptionRow } from "../store/subscriptions.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { createCollector } from "./collectors.ts";

const SECRET_BYTES = 32;
const MASKED = "***";

/** Throws `invalid_input` for addresses that the schema cannot check. */
export function checkAddresses({ notification_url: url, auth_url: authUrl = null }: NewSubscription): void {
  const faults = [...checkUrl("/notification_url", url), ...(authUrl === null ? [] : checkUrl("/auth_url", authUrl))];
  if (faults.length === 0) return;
  throw new ServiceError("invalid_input", {
    detail: faults.map(({ path, message }) => `${path} ${message}.`).join(" "),
    errors: faults,
  });
}

function checkUrl(path: string, url: string): readonly InputFault[] {
  const authority = readAuthority(url);
  if (typeof authority === "string") return [{ path, message: `is not valid: ${authority}` }];
  if (!URL.canParse(url)) return [{ path, message: "is not a valid URL" }];
  return url.includes(MASKED) ? [{ path, message: "has masked credentials (***); send the real ones" }] : [];
}

/** The row to insert. Rejects with `address_refused`. A host name that cannot be resolved now is accepted. */
export async function prepareSubscription(
  given: NewSubscription,
  user: User,
  processUuid: string,
  network: Config["network"],
): Promise<NewSubscriptionRow> {
  const { notification_url: url, auth_url: authUrl = null } = given;
  await guardAddress(url, network, "/notification_url");
  // Its token is sent to the host of the notifications: an internal login address may give it to no other host.
  const isSameHost = authUrl !== null && hostOf(authUrl) === hostOf(url);
  if (authUrl !== null) await guardAddress(authUrl, isSameHost ? network : { ...network, allow: [] }, "/auth_url");
  return {
    ...{ uuid: newUuid(), userUuid: user.uuid, processUuid, eventType: given.event_type },
    ...{ notificationUrl: url, authUrl, policy: given.notifier_policy_args, format: given.notification_format },
    secret: `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`,
  };
}

const hostOf = (url: string): string => {
  const authority = readAuthority(url);
  return typeof authority === "string" ? "" : authority.host.toLowerCase();
};

/** The destination of a subscription has the same uuid. */
export const destinationOf = (row: NewSubscriptionRow): Destination => {
  const { uuid, userUuid, notificationUrl: url, secret, authUrl, policy } = row;
  return {
    uuid,
    userUuid,
    target: { kind: "webhook", url, secret, authUrl, spacingMs: policy.backoff_seconds * 1000 },
  };
};

const describe = (row: SubscriptionRow): Omit<CreatedSubscription, "secret"> => ({
  uuid: row.uuid,
  subscription_uuid: row.uuid,
  process_uuid: row.processUuid,
  notification_url: maskCredentials(row.notificationUrl),
  event_type: row.eventType,
  auth_url: row.authUrl === null ? null : maskCredentials(row.authUrl),
  notifier_policy_type: "backoff",
  notifier_policy_args: { backoff_seconds: row.policy.backoff_seconds },
  notification_format: row.format,
  created_at: row.createdAt,
});

/** With its secret, which is shown only once. */
export const describeCreated = (row: SubscriptionRow): CreatedSubscription => ({
  ...describe(row),
  secret: row.secret,
});

export const describeSubscription = (row: SubscriptionRow, status: DeliveryStatus | undefined): SubscriptionRecord => ({
  ...describe(row),
  delivery: describeStatus(status),
});

/** Rejects with `subscription_not_found`. A URL is compared as it was given, and then as it is shown. */
export async function selectSubscriptions(
  sql: Queries,
  processUuid: string,
  { notification_url: url, event_type: type }: SubscriptionChoice,
): Promise<readonly SubscriptionRow[]> {
  const { rows } = await listSubscriptions(sql, processUuid);
  const ofType = rows.filter(({ eventType }) => type === undefined || eventType === type);
  const given = ofType.filter(({ notificationUrl }) => url === undefined || notificationUrl === url);
  const shown = ofType.filter(({ notificationUrl }) => maskCredentials(notificationUrl) === url);
  const selected = given.length > 0 ? given : shown;
  if (selected.length > 0) return selected;
  const words = [...(type === undefined ? [] : [type]), ...(url === undefined ? [] : [`to ${maskCredentials(url)}`])];
  throw new ServiceError("subscription_not_found", {
    detail: `no subscription ${[...words, ""].join(" ")}of this process; GET /subscriptions/${processUuid} lists them`,
  });
}

const PARALLEL_TESTS = 8;

/** Sends a sample to each receiver, within the limit for all of them. `fault`: null when it was delivered. */
export async function testSubscriptions(
  delivery: Pick<Outbox, "attempt">,
  rows: readonly SubscriptionRow[],
  limitMs: number,
): Promise<readonly { readonly row: SubscriptionRow; readonly fault: string | null }[]> {
  const untilMs = performance.now() + limitMs;
  const late = `it was not delivered within the ${limitMs / 1000} s of this test`;
  const test = async (row: SubscriptionRow): Promise<string | null> => {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) return `it was not sent: ${late}`;
    const id = newUuid();
    const body = JSON.stringify(makeSample(row, id, Date.now()));
    const result = await withTimeout(leftMs, delivery.attempt(destinationOf(row), { id, body }));
    if (result === TIMED_OUT) return late;
    return result.delivered ? null : result.detail;
  };
  const tested: { readonly row: SubscriptionRow; readonly fault: string | null }[] = new Array(rows.length);
  const next = rows.entries();
  const runTests = async (): Promise<void> => {
    for (const [at, row] of next) tested[at] = { row, fault: await test(row) };
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_TESTS, rows.length) }, runTests));
  return tested;
}

const SAMPLE_TRACK: TrackEntry = {
  ...{ track_id: 1, class_id: 2, class_name: "car", confidence: 87.5 },
  ...{ bbox: [480, 540, 240, 135], scaled_bbox: [0.25, 0.5, 0.125, 0.125] },
};

/** A notification like a real one, marked as a sample. */
function makeSample(
  { eventType, format, processUuid }: SubscriptionRow,
  id: string,
  nowMs: number,
): WebhookNotification {
  const collector = createCollector({ eventType, format, backoffMs: 0 });
  const timestamp = new Date(nowMs).toISOString();
  collector.see({ timestamp, source_uri: "", process_uuid: processUuid, active_tracks: [SAMPLE_TRACK] }, nowMs);
  const body = collector.take(nowMs);
  if (body === null) throw new Error(`the collector of ${eventType} made no notification of a new track`);
  return { id, ...body, sample: true };
}
