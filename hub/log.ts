/** What the hub has to say to those who run it. Goes to the server, which masks and prints it. */
export type Log = (
  level: "debug" | "info" | "warn" | "error",
  message: string,
  fields?: Record<string, unknown>,
) => void;

const WINDOW_MS = 1000;
const MOST_LINES = 100;

/**
 * Strangers can make us say things as often as they like: what is too much is counted instead, and told when the window is
 * over. Errors are ours, and counted apart: no crowd can push them out.
 */
export function limitLog(log: Log): Log {
  const windows = { errors: new Window(log), others: new Window(log) };
  return (level, message, fields) => {
    const window = level === "error" ? windows.errors : windows.others;
    if (window.admit()) log(level, message, fields);
  };
}

class Window {
  readonly #log: Log;
  #lines = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  admit(): boolean {
    this.#timer ??= setTimeout(() => this.#close(), WINDOW_MS).unref();
    return ++this.#lines <= MOST_LINES;
  }

  #close(): void {
    const lines = this.#lines - MOST_LINES;
    this.#lines = 0;
    this.#timer = null;
    if (lines > 0) this.#log("warn", "lines of the log were left out", { lines });
  }
}
