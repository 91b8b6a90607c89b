/** The log of the service: on standard error, as JSON, or as text in a terminal. Secrets are masked by field name and in texts. */

import { inspect } from "node:util";
import { type Bindings, type ChildLoggerOptions, type Logger, pino } from "pino";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { LineWriter } from "./line-writer.ts";

export interface Log {
  readonly logger: Logger;
  /** Resolves when all lines are written, or after a time limit. */
  close(): Promise<void>;
  /** Synchronously, before the process exits. */
  closeNow(): void;
}

interface Output {
  readonly fd: number;
  readonly isTTY?: boolean;
}

const CLOSE_MS = 2_000;

export function openLog({ level }: Config["log"], output: Output = process.stderr, env = process.env): Log {
  const paint = makePaint(output, env);
  const isTerminal = output.isTTY === true;
  const show = (json: string): string => (isTerminal ? formatLine(json, paint) : json);
  const describeLoss = (lines: number): string =>
    show(
      `${JSON.stringify({ level: 40, time: Date.now(), lost: lines, msg: "log lines lost: the reader is too slow" })}\n`,
    );
  const writer = new LineWriter(output.fd, describeLoss);
  // pino calls `flushSync` after a fatal line.
  const destination = { write: (json: string) => writer.write(show(json)), flushSync: () => writer.flush() };
  const logger = pino(
    {
      level,
      base: null,
      formatters: { log: (record) => maskRecord(record) },
      serializers: {
        msg: (text: unknown) => (typeof text === "string" ? maskText(text) : text),
        err: (error) => error,
      },
    },
    destination,
  );
  // Inherited by children; pino has no formatter for their bindings.
  const makeChild = logger.child as unknown as (bindings: Bindings, options?: ChildLoggerOptions) => Logger;
  function child(this: Logger, bindings: Bindings, options?: ChildLoggerOptions): Logger {
    return makeChild.call(this, maskRecord(bindings), options);
  }
  Object.assign(logger, { child });
  const closeNow = (): void => writer.drainNow();
  // However the process ends, unless it is killed.
  process.once("exit", closeNow);
  const close = async (): Promise<void> => {
    await writer.drain(CLOSE_MS);
    process.off("exit", closeNow);
  };
  return { logger, close, closeNow };
}

/** https://no-color.org */
function makePaint({ isTTY }: Output, env: NodeJS.ProcessEnv): Paint {
  const isColoured = isTTY === true && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  return (code, text) => (isColoured ? `\x1b[${code}m${text}\x1b[0m` : text);
}

const SECRET_FIELDS = /^(api_?key|bootstrap_?key|authorization|cookie|password|passwd|secret|token|access_token)$/i;
/** The public part is kept: it identifies the key. */
const KEYS = /\bwh_([A-Za-z0-9]+)_[A-Za-z0-9_-]{8,}/g;
const MAX_DEPTH = 6;
/** A text without these has no URL, no query and no key; most have none. */
const SUSPECT = /:\/\/|=|wh_/;

const maskText = (text: string): string =>
  SUSPECT.test(text) ? maskCredentials(text).replace(KEYS, "wh_$1_***") : text;

function maskRecord(record: Readonly<Record<string, unknown>>, depth = 0): Record<string, unknown> {
  const masked: Record<string, unknown> = {};
  for (const name of Object.keys(record)) {
    const value = record[name];
    const isSecret = value !== null && value !== undefined && SECRET_FIELDS.test(name);
    masked[name] = isSecret ? "***" : maskValue(value, depth + 1);
  }
  return masked;
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return maskText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "…";
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

type Paint = (code: number, text: string) => string;

const LEVELS: Readonly<Record<number, readonly [name: string, colour: number]>> = {
  10: ["trace", 2],
  20: ["debug", 34],
  30: ["info", 32],
  40: ["warn", 33],
  50: ["error", 31],
  60: ["fatal", 31],
};
const DIM = 2;

/** A line for a terminal. `json`: as written by pino. */
function formatLine(json: string, paint: Paint): string {
  const { time, level, msg, err, part, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const clock = new Date(Number(time)).toTimeString().slice(0, 8);
  const [name, colour] = LEVELS[Number(level)] ?? [String(level), DIM];
  const fields = Object.entries(rest).map(([key, value]) => `${key}=${formatValue(value)}`);
  const words = [
    paint(DIM, clock),
    paint(colour, name.padEnd(5)),
    ...(part === undefined ? [] : [paint(DIM, String(part))]),
    ...(msg === undefined ? [] : [String(msg)]),
    ...(fields.length === 0 ? [] : [paint(DIM, fields.join(" "))]),
  ];
  return `${words.join(" ")}\n${formatError(err)}`;
}

const formatValue = (value: unknown): string => {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY, depth: 3 });
};

function formatError(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { stack, message, cause } = error as { stack?: string; message?: string; cause?: unknown };
  const text = (stack ?? message ?? "").replace(/^/gm, "    ");
  return `${text}\n${cause === undefined ? "" : formatError(cause)}`;
}
