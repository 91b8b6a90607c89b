/** Stored messages of a process, by parts of a minute, and the scene at a time. Pure, but for the function that loads a part. */
import type { CameraMessage, DetectionMessage } from "../../../client/client.ts";
import { MAX_AGE_MS, type Scene } from "../../map/scene.ts";

export interface Part {
  readonly detections: readonly DetectionMessage[];
  readonly cameras: readonly CameraMessage[];
}

export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export const PART_MS = 60_000;
/** Parts in memory: the least recently shown are dropped. */
const MAX_PARTS = 12;
/** A camera that was last seen earlier than this is not shown. */
const CAMERA_MS = 5_000;

type LoadPart = (range: TimeRange, signal: AbortSignal) => Promise<Part>;

export class Replay {
  readonly #load: LoadPart;
  readonly #now: () => number;
  readonly #parts = new Map<number, Part & { readonly untilMs: number }>();

  /** `now`: up to when there are messages. Infinity for a process that has ended. */
  constructor(load: LoadPart, now: () => number) {
    this.#load = load;
    this.#now = now;
  }

  /** Loads what is needed for this time. Rejects as `load` does; what is loaded is kept. */
  async prepare(ms: number, signal: AbortSignal): Promise<void> {
    for (const index of indicesFor(ms)) {
      if (this.#has(index, ms)) continue;
      const untilMs = this.#now();
      const part = await this.#load({ fromMs: index * PART_MS, toMs: (index + 1) * PART_MS }, signal);
      this.#parts.delete(index);
      this.#parts.set(index, { ...part, untilMs });
      const [oldest] = this.#parts.keys();
      if (this.#parts.size > MAX_PARTS && oldest !== undefined) this.#parts.delete(oldest);
    }
  }

  isReady(ms: number): boolean {
    return indicesFor(ms).every((index) => this.#has(index, ms));
  }

  /** With all messages before this time: a part that was loaded before its end may have more since. */
  #has(index: number, ms: number): boolean {
    const untilMs = this.#parts.get(index)?.untilMs ?? Number.NEGATIVE_INFINITY;
    return untilMs >= Math.min(ms, (index + 1) * PART_MS);
  }

  /** The scene at this time, with the trails that lead there. */
  show(scene: Scene, ms: number): void {
    scene.clear();
    for (const index of indicesFor(ms)) {
      const part = this.#parts.get(index);
      if (part === undefined) continue;
      this.#parts.delete(index);
      this.#parts.set(index, part);
      for (const message of part.detections) {
        const timeMs = Date.parse(message.timestamp);
        if (timeMs > ms - MAX_AGE_MS && timeMs <= ms) scene.addDetections(message, timeMs);
      }
      const camera = part.cameras.findLast(({ timestamp }) => Date.parse(timestamp) <= ms);
      if (camera !== undefined && Date.parse(camera.timestamp) > ms - CAMERA_MS) scene.addCamera(camera);
    }
    scene.expire(ms);
  }
}

const indicesFor = (ms: number): readonly number[] => {
  const [first, last] = [Math.floor((ms - MAX_AGE_MS) / PART_MS), Math.floor(ms / PART_MS)];
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
};

/** One message per line. */
export const readLines = <T>(text: string): readonly T[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);

/** What can be shown: the times of a live source, and of a file those of its video. */
export function rangeOf(
  { started_at, finished_at }: { readonly started_at: string | null; readonly finished_at: string | null },
  durationMs: number | null,
  nowMs: number,
): TimeRange | null {
  if (started_at === null) return null;
  const fromMs = Date.parse(started_at);
  const toMs = finished_at === null ? nowMs : Math.max(Date.parse(finished_at), fromMs + (durationMs ?? 0));
  return { fromMs, toMs: Math.max(fromMs + 1000, toMs) };
}

/** When there were tracks, as shares of the range in per cent, in order of time. Times that follow each other are one. */
export function barsOf(spans: readonly TimeRange[], range: TimeRange): readonly { left: number; width: number }[] {
  const length = range.toMs - range.fromMs;
  const joined: { fromMs: number; toMs: number }[] = [];
  for (const span of [...spans].sort((a, b) => a.fromMs - b.fromMs)) {
    const [fromMs, toMs] = [Math.max(span.fromMs, range.fromMs), Math.min(span.toMs, range.toMs)];
    const last = joined.at(-1);
    if (last !== undefined && fromMs - last.toMs <= length / MOST_BARS) last.toMs = Math.max(last.toMs, toMs);
    else if (toMs >= fromMs) joined.push({ fromMs, toMs });
  }
  return joined.map(({ fromMs, toMs }) => ({
    left: ((fromMs - range.fromMs) / length) * 100,
    width: ((toMs - fromMs) / length) * 100,
  }));
}

const MOST_BARS = 300;
