/** The work of elements on every frame besides inference, run in its own process. Prints medians in ms. */

import overlay from "../../../elements/overlay/overlay.ts";
import track from "../../../elements/track/track.ts";
import type { Box, Detections, Tracks } from "../../../schemas/detections.ts";
import { createTracker } from "../../trackers/presets.ts";
import { median } from "../harness.ts";
import { passing, runLine, timed } from "./measure.ts";

const FRAMES = 200;
const PICTURE = `videotestsrc pattern=smpte num-buffers=${FRAMES} ! video/x-raw,format=I420,width=1920,height=1080,framerate=25/1`;

/** Boxes of moving objects, in fractions of the frame. */
function wander(count: number, step: number): readonly Box[] {
  return Array.from({ length: count }, (_, index) => {
    const angle = index * 2.4 + step * 0.01;
    const reach = 0.42 * Math.sqrt((index + 0.5) / count);
    return [0.48 + reach * Math.cos(angle), 0.45 + reach * Math.sin(angle), 0.04, 0.09];
  });
}

async function timeOverlay(objects: number): Promise<number> {
  const times: number[] = [];
  const mark = passing("mark", (frame) => {
    const tracks: Tracks = {
      inferred: true,
      ended: [],
      objects: wander(objects, frame.index).map((box, index) => ({
        ...{ id: index + 1, classId: index % 8, className: "person", confidence: 0.87, box },
        ...{ predicted: false, ageMs: 40 * frame.index, velocity: [0, 0] },
      })),
    };
    frame.write({ tracks });
  });
  await runLine(`${PICTURE} ! mark ! overlay trails=2 ! fakesink sync=false`, [
    { ...mark, writes: ["tracks"] },
    timed(overlay, times),
  ]);
  return median(times);
}

/** The element with camera motion estimation, for a panning camera. */
async function timeTrack(objects: number): Promise<number> {
  const times: number[] = [];
  const mark = passing("mark", (frame) => {
    const seen = wander(objects, frame.index).map((box, index) => ({
      ...{ classId: index % 4, className: "person", box },
      confidence: 0.6 + 0.3 * Math.sin(index + frame.index),
    }));
    const detections: Detections = {
      ...{ inferred: true, model: "bench", confidence: 0.5 },
      objects: seen.filter(({ confidence }) => confidence >= 0.5),
      weak: seen.filter(({ confidence }) => confidence < 0.5),
    };
    frame.write({ detections });
  });
  const source = `videotestsrc pattern=zone-plate kx2=12 ky2=12 horizontal-speed=2 num-buffers=${FRAMES} ! video/x-raw,format=I420,width=1280,height=720,framerate=25/1`;
  await runLine(`${source} ! mark ! track ! fakesink sync=false`, [
    { ...mark, writes: ["detections"] },
    timed(track, times),
  ]);
  return median(times);
}

function timeTracker(objects: number): number {
  const tracker = createTracker("default");
  const times: number[] = [];
  for (let step = 0; step < FRAMES; step++) {
    const sightings = wander(objects, step).map(([x, y, width, height], index) => ({
      box: [x * 1920, y * 1080, width * 1920, height * 1080] as const,
      confidence: 0.6 + 0.3 * Math.sin(index + step),
      classId: index % 4,
    }));
    const startedMs = performance.now();
    tracker.update(BigInt(step) * 40_000_000n, sightings);
    times.push(performance.now() - startedMs);
  }
  return median(times);
}

const [overlayMs, trackerMs, trackMs] = [await timeOverlay(20), timeTracker(100), await timeTrack(100)];
process.stdout.write(JSON.stringify({ overlay: overlayMs, tracker: trackerMs, track: trackMs }));
