/** Stored detections of a process, found by the time of a frame. Pure. */
import type { DetectionMessage } from "../../../client/client.ts";

type Tracks = Pick<DetectionMessage, "active_tracks">;

export interface FoundBoxes {
  readonly boxes: Tracks;
  /** Of the frame itself; null: inference did not run on it, and its boxes are between those of its neighbours. */
  readonly message: DetectionMessage | null;
}

interface Timed {
  readonly ms: number;
  readonly message: DetectionMessage;
}

/** Times are rounded to milliseconds twice. */
const SAME_MS = 4;
/** Between two messages that are further apart, nothing is known. */
const MAX_GAP_MS = 1_000;
const LAST_MS = 350;
const MAX_MESSAGES = 20_000;

export class StoredBoxes {
  /** In order of time. */
  readonly #timed: Timed[] = [];

  /** `zeroMs`: subtracted from the times of messages. In any order; a message that is known is replaced. */
  add(messages: readonly DetectionMessage[], zeroMs: number): void {
    for (const message of messages) {
      const ms = Date.parse(message.timestamp) - zeroMs;
      const at = this.#findFirst(ms);
      this.#timed.splice(at, this.#timed[at]?.ms === ms ? 1 : 0, { ms, message });
    }
    // The oldest are those of a part that was played before.
    if (this.#timed.length > MAX_MESSAGES) this.#timed.splice(0, this.#timed.length - MAX_MESSAGES);
  }

  /** Null: nothing is known about this time. */
  find(ms: number): FoundBoxes | null {
    const at = this.#findFirst(ms - SAME_MS);
    const [before, next] = [this.#timed[at - 1], this.#timed[at]];
    if (next !== undefined && next.ms <= ms + SAME_MS) return { boxes: next.message, message: next.message };
    if (before === undefined) return null;
    // The last message stays for a moment.
    if (next === undefined || next.ms - before.ms > MAX_GAP_MS)
      return ms - before.ms < LAST_MS ? { boxes: before.message, message: null } : null;
    return { boxes: blend(before, next, ms), message: null };
  }

  /** Index of the first message at or after this time. */
  #findFirst(ms: number): number {
    let [low, high] = [0, this.#timed.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timed[middle]?.ms ?? 0) < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Objects move on a straight line between two messages. One that is in only one of them is shown until the middle. */
function blend(before: Timed, next: Timed, ms: number): Tracks {
  const share = (ms - before.ms) / (next.ms - before.ms);
  const later = new Map(next.message.active_tracks.map((track) => [track.track_id, track]));
  const [nearer] = share < 0.5 ? [before] : [next];
  return {
    active_tracks: nearer.message.active_tracks.map((track) => {
      const first = before.message.active_tracks.find(({ track_id }) => track_id === track.track_id);
      const last = later.get(track.track_id);
      if (track.track_id === 0 || first === undefined || last === undefined) return track;
      const [x, y, width, height] = [0, 1, 2, 3].map((i) => mix(first.scaled_bbox[i], last.scaled_bbox[i], share));
      return { ...track, scaled_bbox: [x ?? 0, y ?? 0, width ?? 0, height ?? 0] };
    }),
  };
}

const mix = (first = 0, last = 0, share = 0): number => first + share * (last - first);
