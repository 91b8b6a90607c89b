/** The words of `keys create` as an order. */

import { didYouMean } from "../../schemas/suggest.ts";
import { type KeyOrder, USERNAME } from "../../server/keys/keys.ts";
import type { UserLimits } from "../../server/user.ts";
import { type Given, UsageFault } from "../command.ts";

const MINUTE_MS = 60_000;

export const LIMITS: Readonly<Record<string, keyof UserLimits>> = {
  processes: "processes",
  sources: "sources",
  outputs_registered: "outputsRegistered",
  outputs_active: "outputsActive",
  alerts: "alerts",
  subscriptions: "subscriptions",
  video_bytes: "videoBytes",
  storage_bytes: "storageBytes",
  requests_per_minute: "requestsPerMinute",
};

export function readOrder(given: Given): KeyOrder {
  const [username = ""] = given.positionals;
  if (!USERNAME.test(username))
    throw new UsageFault(
      `"${username}" is no NAME; expected lower-case letters, digits, - and _, 63 at most, the first a letter or a digit`,
    );
  const master = given.text("master") ?? null;
  const pending = given.number("pending", "whole");
  if (master !== null && pending !== undefined)
    throw new UsageFault("--pending is for master keys: a child has no minutes to hand out");
  const minutes = readMinutes(given.text("minutes"));
  return {
    username,
    master,
    product: given.text("product") ?? "standard",
    pendingMs: (pending ?? 0) * MINUTE_MS,
    allocatedMs: minutes === undefined ? null : minutes * MINUTE_MS,
    expiresAt: readExpiry(given.text("expires")),
    hasTrackLogger: given.flag("track-logger"),
    hasRecording: given.flag("recording"),
    hasEnhancement: given.flag("enhancement"),
    isGraphAuthor: given.flag("graph-author"),
    isOperator: given.flag("operator"),
    limits: readLimits(given.texts("limit")),
  };
}

/** None is a number of minutes too: they are handed out later. */
function readMinutes(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageFault(`--minutes is "${text}"; expected a whole number of at least 0`);
}

/** A date means the whole of that day, UTC. */
export function readExpiry(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(text);
  const time = new Date(isDate ? `${text}T23:59:59.999Z` : text);
  // 2026-02-31 would silently become a day in March.
  const isReal = !Number.isNaN(time.getTime()) && (!isDate || time.toISOString().startsWith(text));
  if ((isDate || isTime) && isReal && time.getTime() <= Date.now())
    throw new UsageFault(`--expires is "${text}", which is over; expected a day or a time to come`);
  if ((isDate || isTime) && isReal) return time;
  throw new UsageFault(
    `--expires is "${text}"; expected a date such as 2027-12-31, or a time such as 2027-12-31T18:00Z`,
  );
}

function readLimits(words: readonly string[]): Partial<UserLimits> {
  const limits: Partial<Record<keyof UserLimits, number>> = {};
  for (const word of words) {
    const [, name = "", text = ""] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
    const limit = Object.hasOwn(LIMITS, name) ? LIMITS[name] : undefined;
    if (limit === undefined)
      throw new UsageFault(
        `--limit is "${word}"; expected NAME=NUMBER with ${Object.keys(LIMITS).join(", ")}${didYouMean(name, Object.keys(LIMITS))}`,
      );
    const least = limit === "requestsPerMinute" ? 1 : 0;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least))
      throw new UsageFault(`--limit ${name} is "${text}"; expected a whole number of at least ${least}`);
    limits[limit] = value;
  }
  return limits;
}
