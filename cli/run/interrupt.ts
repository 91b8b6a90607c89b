/** Signals that end a command. Does not load GStreamer: `models get` runs before the addon is built. */
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
