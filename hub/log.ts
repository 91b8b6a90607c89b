/** The hub's log. The server masks secrets in it and prints it. */
export type Log = (
  level: "debug" | "info" | "warn" | "error",
  message: string,
  fields?: Record<string, unknown>,
) => void;

const WINDOW_MS = 1000;
const MAX_LINES = 100;

/**
 * Clients can cause log lines at any rate: lines beyond the limit are only counted, and the count is logged at the end of
 * the window. Errors have their own limit, so that clients cannot suppress them.
 */
export function limitLog(log: Log): Log {
  const errors = limitRate(log);
  const others = limitRate(log);
  return (level, message, fields) => {
    if (level === "error" ? errors() : others()) log(level, message, fields);
  };
}

/** Returns whether another line is allowed. */
function limitRate(log: Log): () => boolean {
  let lines = 0;
  const close = (): void => {
    if (lines > MAX_LINES) log("warn", "log lines dropped", { lines: lines - MAX_LINES });
    lines = 0;
  };
  return () => {
    if (lines === 0) setTimeout(close, WINDOW_MS).unref();
    return ++lines <= MAX_LINES;
  };
}
