import type { Fetching } from "../../models/fetch/weights.ts";
import { onInterrupt } from "../run/interrupt.ts";
import type { Terminal } from "../terminal.ts";
import { Activity } from "./activity.ts";

const INTERRUPTED = 130;

/** Runs `work` with progress on the terminal. Ctrl-C ends what is being fetched, tidies up and fails; twice, at once. */
export async function whileFetching<T>(
  terminal: Terminal,
  command: Fetching["command"],
  work: (fetching: Fetching) => Promise<T>,
): Promise<T> {
  const interrupted = new AbortController();
  const activity = new Activity(terminal);
  const forget = onInterrupt(
    () => interrupted.abort(),
    () => process.exit(INTERRUPTED),
  );
  try {
    return await work({ report: (what) => activity.report(what), signal: interrupted.signal, command });
  } finally {
    forget();
    activity.close();
  }
}
