/** How long the main thread kept its events waiting. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two looks; what the histogram holds includes them. */
const RESOLUTION_MS = 1;

/** Starts to measure; the function ends it and gives the 99th percentile in milliseconds. */
export function measureLoopDelay(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return () => {
    histogram.disable();
    return Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS);
  };
}
