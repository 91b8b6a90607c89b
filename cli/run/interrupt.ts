import { failureOf } from "../../graphs/runtime/handlers.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { EXIT } from "../command.ts";
import { withTrace } from "../faults.ts";
import type { Terminal } from "../terminal.ts";
import type { Reporter } from "./reporter.ts";

/** Signals that end a command, and errors that nothing caught. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls `first` at the first signal, `second` at the second. Returns a function that removes the listeners. */
export function onInterrupt(first: () => void, second: () => void): () => void {
  let count = 0;
  const onSignal = (): void => {
    count += 1;
    if (count === 1) first();
    else if (count === 2) second();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

/** Reports an uncaught error, such as one in a timer of an element, and exits. Returns a function that removes the listeners. */
export function exitOnUncaught(reporter: Reporter, terminal: Terminal): () => void {
  const exit = (thrown: unknown): void => {
    const { message, trace } = failureOf(null, thrown);
    const error = `uncaught error: ${maskCredentials(message)}`;
    terminal.clear();
    reporter.error(`windhover: ${withTrace(error, trace)}`, { type: "crash", error, trace: [...trace] });
    void terminal.flush().finally(() => process.exit(EXIT.failed));
  };
  for (const event of EVENTS) process.on(event, exit);
  return () => {
    for (const event of EVENTS) process.off(event, exit);
  };
}
