/** --probe: every buffer that leaves a node, as a line of JSON. */
import type { PlanSegment } from "../../graphs/compiler/plan.ts";
import type { Pipeline, TappedBuffer } from "../../native/pipeline.ts";
import { toMilliseconds } from "../../schemas/time.ts";
import type { Terminal } from "../terminal.ts";
import { findNode } from "./places.ts";

/** Bytes that may wait for a slow reader; beyond them buffers are counted instead of printed. */
const MOST_WAITING_BYTES = 1_000_000;

export function tapNodes(
  names: readonly string[],
  pipeline: Pipeline,
  segments: readonly PlanSegment[],
  terminal: Terminal,
): void {
  for (const name of names) {
    const node = findNode(name, segments);
    if (node === undefined) continue;
    let lost = 0;
    let caps: string | null = null;
    pipeline.tap(node, (buffer) => {
      lost += buffer.lost;
      if (terminal.backlog > MOST_WAITING_BYTES) {
        lost += 1;
        return;
      }
      void terminal.print(formatBuffer(name, buffer, buffer.caps === caps ? null : buffer.caps, lost));
      caps = buffer.caps;
      lost = 0;
    });
  }
}

/** `caps` is null while they are what they were. */
function formatBuffer(probe: string, buffer: TappedBuffer, caps: string | null, lost: number): string {
  return JSON.stringify({
    probe,
    pts_ms: buffer.ptsNs === null ? null : toMilliseconds(buffer.ptsNs),
    duration_ms: buffer.durationNs === null ? null : toMilliseconds(buffer.durationNs),
    bytes: buffer.bytes,
    keyframe: buffer.keyframe,
    ...(buffer.discontinuity && { discontinuity: true }),
    ...(lost > 0 && { lost }),
    ...(caps !== null && { caps }),
    ...(Object.keys(buffer.meta).length > 0 && { meta: buffer.meta }),
  });
}
