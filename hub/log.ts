/** What the hub has to say to those who run it. Goes to the server, which masks and prints it. */
export type Log = (
  level: "debug" | "info" | "warn" | "error",
  message: string,
  fields?: Record<string, unknown>,
) => void;

const WINDOW_MS = 1000;
const MOST_LINES = 100;

/** Strangers can make us say things as often as they like: what is too much is counted instead. */
export function limitLog(log: Log, now: () => number = () => performance.now()): Log {
  let since = now();
  let lines = 0;
  return (level, message, fields) => {
    if (now() - since >= WINDOW_MS) {
      if (lines > MOST_LINES) log("warn", "lines of the log were left out", { lines: lines - MOST_LINES });
      since = now();
      lines = 0;
    }
    if (++lines <= MOST_LINES) log(level, message, fields);
  };
}
