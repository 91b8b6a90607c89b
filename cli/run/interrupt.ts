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
