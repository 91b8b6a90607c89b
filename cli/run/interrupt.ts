import { failureOf } from "../../graphs/runtime/handlers.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { EXIT } from "../command.ts";
import { withTrace } from "../faults.ts";
import type { Terminal } from "../terminal.ts";
import type { Reporter } from "./reporter.ts";

/** Ctrl-C, and its like: the first asks, the second does not. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Returns how to stop listening. */
export function onInterrupt(first: () => void, second: () => void): () => void {
  let count = 0;
  const hear = (): void => {
    count += 1;
    if (count === 1) first();
    else if (count === 2) second();
  };
  for (const signal of SIGNALS) process.on(signal, hear);
  return () => {
    for (const signal of SIGNALS) process.off(signal, hear);
  };
}

// Errors outside of any call of an element's, such as in a timer of its own.
const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

/** Says what it was and ends the program: nothing that runs can be relied on any more. Returns how to leave it to Node. */
export function exitOnUncaught(reporter: Reporter, terminal: Terminal): () => void {
  const exit = (thrown: unknown): void => {
    const { message, trace } = failureOf(null, thrown);
    const error = `an error that no element caught: ${maskCredentials(message)}`;
    terminal.clear();
    reporter.error(`windhover: ${withTrace(error, trace)}`, { type: "crash", error, trace: [...trace] });
    void terminal.flush().finally(() => process.exit(EXIT.failed));
  };
  for (const event of EVENTS) process.on(event, exit);
  return () => {
    for (const event of EVENTS) process.off(event, exit);
  };
}
