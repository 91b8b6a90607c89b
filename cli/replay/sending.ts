/** What would have been sent, and where to. */

import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { formatTime } from "../run/progress.ts";

/** Nothing secret in it. */
export type Receiver =
  | { readonly type: "mqtt"; readonly host: string; readonly topic: string }
  | { readonly type: "webhook"; readonly url: string };

export interface Sending {
  /** Unix time, virtual. */
  readonly timeMs: number;
  /** Number of its row: alerts first, then subscriptions, in the order of their files. */
  readonly row: number;
  /** Of alerts what happened; of webhooks their type. */
  readonly event: string;
  readonly body: JsonRecord;
}

/** What sends: an alert or a subscription. */
export interface Sender {
  readonly kind: "alert" | "webhook";
  /** The alias of an alert, the type of a subscription's events. */
  readonly name: string;
  /** Of alerts. */
  readonly type: string | null;
  readonly to: readonly Receiver[];
}

/** As an alert names them. Outputs of a type that is not known here are left out: the check of the body has its say. */
export function readReceiver(output: JsonRecord): readonly Receiver[] {
  const config = (output.config ?? {}) as JsonRecord;
  if (output.type === "mqtt")
    return [{ type: "mqtt", host: maskCredentials(String(config.host)), topic: String(config.topic) }];
  if (output.type === "webhook") return [{ type: "webhook", url: maskCredentials(String(config.url)) }];
  return [];
}

/** To a hundredth of a second: `0:05.10`. */
export const formatClipTime = (timeMs: number, startMs: number): string =>
  formatTime(Math.round((timeMs - startMs) / 10) / 100 + ROUNDING, 2);

/** A hundredth is no whole number of bits: what is cut off behind it must not be the hundredth itself. */
const ROUNDING = 1e-6;

export const describeReceiver = (receiver: Receiver): string =>
  receiver.type === "mqtt" ? `${receiver.host} ${receiver.topic}` : receiver.url;

/** One line of what is printed with `--json`. */
export function formatLine({ timeMs, body }: Sending, { kind, name, to }: Sender, startMs: number): string {
  const who = kind === "alert" ? { alert: name } : { subscription: name };
  return JSON.stringify({ clip_seconds: (timeMs - startMs) / 1000, ...who, to, body });
}
