/** Which detections belong to which picture: those of the same time. Either may come first. Pure. */
import type { DetectionMessage } from "../../client/client.ts";
import type { FeedPicture } from "./read-parts.ts";

/** Pictures wait for their detections for no more than this many others. */
const MOST_WAITING = 30;
const MOST_MESSAGES = 240;
/** Boxes that come and go would flicker: pictures in between are left out, unless nothing else comes for so long. */
const PATIENCE_MS = 1_000;

export interface Pair {
  readonly picture: FeedPicture;
  /** Null: nobody looked at this picture. */
  readonly detections: DetectionMessage | null;
}

/**
 * Detections of every picture come in order, and so do pictures: once detections of a later time have come, none will for
 * an earlier one.
 */
export class Pairing {
  readonly #pictures: FeedPicture[] = [];
  readonly #messages = new Map<string, DetectionMessage>();
  #latest = "";
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  addPicture(picture: FeedPicture): readonly Pair[] {
    this.#pictures.push(picture);
    return this.#match();
  }

  addDetections(message: DetectionMessage): readonly Pair[] {
    this.#messages.set(message.timestamp, message);
    // Not the highest that ever came: clocks are set back, too.
    this.#latest = message.timestamp;
    for (const [key] of this.#messages) {
      if (this.#messages.size <= MOST_MESSAGES) break;
      this.#messages.delete(key);
    }
    return this.#match();
  }

  /** In order: a picture whose detections are still to come holds the ones after it. */
  #match(): readonly Pair[] {
    const pairs: Pair[] = [];
    for (let [picture] = this.#pictures; picture !== undefined; [picture] = this.#pictures) {
      const detections = this.#messages.get(picture.timestamp) ?? null;
      const isDecided = detections !== null || picture.timestamp < this.#latest || this.#pictures.length > MOST_WAITING;
      if (!isDecided) break;
      this.#pictures.shift();
      this.#messages.delete(picture.timestamp);
      if (this.#isShown(picture, detections)) pairs.push({ picture, detections });
    }
    return pairs;
  }

  #isShown({ timestamp }: FeedPicture, detections: DetectionMessage | null): boolean {
    const atMs = Date.parse(timestamp);
    if (detections !== null) this.#lookedAtMs = atMs;
    return detections !== null || !(Math.abs(atMs - this.#lookedAtMs) < PATIENCE_MS);
  }
}
