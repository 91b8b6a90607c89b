/** The arguments of `keys create`, and keys as they are shown. */
import { NO_EXPIRATION_DATE, UNLIMITED_MINUTES } from "../schemas/api/information.ts";
import { didYouMean } from "../schemas/suggest.ts";
import { LIMITS } from "../server/keys/accounts.ts";
import { type KeyOrder, USERNAME } from "../server/keys/keys.ts";
import type { Subscription, UserRow } from "../server/store/users.ts";
import type { UserLimits } from "../server/user.ts";
import { type Given, UsageFault } from "./command.ts";

const MINUTE_MS = 60_000;
/** Of `--limit`: the limit of the configuration. */
const DEFAULT = "default";
/** Names of `--limit`. */
const NAMES: Readonly<Record<string, keyof UserLimits>> = LIMITS;

export function readOrder(given: Given): KeyOrder {
  const [username = ""] = given.positionals;
  if (!USERNAME.test(username))
    throw new UsageFault(
      `"${username}" is not a valid NAME; expected up to 63 lower-case letters, digits, - and _, beginning with a letter or a digit`,
    );
  const master = given.text("master") ?? null;
  const pending = given.number("pending", "whole");
  if (master !== null && pending !== undefined)
    throw new UsageFault("--pending is for master keys: a child key has no minutes to allocate");
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

/** 0 is valid: minutes can be allocated later. */
function readMinutes(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageFault(`--minutes is "${text}"; expected a whole number of at least 0`);
}

/** A date includes the whole day, UTC. */
export function readExpiry(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(text);
  const time = new Date(isDate ? `${text}T23:59:59.999Z` : text);
  // Date would turn 2026-02-31 into a day in March.
  const isReal = !Number.isNaN(time.getTime()) && (!isDate || time.toISOString().startsWith(text));
  if ((isDate || isTime) && isReal && time.getTime() <= Date.now())
    throw new UsageFault(`--expires is "${text}", which is in the past; expected a future date or time`);
  if ((isDate || isTime) && isReal) return time;
  throw new UsageFault(
    `--expires is "${text}"; expected a date such as 2027-12-31, or a time such as 2027-12-31T18:00Z`,
  );
}

/** `NAME=N`, or `NAME=default` to remove a limit of `own`. Throws `UsageFault`. */
export function readLimits(words: readonly string[], own: Partial<UserLimits> = {}): Partial<UserLimits> {
  const limits: Partial<Record<keyof UserLimits, number>> = { ...own };
  for (const word of words) {
    const [, name = "", text = ""] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
    const limit = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
    if (limit === undefined)
      throw new UsageFault(
        `--limit is "${word}"; expected NAME=NUMBER with ${Object.keys(LIMITS).join(", ")}${didYouMean(name, Object.keys(LIMITS))}`,
      );
    if (text === DEFAULT) {
      delete limits[limit];
      continue;
    }
    const least = limit === "requestsPerMinute" || limit === "socketClients" ? 1 : 0;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least))
      throw new UsageFault(`--limit ${name} is "${text}"; expected a whole number of at least ${least}`);
    limits[limit] = value;
  }
  return limits;
}

/** A key without its secret. */
export interface KeySummary {
  readonly username: string;
  readonly key_id: string;
  readonly master: string | null;
  readonly product: string;
  readonly state: "valid" | "expired" | "revoked";
  /** As in the API, like `expiration_date`. */
  readonly remaining_minutes: number;
  readonly consumed_minutes: number;
  readonly pending_to_allocate: number;
  readonly expiration_date: string;
  readonly track_logger: boolean;
  readonly recording: boolean;
  readonly enhancement: boolean;
  readonly graph_author: boolean;
  readonly operator: boolean;
  readonly limits: Readonly<Record<string, number>>;
  readonly created_at: string;
}

export function summariseKey(row: UserRow, master: string | null, subscription: Subscription): KeySummary {
  return {
    username: row.username,
    key_id: row.keyId,
    master,
    product: row.product,
    state: stateOf(row),
    remaining_minutes: subscription.remainingMs === null ? UNLIMITED_MINUTES : toMinutes(subscription.remainingMs),
    consumed_minutes: toMinutes(subscription.consumedMs),
    pending_to_allocate: toMinutes(subscription.pendingMs),
    expiration_date: row.expiresAt?.toISOString().slice(0, 10) ?? NO_EXPIRATION_DATE,
    track_logger: row.hasTrackLogger,
    recording: row.hasRecording,
    enhancement: row.hasEnhancement,
    graph_author: row.isGraphAuthor,
    operator: row.isOperator,
    limits: Object.fromEntries(Object.entries(row.limits).map(([name, value]) => [toWire(name), value])),
    created_at: row.createdAt.toISOString(),
  };
}

function stateOf({ revokedAt, expiresAt }: UserRow): KeySummary["state"] {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt.getTime() <= Date.now() ? "expired" : "valid";
}

const toMinutes = (ms: number): number => Math.round(ms / 600) / 100;
const toWire = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const FLAGS = ["track_logger", "recording", "enhancement", "graph_author", "operator"] as const;
