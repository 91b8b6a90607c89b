/** Stored detection messages, read as far as the video has come. */
import { createReadStream } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { Box, Track, Tracks } from "../../schemas/detections.ts";

/** A message belongs to a frame if their times differ by no more: times of recordings are rounded on their way. */
const NEAR_MS = 10;
/** Messages further apart are not connected. */
const MAX_APART_MS = 2_000;
/** How long boxes stay after the last message. */
const STAY_MS = 500;

interface TimedMessage {
  readonly timeMs: number;
  readonly tracks: readonly TrackEntry[];
}

export class StoredMessages {
  readonly #lines: Interface | null;
  readonly #iterator: AsyncIterator<string> | null;
  #before: TimedMessage | null = null;
  #next: TimedMessage | null = null;
  #isStarted = false;

  /** Null: there are none. */
  constructor(path: string | null) {
    this.#lines = path === null ? null : createInterface({ input: createReadStream(path) });
    this.#iterator = this.#lines?.[Symbol.asyncIterator]() ?? null;
  }

  /** Times may only grow. */
  async at(timeMs: number): Promise<Tracks> {
    if (!this.#isStarted) this.#next = await this.#read();
    this.#isStarted = true;
    while (this.#next !== null && this.#next.timeMs <= timeMs + NEAR_MS) {
      this.#before = this.#next;
      this.#next = await this.#read();
    }
    return interpolate(this.#before, this.#next, timeMs);
  }

  close(): void {
    this.#lines?.close();
  }

  async #read(): Promise<TimedMessage | null> {
    const { done = true, value } = (await this.#iterator?.next()) ?? {};
    if (done || value === undefined) return null;
    const { timestamp, active_tracks: tracks } = JSON.parse(value) as DetectionMessage;
    return { timeMs: Date.parse(timestamp), tracks };
  }
}

function interpolate(before: TimedMessage | null, next: TimedMessage | null, timeMs: number): Tracks {
  if (before === null) return { inferred: false, objects: [], ended: [] };
  const sinceMs = Math.max(0, timeMs - before.timeMs);
  const inferred = sinceMs <= NEAR_MS;
  const isConnected = next !== null && next.timeMs - before.timeMs <= MAX_APART_MS;
  if (!isConnected && sinceMs > STAY_MS) return { inferred, objects: [], ended: [] };
  const later = new Map(isConnected && !inferred ? next.tracks.map((track) => [track.track_id, track]) : []);
  const part = isConnected ? sinceMs / (next.timeMs - before.timeMs) : 0;
  const objects = before.tracks.map((track, i): Track => {
    // Without tracking all ids are 0.
    const to = track.track_id === 0 ? undefined : later.get(track.track_id);
    const box = track.scaled_bbox.map((value, side) => value + ((to?.scaled_bbox[side] ?? value) - value) * part);
    return {
      ...{ classId: track.class_id, className: track.class_name, confidence: track.confidence / 100, box: box as Box },
      ...{ id: track.track_id || i + 1, predicted: false, ageMs: 0, velocity: [0, 0] },
    };
  });
  return { inferred, objects, ended: [] };
}
