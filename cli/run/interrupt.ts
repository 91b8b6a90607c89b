/** Signals that end a command. Does not load GStreamer: `models get` runs before the addon is built. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A terminal signals the whole group, and npm and npx pass that signal on: the same one within this time is one key press. */
const REPEAT_MS = 250;

/** Calls `handle` for each signal that ends a command. Returns a function that removes the listeners. */
export function onStopSignal(handle: (signal: (typeof SIGNALS)[number]) => void): () => void {
  const lastMs = new Map<string, number>();
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now();
    const isRepeat = nowMs - (lastMs.get(signal) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS;
    lastMs.set(signal, nowMs);
    if (!isRepeat) handle(signal as (typeof SIGNALS)[number]);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/** Calls `first` at the first signal, `second` at the second. Returns a function that removes the listeners. */
export function onInterrupt(first: () => void, second: () => void): () => void {
  let count = 0;
  return onStopSignal(() => {
    count += 1;
    if (count === 1) first();
    else if (count === 2) second();
  });
}
