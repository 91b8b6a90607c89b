/** Publishes a clip over and over, at its own pace. */
import { setTimeout as wait } from "node:timers/promises";
import { publishRtsp } from "../media/rtsp/publisher.ts";
import type { LoopedClip } from "./looped-clip.ts";

/** After a standstill (a machine that slept) it goes on from where it was: nobody wants what was missed all at once. */
const MOST_LATE_MS = 500;

/** Resolves with why it is over: the server has let go. Rejects where it cannot be published at all. */
export async function publishClip(clip: LoopedClip, url: string, onPublishing: () => void): Promise<string> {
  const publisher = await publishRtsp(url, clip.tracks);
  let reason: string | null = null;
  void publisher.closed.then((why) => {
    reason = why;
  });
  onPublishing();
  let beganMs = performance.now();
  for (let index = 0; reason === null; index++) {
    publisher.send(clip.unit(index, Date.now()));
    const leftMs = beganMs + clip.dueMs(index + 1) - performance.now();
    if (leftMs < -MOST_LATE_MS) beganMs -= leftMs;
    // Always a turn: what the server says must be heard, however late it is.
    await wait(Math.max(0, leftMs));
  }
  return reason;
}
