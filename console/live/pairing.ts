/** Matches frames with their detections by timestamp. Either may arrive first. Pure. */
import type { DetectionMessage } from "../../client/client.ts";
import type { FeedFrame } from "./parsers.ts";

/** A frame waits for its detections until this many frames are queued. */
const MAX_FRAMES = 30;
const MAX_MESSAGES = 240;
/** Frames without inference are dropped, as boxes would flicker, unless no other frame was shown for this long. */
const MAX_GAP_MS = 1_000;

export interface Pair {
  readonly frame: FeedFrame;
  /** Null: no inference was run on this frame. */
  readonly detections: DetectionMessage | null;
}

/** Frames and detections each arrive in order: detections of a later time mean that an earlier frame has none. */
export class Pairing {
  readonly #frames: FeedFrame[] = [];
  readonly #messages = new Map<string, DetectionMessage>();
  #latest = "";
  #inferredMs = Number.NEGATIVE_INFINITY;

  addFrame(frame: FeedFrame): readonly Pair[] {
    this.#frames.push(frame);
    return this.#match();
  }

  addDetections(message: DetectionMessage): readonly Pair[] {
    this.#messages.set(message.timestamp, message);
    // The last, not the highest: clocks can be set back.
    this.#latest = message.timestamp;
    for (const [key] of this.#messages) {
      if (this.#messages.size <= MAX_MESSAGES) break;
      this.#messages.delete(key);
    }
    return this.#match();
  }

  /** In order: a frame that waits for its detections holds the frames after it. */
  #match(): readonly Pair[] {
    const pairs: Pair[] = [];
    for (let [frame] = this.#frames; frame !== undefined; [frame] = this.#frames) {
      const detections = this.#messages.get(frame.timestamp) ?? null;
      const isDecided = detections !== null || frame.timestamp < this.#latest || this.#frames.length > MAX_FRAMES;
      if (!isDecided) break;
      this.#frames.shift();
      this.#messages.delete(frame.timestamp);
      if (this.#isShown(frame, detections)) pairs.push({ frame, detections });
    }
    return pairs;
  }

  #isShown({ timestamp }: FeedFrame, detections: DetectionMessage | null): boolean {
    const atMs = Date.parse(timestamp);
    if (detections !== null) this.#inferredMs = atMs;
    return detections !== null || !(Math.abs(atMs - this.#inferredMs) < MAX_GAP_MS);
  }
}
