/** A notification that would have been sent, its sender and its destinations. */
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { formatTime } from "../text.ts";

/** A destination, without credentials. */
export type Receiver =
  | { readonly type: "mqtt"; readonly host: string; readonly topic: string }
  | { readonly type: "webhook"; readonly url: string }
  | { readonly type: "email"; readonly to: readonly string[] };

export interface Sending {
  /** Stream time as Unix time. */
  readonly timeMs: number;
  /** Index of its sender: alerts first, then subscriptions, in file order. */
  readonly row: number;
  /** The event of an alert, or the type of a webhook. */
  readonly event: string;
  readonly body: JsonRecord;
}

/** An alert or a subscription. */
export interface Sender {
  readonly kind: "alert" | "webhook";
  /** Alias of the alert, or event type of the subscription. */
  readonly name: string;
  /** Alert type; null for a subscription. */
  readonly type: string | null;
  readonly to: readonly Receiver[];
}

/** Reads an output of an alert. Unknown types are reported by the validation of the body. */
export function readReceiver(output: JsonRecord): readonly Receiver[] {
  const config = (output.config ?? {}) as JsonRecord;
  if (output.type === "mqtt")
    return [{ type: "mqtt", host: maskCredentials(String(config.host)), topic: String(config.topic) }];
  if (output.type === "webhook") return [{ type: "webhook", url: maskCredentials(String(config.url)) }];
  if (output.type === "email") return [{ type: "email", to: config.to as unknown as readonly string[] }];
  return [];
}

/** To a hundredth of a second: `0:05.10`. */
export const formatClipTime = (timeMs: number, startMs: number): string =>
  formatTime(Math.round((timeMs - startMs) / 10) / 100 + ROUNDING, 2);

/** Keeps a hundredth, which is not exact in binary, from being rounded down. */
const ROUNDING = 1e-6;

export function describeReceiver(receiver: Receiver): string {
  if (receiver.type === "email") return receiver.to.join(", ");
  return receiver.type === "mqtt" ? `${receiver.host} ${receiver.topic}` : receiver.url;
}

/** One line of what is printed with `--json`. */
export function formatLine({ timeMs, body }: Sending, { kind, name, to }: Sender, startMs: number): string {
  const who = kind === "alert" ? { alert: name } : { subscription: name };
  return JSON.stringify({ clip_seconds: (timeMs - startMs) / 1000, ...who, to, body });
}

export const NO_UUID = "00000000-0000-0000-0000-000000000000";
