/**
 * Run in its own process: `live.ts CLIP FRAMES MODEL` plays the clip in real time through a model that is slower than the
 * video, then infers the same frames again at pace fast: each must have the same boxes, or boxes were drawn on the wrong
 * frames.
 */
import type { Detections } from "../../../schemas/detections.ts";
import { ending, measureLoopDelay, measureThroughput, passing, runLine } from "./measure.ts";

const [clip = "", frames = "", model = ""] = process.argv.slice(2);
/** Low enough for some boxes in any frame. */
const DETECT = `detect model="${model}" confidence=0.02 weak=0.02`;

const arrivals = new Map<bigint | null, number>();
const departures = new Map<bigint | null, number>();
const inferred = new Map<bigint | null, string>();
let boxes = 0;
let longestMs = 0;

const arrive = passing("arrive", ({ ptsNs }) => void arrivals.set(ptsNs, performance.now()));
const leave = ending("leave", ({ ptsNs, meta }) => {
  const leftMs = performance.now();
  departures.set(ptsNs, leftMs);
  longestMs = Math.max(longestMs, leftMs - (arrivals.get(ptsNs) ?? 0));
  const detections = meta.detections as Detections;
  if (!detections.inferred) return;
  inferred.set(ptsNs, JSON.stringify(detections));
  boxes += detections.objects.length;
});
const readDelay = measureLoopDelay();
const line = `source uri="${clip}" pace=realtime ! decode ! arrive ! stage ! ${DETECT} ! track ! leave`;
await runLine(line, [arrive, leave], Number(frames));
const loopDelayMs = readDelay();

let same = 0;
const only = passing("only", ({ ptsNs }) => (inferred.has(ptsNs) ? undefined : "drop"));
const compare = ending("compare", ({ ptsNs, meta }) => {
  if (inferred.get(ptsNs) === JSON.stringify(meta.detections)) same += 1;
});
await runLine(`source uri="${clip}" pace=fast ! decode ! only ! ${DETECT} ! compare`, [only, compare], Number(frames));

process.stdout.write(
  JSON.stringify({
    ...measureThroughput(
      [...arrivals].map(([ptsNs, arrivedMs]) => ({ arrivedMs, leftMs: departures.get(ptsNs) ?? null })),
    ),
    lost: arrivals.size - departures.size,
    inferred: inferred.size,
    same,
    boxes,
    longestMs,
    loopDelayMs,
  }),
);
