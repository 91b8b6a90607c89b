/** Notifies once that the first frame has come out of a graph's source, decoded where the graph decodes it. */
import type { TappedBuffer } from "../../../native/addon.ts";
import type { Pipeline } from "../../../native/pipeline.ts";

export function onFirstFrame(
  pipeline: Pick<Pipeline, "tap">,
  [origin]: readonly string[],
  notify: (frame: TappedBuffer) => void,
): void {
  if (origin === undefined) return;
  const stop = pipeline.tap(origin, (frame) => {
    stop();
    notify(frame);
  });
}
