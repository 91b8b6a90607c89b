/** Puts the frames of two runs beside each other, by time. Pure. */
import type { SeenFrame } from "./frames.ts";

/** Frames of both runs at the same time, or of the one that has it. */
export interface FramePair {
  /** From 1. */
  readonly number: number;
  readonly timeMs: number;
  readonly golden: SeenFrame | null;
  readonly now: SeenFrame | null;
}

/** A second message with the same time is another frame. */
export function alignFrames(golden: readonly SeenFrame[], now: readonly SeenFrame[]): readonly FramePair[] {
  const [was, is] = [numberTimes(golden), numberTimes(now)];
  const keys = [...new Map([...was, ...is]).entries()].sort(([, a], [, b]) => a.timeMs - b.timeMs);
  return keys.map(([key, { timeMs }], index) => ({
    number: index + 1,
    timeMs,
    golden: was.get(key) ?? null,
    now: is.get(key) ?? null,
  }));
}

function numberTimes(frames: readonly SeenFrame[]): ReadonlyMap<string, SeenFrame> {
  const counts = new Map<number, number>();
  return new Map(
    frames.map((frame) => {
      const count = (counts.get(frame.timeMs) ?? 0) + 1;
      counts.set(frame.timeMs, count);
      return [`${frame.timeMs} ${count}`, frame] as const;
    }),
  );
}
