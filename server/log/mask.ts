/** Nothing secret reaches a log: neither by the name of its field nor inside a text. */
import { maskCredentials } from "../../schemas/mask.ts";

const SECRET_FIELDS = /^(api_?key|bootstrap_?key|authorization|cookie|password|passwd|secret|token|access_token)$/i;
/** Its public part stays: it tells which key it was. */
const KEYS = /\bwh_([A-Za-z0-9]+)_[A-Za-z0-9_-]{8,}/g;
const MOST_DEPTH = 6;
/** Without one of these a text has neither a URL, nor a query, nor a key of ours in it; most have none. */
const SUSPECT = /:\/\/|=|wh_/;

export const maskText = (text: string): string =>
  SUSPECT.test(text) ? maskCredentials(text).replace(KEYS, "wh_$1_***") : text;

export function maskRecord(record: Readonly<Record<string, unknown>>, depth = 0): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      SECRET_FIELDS.test(name) && value !== null && value !== undefined ? "***" : maskValue(value, depth + 1),
    ]),
  );
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return maskText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MOST_DEPTH) return "…";
  if (value instanceof Error) return maskError(value, depth);
  if (value instanceof Date) return value;
  if (value instanceof URL) return maskText(value.href);
  if (Array.isArray(value)) return value.map((item) => maskValue(item, depth + 1));
  return maskRecord(value as Record<string, unknown>, depth);
}

function maskError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause, ...rest } = error as Error & Record<string, unknown>;
  return {
    type: name,
    message: maskText(message),
    ...(stack !== undefined && { stack: maskText(stack) }),
    ...(cause !== undefined && { cause: maskValue(cause, depth + 1) }),
    ...maskRecord(rest, depth),
  };
}
