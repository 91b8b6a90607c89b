/** From what a client wishes to what is kept, checked. */
import { randomBytes } from "node:crypto";
import type { NewSubscription } from "../../schemas/api/webhooks.ts";
import type { Config } from "../../schemas/config.ts";
import type { Destination } from "../delivery/delivery.ts";
import { guardAddress } from "../net/guard.ts";
import { readAuthority } from "../net/url.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import type { NewSubscriptionRow } from "../store/subscriptions.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { destinationOf } from "./destination.ts";

export interface SubscriptionPlace {
  readonly user: User;
  readonly processUuid: string;
  readonly network: Config["network"];
}

const SECRET_BYTES = 32;
const MASKED = "***";

/** Throws `invalid_input`: what the schema cannot say. */
export function checkAddresses({ notification_url: url, auth_url: authUrl = null }: NewSubscription): void {
  const faults = [...checkUrl("/notification_url", url), ...(authUrl === null ? [] : checkUrl("/auth_url", authUrl))];
  if (faults.length === 0) return;
  throw new ServiceError("invalid_input", {
    detail: faults.map(({ path, message }) => `${path} ${message}.`).join(" "),
    errors: faults,
  });
}

/** Rejects with `address_refused`. A name that leads nowhere now may lead somewhere later. */
export async function prepareSubscription(
  wish: NewSubscription,
  { user, processUuid, network }: SubscriptionPlace,
): Promise<{ readonly row: NewSubscriptionRow; readonly destination: Destination }> {
  const { notification_url: url, auth_url: authUrl = null } = wish;
  await guardAddress(url, network, "/notification_url");
  // Its token goes to that host; from a login that only this service can reach it goes to no other.
  const isSameHost = authUrl !== null && hostOf(authUrl) === hostOf(url);
  if (authUrl !== null) await guardAddress(authUrl, isSameHost ? network : { ...network, allow: [] }, "/auth_url");
  const row = {
    ...{ uuid: newUuid(), userUuid: user.uuid, processUuid, eventType: wish.event_type },
    ...{ notificationUrl: url, authUrl, policy: wish.notifier_policy_args, format: wish.notification_format },
    secret: `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`,
  };
  return { row, destination: destinationOf(row) };
}

const hostOf = (url: string): string => {
  const authority = readAuthority(url);
  return typeof authority === "string" ? "" : authority.host.toLowerCase();
};

function checkUrl(path: string, url: string): readonly InputFault[] {
  const authority = readAuthority(url);
  if (typeof authority === "string") return [{ path, message: `cannot be read: ${authority}` }];
  if (!URL.canParse(url)) return [{ path, message: "cannot be read: it is no URL" }];
  return url.includes(MASKED) ? [{ path, message: "has masked credentials (***); send the real ones" }] : [];
}
