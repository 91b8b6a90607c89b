/** Notifies once that the first frame has come out of a graph's source, decoded where the graph decodes it. */
import type { Pipeline } from "../../../native/pipeline.ts";

export function onFirstFrame(pipeline: Pick<Pipeline, "tap">, [origin]: readonly string[], notify: () => void): void {
  if (origin === undefined) return;
  const stop = pipeline.tap(origin, () => {
    stop();
    notify();
  });
}
