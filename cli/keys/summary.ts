/** A key as the commands show it; never its secret. */
import { NO_EXPIRATION_DATE, UNLIMITED_MINUTES } from "../../schemas/api/information.ts";
import type { Subscription, UserRow } from "../../server/store/users.ts";

export interface KeySummary {
  readonly username: string;
  readonly key_id: string;
  readonly master: string | null;
  readonly product: string;
  readonly state: "valid" | "expired" | "revoked";
  /** As the API has it; so is `expiration_date`. */
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
    state: judgeState(row),
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

function judgeState({ revokedAt, expiresAt }: UserRow): KeySummary["state"] {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt.getTime() <= Date.now() ? "expired" : "valid";
}

const toMinutes = (ms: number): number => Math.round(ms / 600) / 100;
const toWire = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const FLAGS = ["track_logger", "recording", "enhancement", "graph_author", "operator"] as const;
