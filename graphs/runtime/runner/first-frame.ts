/** Tells once that the first frame has come out of a graph's source, whole enough to be decoded. */
import type { TappedBuffer } from "../../../native/addon.ts";
import type { Pipeline } from "../../../native/pipeline.ts";
import type { PlanSegment } from "../../compiler/plan.ts";
import { findOrigins } from "../origins.ts";

export function onFirstFrame(
  pipeline: Pick<Pipeline, "tap">,
  segments: readonly PlanSegment[],
  tell: (frame: TappedBuffer) => void,
): void {
  const [origin] = findOrigins(segments);
  if (origin === undefined) return;
  const stop = pipeline.tap(origin, (frame) => {
    stop();
    tell(frame);
  });
}
