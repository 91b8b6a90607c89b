/** Beginning elsewhere than at the beginning. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pipeline } from "../../native/pipeline.ts";
import type { GraphPlan } from "../compiler/plan.ts";
import { LIMITS } from "./limits.ts";

const AGAIN_MS = 5;

/** Whether the source has a position, and lets nothing pass before the graph plays. */
export const hasPacedFile = ({ source, main }: GraphPlan): boolean =>
  source?.pace === "realtime" && main.nodes.some(({ factory }) => factory === "clocksync");

/**
 * To the very frame at or after the position. The pipeline is paused; until its demuxer has found the streams it can seek
 * nowhere, and nothing tells when it has. Gives up when `ended` settles.
 */
export async function seekWhenReady(
  pipeline: Pick<Pipeline, "seek">,
  toNs: bigint,
  ended: Promise<unknown>,
): Promise<void> {
  const untilMs = performance.now() + LIMITS.startMs;
  const over = ended.then(() => true);
  over.catch(() => {}); // it may fail long after this
  for (;;) {
    const refused = await pipeline.seek(toNs).then(
      () => null,
      (error: Error) => error,
    );
    if (refused === null || (await Promise.race([over, sleep(AGAIN_MS, false)]))) return;
    if (performance.now() > untilMs) throw refused;
  }
}
