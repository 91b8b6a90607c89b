/** Beginning elsewhere than at the beginning. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pipeline } from "../../native/pipeline.ts";
import type { GraphPlan } from "../compiler/plan.ts";
import { LIMITS } from "./limits.ts";

const AGAIN_MS = 5;

/** The node that lets nothing pass before the graph plays, behind a source that has positions; undefined without one. */
export const findPacedFile = ({ source, main }: GraphPlan): string | undefined =>
  source?.pace === "realtime"
    ? main.nodes.find(({ factory, element }) => factory === "clocksync" && element === "source")?.name
    : undefined;

const METER = "position";

/**
 * To the very frame at or after the position. The pipeline is paused. Only when a first frame waits at the node is it
 * certain that everything before it is found, chosen and linked: a seek amid that breaks it. False when the source has no
 * positions. Gives up when `ended` settles.
 */
export async function seekWhenReady(
  pipeline: Pick<Pipeline, "seek" | "meter" | "meters">,
  node: string,
  toNs: bigint,
  ended: Promise<unknown>,
): Promise<boolean> {
  const untilMs = performance.now() + LIMITS.startMs;
  const over = ended.then(() => true);
  over.catch(() => {}); // it may fail long after this
  pipeline.meter(METER, node, node);
  while ((pipeline.meters([METER])[METER]?.in ?? 0) === 0) {
    if (await Promise.race([over, sleep(AGAIN_MS, false)])) return true;
    if (performance.now() > untilMs) throw new Error(`no frame within ${LIMITS.startMs} ms`);
  }
  return pipeline.seek(toNs, true, node).then(
    () => true,
    () => false,
  );
}
