/**
 * Work at intervals, with one timer for each interval: with one of its own for each port and each check, an idle hub woke twice
 * as often, which costs more than what it does then.
 */

interface Interval {
  readonly timer: NodeJS.Timeout;
  readonly calls: Set<() => void>;
}

const intervals = new Map<number, Interval>();

/** Returns a function that ends it. Does not keep the process alive. */
export function every(ms: number, call: () => void): () => void {
  // Each is another function, so that the same one can be called for several owners.
  const own = () => call();
  const interval = intervals.get(ms) ?? begin(ms);
  interval.calls.add(own);
  return () => {
    interval.calls.delete(own);
    if (interval.calls.size > 0 || intervals.get(ms) !== interval) return;
    clearInterval(interval.timer);
    intervals.delete(ms);
  };
}

function begin(ms: number): Interval {
  const calls = new Set<() => void>();
  const timer = setInterval(() => {
    for (const call of calls) call();
  }, ms);
  timer.unref();
  const interval = { timer, calls };
  intervals.set(ms, interval);
  return interval;
}
