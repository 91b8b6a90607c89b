/** A line of the log as a person reads it in a terminal. */
import { inspect } from "node:util";

export type Paint = (code: number, text: string) => string;

const LEVELS: Readonly<Record<number, readonly [name: string, colour: number]>> = {
  10: ["trace", 2],
  20: ["debug", 34],
  30: ["info", 32],
  40: ["warn", 33],
  50: ["error", 31],
  60: ["fatal", 31],
};
const DIM = 2;

/** @param json as pino writes it */
export function formatLine(json: string, paint: Paint): string {
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
